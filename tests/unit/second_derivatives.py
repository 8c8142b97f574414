"""Derivatives of derivatives: nt.jvp and nt.vjp of a function that holds an nt.vjp."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from derivative_programs import STEP, derivative_text, lowered, results_of, run_passes
from nestor.dialects.nt.constants import dtype_of
from nestor.dialects.registry import make_context
from nestor.runtime.interp.run import run_nest
from xdsl.dialects import func
from xdsl.parser import Parser


def check_second(
    f: Callable[..., Any],
    *arguments: Any,
    rtol: float = 2e-5,
    passes: Sequence[str] = ("to-nest",),
    **how: Any,
) -> None:
    """Forward mode of the gradients agrees with their differences, and reverse mode is its transpose."""
    rng = np.random.default_rng(9)
    wrt = [k for k, a in enumerate(arguments) if isinstance(a, np.ndarray) and a.dtype.kind == "f"]
    primal, function = lowered(f, arguments, **how)
    cotangents = [rng.standard_normal(r.shape) for r in results_of(f, arguments) if r.dtype.kind == "f"]
    given = [*arguments, *cotangents]
    first = derivative_text("vjp", primal, function, wrt)
    inner = first.replace("@primal", "@inner").replace("func.func @main", "func.func private @primal")
    context = make_context()
    outer = next(
        o
        for o in Parser(context, inner).parse_module().ops
        if isinstance(o, func.FuncOp) and o.sym_name.data == "primal"
    )
    skipped = len(outer.function_type.outputs) - len(wrt)

    def gradients(near: Sequence[Any]) -> list[np.ndarray]:
        return _run_text(first, [*near, *cotangents], passes)[skipped:]

    tangents = [rng.standard_normal(arguments[k].shape) for k in wrt]
    forward = _run_text(derivative_text("jvp", inner, outer, wrt), [*given, *tangents], passes)
    moved = []
    for sign in (1, -1):
        near = list(arguments)
        for k, t in zip(wrt, tangents, strict=True):
            near[k] = arguments[k] + sign * STEP * t
        moved.append(gradients(near))
    found = forward[len(forward) - len(wrt) :]
    for got, ahead, behind in zip(found, *moved, strict=True):
        np.testing.assert_allclose(got, (ahead - behind) / (2 * STEP), rtol=rtol, atol=rtol)
    of = [k for k, t in enumerate(outer.function_type.outputs) if "f64" in str(t)]
    directions = forward[len(outer.function_type.outputs) :]
    assert len(directions) == len(of)
    weights = [np.asarray(rng.standard_normal(d.shape)) for d in directions]
    backward = _run_text(derivative_text("vjp", inner, outer, wrt), [*given, *weights], passes)[-len(wrt) :]
    one = sum(float((a * b).sum()) for a, b in zip(directions, weights, strict=True))
    other = sum(float((a * b).sum()) for a, b in zip(tangents, backward, strict=True))
    np.testing.assert_allclose(one, other, rtol=1e-8, atol=1e-8)


def _run_text(text: str, arguments: Sequence[Any], passes: Sequence[str]) -> list[np.ndarray]:
    """What `main` of a module of static extents gives."""
    module = run_passes(Parser(make_context(), text).parse_module(), *passes)
    main = next(o for o in module.ops if isinstance(o, func.FuncOp) and o.sym_name.data == "main")
    values = [np.copy(a) if isinstance(a, np.ndarray) else a for a in arguments]
    kinds = main.function_type.inputs.data[len(values) :]
    outs = [np.zeros(k.get_shape(), dtype_of(k.element_type)) for k in kinds]  # pyright: ignore
    run_nest(main, [*values, *outs])
    return outs

"""Derivatives of NumPy functions at the nt level, run by the reference interpreter, and compared with differences.

`check(f, x, w)` holds of `nt.jvp` that it is the derivative of `f` as NumPy computes it (central differences in
float64), and of `nt.vjp` that it is its transpose: <J v, c> = <v, J' c>. Of complex numbers <a, b> is the real part of
sum(a * b), without conjugation, as JAX has it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import nestor as nt
import numpy as np
from nestor.dialects.parse import parse_module
from nestor.dialects.registry import make_context
from nestor.runtime.interp.run import run_nest
from nestor.transforms.pipelines import expand, name_and_options
from nestor.transforms.registry import load_pass
from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp, StringAttr

STEP = 1e-6


def run_passes(module: ModuleOp, *names: str) -> ModuleOp:
    """The passes (or pipelines) by name, each verified."""
    context = make_context()
    for entry in expand(names):
        name, options = name_and_options(entry)
        load_pass(name)(**options).apply(context, module)
        module.verify()
    return module


def lowered(
    f: Callable[..., Any], arguments: Sequence[Any], dynamic: bool = False
) -> tuple[str, func.FuncOp]:
    """The function at the nt level as text, private, and its operation."""
    text = nt.jit(f, dynamic=dynamic).lower(*arguments).as_text("nt")
    module = parse_module(text)
    function = next(o for o in module.ops if isinstance(o, func.FuncOp) and o.body.blocks)
    function.sym_name, function.sym_visibility = StringAttr("primal"), StringAttr("private")
    return str(module), function


def derivative_text(kind: str, primal: str, function: func.FuncOp, wrt: Sequence[int]) -> str:
    """The module with a `main` that takes the arguments, then tangents or cotangents."""
    inputs = [str(t) for t in function.function_type.inputs]
    outputs = [str(t) for t in function.function_type.outputs]
    of = [k for k, t in enumerate(outputs) if "f64" in t or "f32" in t]
    directions = [inputs[k] for k in wrt] if kind == "jvp" else [outputs[k] for k in of]
    results = [*outputs, *([outputs[k] for k in of] if kind == "jvp" else [inputs[k] for k in wrt])]
    names = [f"%a{k}" for k in range(len(inputs))]
    extra = [f"%t{k}" for k in range(len(directions))]
    signature = ", ".join(f"{n}: {t}" for n, t in zip(names + extra, inputs + directions, strict=True))
    word = "tangents" if kind == "jvp" else "cotangents"
    group = f"({', '.join(extra)} : {', '.join(directions)})" if extra else "()"
    body = (
        f"%r:{len(results)} = nt.{kind} @primal({', '.join(names)} : {', '.join(inputs)}) {word}{group} "
        f"wrt {list(wrt)} of {of} -> ({', '.join(results)})"
    )
    values = ", ".join(f"%r#{k}" for k in range(len(results)))
    types = ", ".join(results)
    main = f"func.func @main({signature}) -> ({types}) {{\n{body}\nfunc.return {values} : {types}\n}}"
    end = primal.rindex("}")
    return primal[:end] + main + "\n}"


def run(
    kind: str,
    f: Callable[..., Any],
    arguments: Sequence[Any],
    directions: Sequence[Any],
    wrt: Sequence[int],
    *,
    oracle: Callable[..., Any] | None = None,
    passes: Sequence[str] = ("to-nest",),
    **how: Any,
) -> list[np.ndarray]:
    """The derivatives of `f` by the interpreter, after `passes`; its results are those of `oracle` or `f` itself."""
    primal, function = lowered(f, arguments, **how)
    module = parse_module(derivative_text(kind, primal, function, wrt))
    module.verify()
    run_passes(module, *passes)
    main = next(o for o in module.ops if isinstance(o, func.FuncOp) and o.sym_name.data == "main")
    expected = results_of(oracle or f, arguments)
    # Results of the compiler's own come first: whether a loop has run.
    own = len(function.function_type.outputs) - len(expected)
    out_like = [
        *[np.zeros((), np.int64)] * own,
        *expected,
        *([e for e in expected if e.dtype.kind in "fc"] if kind == "jvp" else [arguments[k] for k in wrt]),
    ]
    outs = [np.full(np.shape(a), 77, np.asarray(a).dtype) for a in out_like]
    given = [np.copy(a) if isinstance(a, np.ndarray) else a for a in (*arguments, *directions)]
    run_nest(main, [_parts(a) for a in (*given, *outs)])
    for out, value in zip(outs[own:], expected, strict=False):
        np.testing.assert_allclose(out, value, rtol=1e-9, atol=1e-12)
    return outs[own + len(expected) :]


def _parts(value: Any) -> Any:
    """Memory of complex numbers as that of their parts, along a last axis."""
    if not isinstance(value, np.ndarray) or value.dtype.kind != "c":
        return value
    whole = np.ascontiguousarray(value).reshape(value.shape)
    return whole.reshape(-1).view(value.real.dtype).reshape(*value.shape, 2)


def results_of(f: Callable[..., Any], arguments: Sequence[Any]) -> list[np.ndarray]:
    """What Python computes, as a list of arrays."""
    copies = [np.copy(a) if isinstance(a, np.ndarray) else a for a in arguments]
    result = f(*copies)
    return [np.asarray(r) for r in (result if isinstance(result, tuple) else (result,))]


def check(
    f: Callable[..., Any],
    *arguments: Any,
    wrt: Sequence[int] | None = None,
    rtol: float = 2e-5,
    oracle: Callable[..., Any] | None = None,
    **how: Any,
) -> None:
    """Forward mode agrees with central differences, and reverse mode is its transpose."""
    rng = np.random.default_rng(7)
    if wrt is None:
        wrt = [k for k, a in enumerate(arguments) if isinstance(a, np.ndarray) and a.dtype.kind in "fc"]
    tangents = [_direction(rng, arguments[k]) for k in wrt]
    forward = run("jvp", f, arguments, tangents, wrt, oracle=oracle, **how)
    moved = []
    for sign in (1, -1):
        near = list(arguments)
        for k, t in zip(wrt, tangents, strict=True):
            near[k] = arguments[k] + sign * STEP * t
        moved.append([r for r in results_of(oracle or f, near) if r.dtype.kind in "fc"])
    for got, ahead, behind in zip(forward, *moved, strict=True):
        np.testing.assert_allclose(got, (ahead - behind) / (2 * STEP), rtol=rtol, atol=rtol)
    cotangents = [_direction(rng, r) for r in forward]
    backward = run("vjp", f, arguments, cotangents, wrt, oracle=oracle, **how)
    one = sum(float((a * b).sum().real) for a, b in zip(forward, cotangents, strict=True))
    other = sum(float((a * b).sum().real) for a, b in zip(tangents, backward, strict=True))
    np.testing.assert_allclose(one, other, rtol=1e-9, atol=1e-9)


def _direction(rng: np.random.Generator, like: np.ndarray) -> np.ndarray:
    """Random numbers of the shape of an array, complex where it is."""
    real = np.asarray(rng.standard_normal(like.shape))
    return np.asarray(real + 1j * rng.standard_normal(like.shape)) if like.dtype.kind == "c" else real

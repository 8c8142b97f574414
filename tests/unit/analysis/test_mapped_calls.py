"""Functions that are said to be mapped over axes are: a part of the operands gives that part of the results."""

from __future__ import annotations

import numpy as np
import pytest
from nestor.analysis.nest.sets.mapped_calls import RULES, mapped_axes
from nestor.dialects.parse import parse_module
from nestor.runtime.custom_calls import call_of, python_value
from nestor.runtime.numpy_calls import NUMPY_CALLS
from xdsl.dialects.func import CallOp, FuncOp

A = np.random.default_rng(0).standard_normal((6, 5, 4))
S = (m := np.random.default_rng(1).standard_normal((5, 3, 3))) @ m.swapaxes(1, 2) + np.eye(3)
EDGES = np.array([-1.0, 0.0, 1.0])

CALLS = {
    "numpy.sort": ("{axis = 1 : i64, kind, stable}", [A], 2),
    "numpy.argsort": ("{axis = -1 : i64, kind, stable}", [A], 2),
    "numpy.partition": ('{axis = 0 : i64, kth = 2 : i64, kind = "introselect"}', [A], 2),
    "numpy.argpartition": ('{axis = 0 : i64, kth = 2 : i64, kind = "introselect"}', [A], 2),
    **{
        f"numpy.fft.{name}": ("{axis = 1 : i64}", [A], 2)
        for name in ("fft", "ifft", "rfft", "irfft", "hfft", "ihfft")
    },
    "numpy.median": ("{axis = [1 : i64], keepdims = false}", [A], 2),
    "numpy.nanmedian": ("{axis = [0 : i64, 2 : i64], keepdims = true}", [A], 1),
    **{
        f"numpy.{name}": (
            f'{{axis = [1 : i64], keepdims = {keep}, method = "linear"}}',
            [A, np.array([q, q])],
            2,
        )
        for name, q, keep in (
            ("quantile", 0.25, "true"),
            ("percentile", 30.0, "false"),
            ("nanquantile", 0.5, "false"),
            ("nanpercentile", 75.0, "true"),
        )
    },
    **{f"numpy.linalg.{name}": ("{}", [S], 1) for name in ("inv", "det", "slogdet", "cofactors", "svdvals")},
    "numpy.linalg.cholesky": ("{upper = false}", [S], 1),
    "numpy.linalg.eigh": ('{UPLO = "L"}', [S], 1),
    "numpy.linalg.eigvalsh": ('{UPLO = "U"}', [S], 1),
    "numpy.linalg.qr": ('{mode = "reduced"}', [S], 1),
    "numpy.linalg.svd": ("{full_matrices = false, compute_uv = true, hermitian = false}", [S], 1),
    "numpy.linalg.pinv": ("{hermitian = false}", [S], 1),
    "numpy.linalg.matrix_power": ("{n = 3 : i64}", [S], 1),
    "numpy.linalg.solve": ("{}", [S, S], 1),
    "numpy.i0": ("{}", [A], 3),
    "numpy.digitize": ("{right = false}", [A, EDGES], 3),
    "numpy.interp": ("{left, right, period}", [A, EDGES, EDGES], 3),
    "numpy.searchsorted": ('{side = "left"}', [EDGES, A], 3),
}
"""The arguments of a call, its operands, and over how many axes it is mapped."""

TYPES = {"float64": "f64", "int64": "i64", "complex128": "complex<f64>"}


def test_each_rule_has_a_call():
    assert set(CALLS) == set(RULES)


@pytest.mark.parametrize("target", CALLS)
def test_a_part_of_the_operands_gives_a_part_of_the_results(target):
    arguments, operands, count = CALLS[target]
    call, run = declared(target, arguments, operands)
    axes = mapped_axes(call)
    assert len(axes) == count
    whole = run(operands)
    for axis in axes:
        part = slice(1, 3)
        given = [
            x if k is None else x[(slice(None),) * k + (part,)]
            for x, k in zip(operands, axis.places, strict=False)
        ]
        for one, other, k in zip(run(given), whole, axis.places[len(operands) :], strict=True):
            assert k is not None
            np.testing.assert_allclose(one, other[(slice(None),) * k + (part,)], rtol=1e-12, atol=1e-12)


def declared(target, arguments, operands):
    """A call of a function, and what runs it."""
    text = module_text(target, arguments, operands, [])
    facts = first_call(text)[1].attributes["nestor.custom_call"].data["arguments"]
    options = {name: python_value(value) for name, value in facts.data.items()}

    def run(given):
        made = NUMPY_CALLS[target](*given, **options)
        return [np.asarray(one) for one in (made if isinstance(made, tuple) else (made,))]

    call, function = first_call(module_text(target, arguments, operands, run(operands)))
    assert call_of(function).target == target
    return call, run


def module_text(target, arguments, operands, results):
    """A module with the call, as it is at the levels of memory: parts of complex numbers are along an axis more."""
    arrays = [*operands, *results]
    shapes = [a.shape + (2,) * (a.dtype.kind == "c") for a in arrays]
    elements = ["f64" if a.dtype.kind == "c" else TYPES[a.dtype.name] for a in arrays]
    types = [f"memref<{'x'.join([*map(str, s), e])}>" for s, e in zip(shapes, elements, strict=True)]
    names = [f"%a{k}" for k in range(len(arrays))]
    given = ", ".join(f"{n}: {t}" for n, t in zip(names, types, strict=True))
    kinds = ", ".join(TYPES[a.dtype.name] for a in arrays)
    facts = f'{{target = "{target}", arguments = {arguments}, elements = [{kinds}], inputs = {len(operands)} : i64}}'
    return (
        f"func.func private @g({', '.join(types)}) -> () attributes {{nestor.custom_call = {facts}}}\n"
        f"func.func @f({given}) {{\n"
        f"  func.call @g({', '.join(names)}) : ({', '.join(types)}) -> ()\n"
        "  func.return\n}\n"
    )


def first_call(text):
    module = parse_module(text)
    call = next(op for op in module.walk() if isinstance(op, CallOp))
    return call, next(op for op in module.walk() if isinstance(op, FuncOp) and op.sym_name.data == "g")

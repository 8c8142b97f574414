"""Random islands: tangents against central differences, cotangents against tangents, by the interpreter."""

import numpy as np
import pytest
from derivative_programs import derivative_text
from nestor.dialects.registry import make_context
from nestor.runtime.interp.run import run_nest
from nestor.transforms.registry import load_pass
from random_islands import READ, SHAPES, WRITTEN, random_island
from xdsl.dialects import func
from xdsl.dialects.builtin import TensorType, f64
from xdsl.parser import Parser

NAMES = (*READ, *WRITTEN)


def derivative(kind, text):
    """A function of the arrays of the island and directions: its results and derivatives."""
    inputs, outputs = ([TensorType(f64, SHAPES[n]) for n in names] for names in (NAMES, WRITTEN))
    whole = derivative_text(
        kind, f"builtin.module {{\n{text}}}", func.FuncOp.external("primal", inputs, outputs), range(4)
    )
    module = Parser(make_context(), whole).parse_module()
    for name in ("nt-differentiate", "convert-nt-to-nest"):
        load_pass(name)().apply(make_context(), module)
    module.verify()
    main = next(o for o in module.ops if isinstance(o, func.FuncOp))
    out = [*WRITTEN, *(WRITTEN if kind == "jvp" else NAMES)]

    def call(arrays, directions):
        results = [np.full(SHAPES[n], 77.0) for n in out]
        run_nest(main, [*(a.copy() for a in (*arrays, *directions)), *results])
        return results[:2], results[2:]

    return call


def judge(seed, wild=False):
    """The island has derivatives in both modes, and they are right."""
    text = random_island(seed, wild)
    rng = np.random.default_rng(seed)
    arrays, tangents = ([rng.standard_normal(SHAPES[n]) for n in NAMES] for _ in range(2))
    forward = derivative("jvp", text)
    _, moved = forward(arrays, tangents)
    ends = [
        forward([a + sign * 1e-6 * t for a, t in zip(arrays, tangents, strict=True)], tangents)[0]
        for sign in (1, -1)
    ]
    for got, ahead, behind in zip(moved, *ends, strict=True):
        expected = (ahead - behind) / 2e-6
        np.testing.assert_allclose(got, expected, rtol=1e-4, atol=1e-5 * (1 + np.abs(expected).max()))
    cotangents = [rng.standard_normal(SHAPES[n]) for n in WRITTEN]
    backward = derivative("vjp", text)
    _, found = backward(arrays, cotangents)
    one = sum(float((a * b).sum()) for a, b in zip(moved, cotangents, strict=True))
    other = sum(float((a * b).sum()) for a, b in zip(tangents, found, strict=True))
    np.testing.assert_allclose(one, other, rtol=1e-8, atol=1e-8 * max(1.0, *(np.abs(m).max() for m in moved)))


def test_random_islands():
    for seed in range(20):
        judge(seed)


def test_random_islands_that_overwrite_and_branch():
    for seed in range(8):
        judge(seed, wild=True)


@pytest.mark.slow
@pytest.mark.parametrize("wild", [False, True])
@pytest.mark.parametrize("part", range(6))
def test_more_random_islands(part, wild):
    for seed in range(100 + 60 * part, 160 + 60 * part):
        judge(seed, wild)

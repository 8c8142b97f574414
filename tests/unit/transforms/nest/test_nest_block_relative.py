"""Reductions and sums relative to them, a part at a time: the numbers of the program, infinities and NaNs, too."""

from __future__ import annotations

import nestor as nt
import numpy as np
import pytest
from nestor.analysis.nest.loop_structure import find_loop, functions
from nestor.analysis.nest.values.relative_terms import Exponential, NoForm, Power, form_of
from nestor.dialects.nest import AccumulateOp
from nestor.runtime.interp.run import run_nest
from nestor.transforms.nest.reductions.block_relative import block_relative, why_not_block_relative
from parsed import parse_module
from places import FILECHECK
from xdsl.dialects import arith

FILES = FILECHECK / "transforms" / "nest" / "reductions"
MOMENTS, COLUMNS, UNEVEN, STORED, SHORT, CUBES, BELOW = (
    (FILES / "nest-block-relative.mlir").read_text().split("// -----")
)


def rewritten(text, parts):
    module = parse_module(text, "relative")
    block_relative(find_loop(module, "i"), find_loop(module, "i.1"), parts)
    module.verify()
    return functions(module)[0]


# ---- moments ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("parts", [1, 2, 4, 12])
def test_squares_are_those_of_the_program(parts):
    function, rng = rewritten(MOMENTS, parts), np.random.default_rng(parts)
    for far in (0, 1e2, 1e4):
        x = (far + rng.standard_normal(15)).astype("f4")
        mean, squares = np.empty((), "f4"), np.empty((), "f4")
        run_nest(function, [x, mean, squares])
        np.testing.assert_allclose(mean, x[:12].astype("f8").mean(), rtol=3e-7, atol=1e-6)
        np.testing.assert_allclose(squares, ((x[:12].astype("f8") - mean) ** 2).sum(), rtol=2e-6)


@pytest.mark.parametrize("value", [np.inf, -np.inf, np.nan])
def test_no_number_is_no_number(value):
    x = np.ones(15, "f4")
    x[5] = value
    mean, squares = np.empty((), "f4"), np.empty((), "f4")
    with np.errstate(invalid="ignore"):
        run_nest(rewritten(MOMENTS, 4), [x, mean, squares])
    np.testing.assert_equal(mean, np.float32(value))
    assert np.isnan(squares)


@pytest.mark.parametrize("n", [8.0, 5.0])
def test_what_is_subtracted_need_not_be_a_mean(n):
    x = np.random.default_rng(0).standard_normal((11, 5)).astype("f4")
    sums, squares = np.ones(5), np.ones(5)
    run_nest(rewritten(COLUMNS, 4), [x, np.float64(n), sums, squares])
    want = 1 + x[3:].astype("f8").sum(0)
    np.testing.assert_allclose(sums, want)
    np.testing.assert_allclose(squares, 1 + ((x[3:] - want / n) ** 2).sum(0))


@pytest.mark.parametrize("parts", [4, 5, 7])
def test_a_part_may_have_fewer_terms_than_others(parts):
    x = (1e3 + np.random.default_rng(parts).standard_normal((14, 5))).astype("f4")
    sums, squares = np.ones(5, "f4"), np.ones(5, "f4")
    run_nest(rewritten(UNEVEN, parts), [x, np.float32(14), sums, squares])
    np.testing.assert_allclose(sums, x.astype("f8").sum(0), rtol=2e-7)
    np.testing.assert_allclose(squares, 1 + 14 * x.astype("f8").var(0), rtol=3e-6)


@pytest.mark.parametrize("centre", [0.0, 3.0, -1e3])
def test_cubes_are_those_of_the_program(centre):
    x = np.random.default_rng(1).standard_normal(12) + 2
    total, cubes = np.ones(()), np.ones(())
    run_nest(rewritten(CUBES, 6), [x, np.array(centre), total, cubes])
    terms = (x - centre) ** 3 / 2
    np.testing.assert_allclose(cubes, 1 + terms.sum(), rtol=0, atol=1e-14 * (1 + np.abs(terms).sum()))


@pytest.mark.parametrize("degree", range(1, 9))
def test_powers_are_those_of_the_program(degree):
    """Terms that are far from 0, relative to a number that is near them, or far from them, too."""
    product = ["%d"]
    lines = []
    for power in range(2, degree + 1):
        lines.append(f"%p{power} = arith.mulf {product[-1]}, %d : f64")
        product.append(f"%p{power}")
    text = CUBES[CUBES.index("func.func") :]
    start, end = text.index("    %e ="), text.index('    nest.accumulate "q"')
    text = text[:start] + "\n".join(lines) + "\n" + text[end:].replace("%g", product[-1])
    function = rewritten(text, 4)
    for centre in (100.0, 101.5, -20.0):
        x = np.random.default_rng(degree).standard_normal(12) + 100
        total, sums = np.zeros(()), np.zeros(())
        run_nest(function, [x, np.array(centre), total, sums])
        terms = (x - centre) ** degree
        np.testing.assert_allclose(sums, terms.sum(), rtol=0, atol=1e-12 * np.abs(terms).sum())


# ---- exponentials -----------------------------------------------------------------------------------

TERMS = {
    "near": np.linspace(-3, 5, 12),
    "far apart": np.linspace(-1e4, 3e38, 12),
    "far below 0": np.linspace(-3e38, -2.9e38, 12),
    "parts of -inf": np.r_[np.full(6, -np.inf), -200.0, np.full(4, -np.inf), -201.0],
    "all -inf": np.full(12, -np.inf),
    "+inf": np.r_[1.0, 2.0, np.inf, np.arange(9.0)],
    "both": np.r_[-np.inf, 2.0, np.inf, np.full(9, -np.inf)],
    "NaN": np.r_[np.arange(7.0), np.nan, np.full(4, -np.inf)],
}


@pytest.mark.parametrize("parts", [1, 4, 6])
def test_exponentials_are_those_of_the_program(parts):
    function = rewritten(STORED, parts)
    for name, terms in TERMS.items():
        x, y = np.zeros(15, "f4"), np.full(15, 7, "f4")
        x[:12] = terms
        total = np.empty((), "f4")
        with np.errstate(all="ignore"):
            run_nest(function, [x, y, total])
            want = np.exp(x[:12] - x[:12].max())
        np.testing.assert_allclose(y[:12], want, rtol=3e-7, err_msg=name)
        np.testing.assert_allclose(total, want.astype("f8").sum(), rtol=2e-6, err_msg=name)
        assert (y[12:] == 7).all()


@pytest.mark.parametrize("parts", [2, 5])
def test_a_number_in_place_of_what_is_not_finite(parts):
    """logsumexp: exponentials less 0 where the maximum is infinite, of 16 bits, in parts of which the last has fewer."""
    function = rewritten(SHORT, parts)
    for name, terms in TERMS.items():
        x, lowest, total = np.full(15, -3, "f2"), np.array(-np.inf, "f2"), np.zeros((), "f4")
        with np.errstate(all="ignore"):
            x[2:14] = terms.astype("f2")
            run_nest(function, [x, lowest, total])
            wide = x[2:].astype("f8")
            largest = wide.max() if np.isfinite(wide.max()) else 0
            want = np.exp(wide - largest).sum()
        np.testing.assert_allclose(total, want, rtol=4e-3, err_msg=name)


@pytest.mark.parametrize("less", [-np.inf, -1e30, 0.0, 40.0, 1e30, np.inf, np.nan])
def test_what_is_subtracted_need_not_be_the_maximum(less):
    text = STORED.replace("%maximum = nest.load %m[]", "%maximum = nest.load %c[]")
    text = text.replace("%q: memref<f32>)", "%q: memref<f32>, %c: memref<f32>)")
    function = rewritten(text, 4)
    for name, terms in TERMS.items():
        x, y, total = np.zeros(15, "f4"), np.zeros(15, "f4"), np.empty((), "f4")
        x[:12] = terms
        with np.errstate(all="ignore"):
            run_nest(function, [x, y, total, np.array(less, "f4")])
            want = np.exp(x[:12] - np.float32(less)).sum()
        np.testing.assert_allclose(total, want, rtol=3e-6, err_msg=name)


@pytest.mark.parametrize("parts", [1, 4, 8])
def test_exponentials_below_a_minimum_are_those_of_the_program(parts):
    function = rewritten(BELOW, parts)
    x = -np.array([*TERMS.values()], "f4")[[0, 3, 4, 5, 6, 7]].T[:8].copy()
    for columns in (x[:, :3], x[:, 3:]):
        least, total = np.full(3, np.inf, "f4"), np.zeros(3, "f4")
        with np.errstate(all="ignore"):
            run_nest(function, [columns.copy(), least, total])
            want = np.exp2((columns.min(0) - columns) / 2).sum(0)
        np.testing.assert_allclose(total, want, rtol=3e-6)


# ---- what terms are ---------------------------------------------------------------------------------

FORMS = {
    "%d": Power(1, 1.0),
    "%n": Power(1, -1.0),
    "%e": Power(2, 1.0),
    "%f": Power(4, 3.0),
    "%g": Power(1, 4.0),
    "%h": "exp 3.0",
    "%w": "exp2 -1.0",
    "%b": "several powers",
    "%o": "not of a multiple",
    "%r": "not of a multiple",
    "%t": "the same for all elements",
    "%y": "no power of the difference",
    "%z": "no power of the difference",
}


@pytest.mark.parametrize("term", FORMS)
def test_forms_of_terms(term):
    module = parse_module(
        f"""func.func @f(%x: f64, %c: f64, %q: memref<f64>) {{
          %k = arith.constant 3.0 : f64
          %d = arith.subf %x, %c : f64
          %n = arith.negf %d : f64
          %e = arith.mulf %d, %d : f64
          %ee = arith.mulf %e, %e : f64
          %f = arith.mulf %ee, %k : f64
          %kd = arith.mulf %k, %d : f64
          %g = arith.addf %kd, %d : f64
          %h = math.exp %kd : f64
          %w = math.exp2 %n : f64
          %b = arith.addf %e, %d : f64
          %s = arith.addf %d, %k : f64
          %o = math.exp %s : f64
          %r = math.exp %e : f64
          %t = arith.subf %d, %d : f64
          %y = arith.mulf %d, %x : f64
          %z = arith.mulf %h, %d : f64
          nest.accumulate "q" add {term}, %q[] : memref<f64>
          func.return
        }}""",
        "forms",
    )
    update = next(op for op in module.walk() if isinstance(op, AccumulateOp))
    difference = next(op for op in module.walk() if isinstance(op, arith.SubfOp))
    want = FORMS[term]
    try:
        found = form_of(update.values[0], difference.result, update)
    except NoForm as reason:
        assert isinstance(want, str) and want in str(reason)
        return
    if isinstance(found, Exponential):
        found = f"{found.kind.name.removeprefix('math.')} {found.rate}"
    assert found == want


# ---- whole programs ---------------------------------------------------------------------------------


def bits_of(function, x):
    """What a function gives with 1, 2 and 3 threads."""
    before = nt.get_num_threads()
    try:
        results = []
        for threads in (1, 2, 3):
            nt.set_num_threads(threads)
            results.append(np.array(function(x)))
    finally:
        nt.set_num_threads(before)
    return results


def test_moments_of_big_arrays_have_the_same_bits_for_any_number_of_threads():
    @nt.jit
    def variances(x):
        return np.mean(x, axis=0), np.var(x, axis=0)

    x = (1e4 + np.random.default_rng(0).standard_normal((140000, 16))).astype("f4")
    results = bits_of(variances, x)
    assert "schedule.block_relative" in str(variances.lower(x).schedule())
    np.testing.assert_array_equal(results[0], results[1])
    np.testing.assert_array_equal(results[0], results[2])
    np.testing.assert_allclose(results[0][1], x.astype("f8").var(0), rtol=5e-4)


@pytest.mark.parametrize("shape", [(9973, 96), (40009, 24), (1_000_003,)])
def test_rows_of_big_arrays_need_no_even_parts(shape):
    """Of rows, whose number is prime here, the last part has fewer; stretches of one row are read twice then."""

    @nt.jit
    def variances(x):
        return np.mean(x, axis=0), np.var(x, axis=0)

    x = 1e4 + np.random.default_rng(0).standard_normal(shape)
    results = bits_of(variances, x)
    assert ("schedule.block_relative" in str(variances.lower(x).schedule())) == (len(shape) == 2)
    np.testing.assert_array_equal(results[0], results[1])
    np.testing.assert_array_equal(results[0], results[2])
    np.testing.assert_allclose(results[0][1], x.var(0), rtol=1e-9)


def test_third_moments_of_big_arrays_read_them_once():
    @nt.jit
    def skew(x):
        d = x - np.mean(x)
        return np.mean(d * d * d)

    x = np.random.default_rng(0).gamma(2.0, size=1_000_000)
    assert "schedule.block_relative" in str(skew.lower(x).schedule())
    np.testing.assert_allclose(skew(x), ((x - x.mean()) ** 3).mean(), rtol=1e-10)


def test_a_sum_is_in_its_order():
    text = MOMENTS.replace("add %a, %s[] :", "add %a, %s[] order(sequential) :")
    module = parse_module(text, "ordered")
    assert why_not_block_relative(find_loop(module, "i"), find_loop(module, "i.1"), 4) is not None

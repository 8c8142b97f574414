"""Programs that are long, deep or full of numbers: as many operators as Python itself takes, and a diagnostic beyond."""

import linecache

import nestor as nt
import numpy as np
import pytest
from nestor.lowering.math import expand_math

pytestmark = pytest.mark.one_of(2)

X = np.linspace(-2, 2, 7)


def made(text: str):
    """The function `f` of a source text."""
    name = f"<long program {abs(hash(text))}>"
    linecache.cache[name] = (len(text), None, text.splitlines(keepends=True), name)
    names = {"np": np}
    exec(compile(text, name, "exec"), names)
    return names["f"]


@pytest.mark.parametrize("operator", ["+", "-"])
def test_an_expression_of_a_thousand_terms(operator):
    terms = f" {operator} ".join(f"x * {1 + k / 1000}" if k % 3 else "x" for k in range(1000))
    f = made(f"def f(x):\n    return {terms}\n")
    np.testing.assert_array_equal(nt.jit(f)(X), f(X))


def test_two_thousand_operations_that_depend_on_each_other():
    lines = ["x = x * 1.5", "x = x + 0.25", "x = np.abs(x)", "x = x - 0.5"]
    f = made("def f(x):\n" + "".join(f"    {lines[k % 4]}\n" for k in range(2000)) + "    return x / 7\n")
    with np.errstate(over="ignore", invalid="ignore"):
        np.testing.assert_array_equal(nt.jit(f)(X), f(X))


@pytest.mark.parametrize("deep", ["-" * 900 + "x", "x" + ".clip(-1, 1)" * 900, "**".join(["x"] * 700)])
def test_what_is_nested_too_deeply_is_refused(deep):
    f = made(f"def f(x):\n    return {deep}\n")
    with pytest.raises(nt.NestorError, match="nested too deeply"):
        nt.jit(f)(X)


def sines(count: int):
    lines = [f"    x = np.sin(x) * {1 + k / 1000} + np.cos(x) * 0.5\n" for k in range(count)]
    return made("def f(x):\n" + "".join(lines) + "    return x\n")


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.float16])
def test_what_is_computed_often_is_a_function_with_the_same_bits(dtype, monkeypatch):
    x = np.concatenate([np.linspace(-9, 9, 41), [0.0, -0.0, 1e30, np.inf, np.nan]]).astype(dtype)
    f = sines(5)
    with np.errstate(invalid="ignore"):
        expected = nt.jit(f)(x)
        monkeypatch.setattr(expand_math, "OFTEN", 4)
        np.testing.assert_array_equal(nt.jit(f)(x), expected)
        np.testing.assert_array_equal(nt.jit(f)(x[::-2]), expected[::-2])


def test_a_hundred_sines_are_as_many_functions_as_two_hundred():
    counts = [nt.jit(sines(n)).lower(X).as_text("llvm-ir").count("define internal") for n in (3, 100, 200)]
    assert counts[1] == counts[2] > counts[0]


def tables(x, y):
    a = x + np.array([1.0, 2.0, 3.0])
    b = np.array([[1.5], [-2.0]]) * np.array([4.0, 5.0, 6.0])
    return a * np.array([0.5, 0.25, np.nan]), y - b, np.array([3, 1, 2]) + np.zeros((2, 3), np.int64)


@pytest.mark.parametrize("dynamic", [False, True])
@pytest.mark.parametrize("target", ["cpu", "interp", "cuda-sim"])
def test_tables_are_not_repeated(target, dynamic):
    f = nt.jit(tables, target=target, dynamic=dynamic)
    for rows in (5, 0):
        arguments = np.random.default_rng(rows).standard_normal((rows, 3)), np.ones((2, 3))
        for got, wanted in zip(f(*arguments), tables(*arguments), strict=True):
            np.testing.assert_array_equal(got, wanted)


def test_a_table_of_three_is_three_stores_whatever_reads_it():
    f = made("def f(x):\n    return x + np.array([1.0, 2.0, 3.0])\n")
    texts = [nt.jit(f).lower(np.zeros((rows, 3))).as_text("nest") for rows in (50, 500)]
    assert [text.count('nest.store "constant"') for text in texts] == [3, 3]

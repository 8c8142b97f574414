"""Loops and branches: forward mode against differences, reverse mode against forward mode."""

import numpy as np
import pytest
from derivative_loops import PROGRAMS
from derivative_programs import check, derivative_text, lowered, results_of, run, run_passes
from nestor.dialects.registry import make_context
from nestor.runtime.interp.run import compile_nest
from nestor.transforms.autodiff.builder import Builder
from nestor.transforms.autodiff.control.snapshots import next_position
from second_derivatives import check_second
from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp, TensorType, i64
from xdsl.ir import Block, Region
from xdsl.parser import Parser

pytestmark = pytest.mark.one_of(4)

DYNAMIC = (
    "steps",
    "no steps",
    "run-time bounds",
    "nested",
    "products in a branch of a loop",
    "a break",
    "while",
    "sums in a loop",
    "views",
)
"""Those that are quick tests with unknown extents too."""


@pytest.mark.parametrize(
    "name", [pytest.param(n, marks=pytest.mark.slow) if k % 2 else n for k, n in enumerate(PROGRAMS)]
)
def test_derivatives(name):
    check(*PROGRAMS[name])


@pytest.mark.parametrize(
    "name", [n if n in DYNAMIC[::2] else pytest.param(n, marks=pytest.mark.slow) for n in PROGRAMS]
)
def test_unknown_extents(name):
    check(*PROGRAMS[name], dynamic=True)


def derivatives_after(name, *passes):
    """The gradients of a program, and the module that computes them."""
    f, *arguments = PROGRAMS[name]
    wrt = [k for k, a in enumerate(arguments) if isinstance(a, np.ndarray)]
    rng = np.random.default_rng(1)
    cotangents = [rng.standard_normal(r.shape) for r in results_of(f, arguments) if r.dtype.kind == "f"]
    return run("vjp", f, arguments, cotangents, wrt, passes=(*passes, "to-nest"))


UNROLLED = [
    n if n in ("steps", "several carried", "maxima") else pytest.param(n, marks=pytest.mark.slow)
    for n in (
        "steps",
        "several carried",
        "maxima",
        "a swap",
        "carried untouched",
        "counted beside",
        "branches in a loop",
        "products in a branch of a loop",
        "nested products",
        "sums in a loop",
        "softmax in a loop",
        "runge-kutta",
        "captured once",
        "not used",
        "a matrix power",
    )
]


@pytest.mark.parametrize("name", UNROLLED)
def test_a_loop_is_its_iterations_written_out(name):
    written_out = derivatives_after(name, "nt-unroll{limit=100 size=100000}")
    for one, other in zip(derivatives_after(name), written_out, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-12, atol=1e-14)


SECOND = ("steps", "run-time bounds", "a branch", "stored rows")


@pytest.mark.parametrize(
    "name", [n if n in SECOND else pytest.param(n, marks=pytest.mark.slow) for n in PROGRAMS]
)
def test_second_derivatives(name):
    check_second(*PROGRAMS[name])


@pytest.mark.parametrize("name", ["run-time steps", pytest.param("energy", marks=pytest.mark.slow)])
def test_second_derivatives_of_loops_with_snapshots(name):
    check_second(*PROGRAMS[name], passes=("nt-differentiate{snapshots=2}", "to-nest"))


SNAPSHOTS = ("run-time steps", "no steps", "nested", "a break")


ADDED_AT_ONCE = ("softmax in a loop", "lstm", "a matrix power")


@pytest.mark.parametrize(
    "name", [n if n in SNAPSHOTS else pytest.param(n, marks=pytest.mark.slow) for n in PROGRAMS]
)
def test_snapshots_change_nothing(name):
    whole = derivatives_after(name)
    for count in (1, 3):
        some = derivatives_after(name, f"nt-differentiate{{snapshots={count}}}")
        for one, other in zip(some, whole, strict=True):
            if "products" in name or name in ADDED_AT_ONCE:  # sums over iterations, in another order
                np.testing.assert_allclose(one, other, rtol=1e-12, atol=1e-13)
            else:
                np.testing.assert_array_equal(one, other)


def differentiated(program, options=""):
    """The program, of that name or with its arguments, with its gradients, as text."""
    f, *arguments = PROGRAMS[program] if isinstance(program, str) else program
    wrt = [k for k, a in enumerate(arguments) if isinstance(a, np.ndarray)]
    text = derivative_text("vjp", *lowered(f, arguments), wrt)
    return str(run_passes(Parser(make_context(), text).parse_module(), f"nt-differentiate{options}"))


def test_a_loop_keeps_what_its_reverse_needs_of_each_iteration():
    text = differentiated("steps")
    # What it starts from and what it gives, on one stack: the product is neither kept nor computed again.
    assert text.count("nt.empty : tensor<10x5x3xf64>") == 1
    assert text.count("nt.empty") == 1
    assert text.count("nt.dot") == 3
    assert "nt.empty" not in differentiated("a linear loop")


def test_products_that_every_iteration_adds_to_a_gradient_are_one():
    text = differentiated("outer products")
    assert text.count("nt.dot") == 6  # two of the forward run, two in the reversed loop, two behind it
    behind = text[text.rindex("scf.for") :]
    assert behind[behind.index("scf.yield") :].count("nt.dot") == 2
    assert "tensor<3x3xf64>" not in behind[: behind.index("\n")]  # the gradient of w is not carried


def test_what_is_the_same_in_every_iteration_is_not_kept_for_each():
    """The gradient of w is a sum of outer products with `a`: neither `a` nor the cotangents are on a stack."""

    def driven(x, w, a):
        for _ in range(10):
            x = np.tanh(x + w @ a)
        return x

    text = differentiated((driven, np.ones(8), np.ones((8, 8)), np.ones(8)))
    assert text.count("nt.empty") == text.count("nt.empty : tensor<10x8xf64>") == 1  # the states


@pytest.mark.parametrize("count", [1, 4])
def test_snapshots_are_as_many_as_asked_for(count):
    text = differentiated("steps", f"{{snapshots={count}}}")
    assert text.count(f"nt.empty : tensor<{count}x5x3xf64>") == 1
    assert text.count("nt.empty") == 2  # and their positions
    assert "tensor<9x" not in text


def optimal_costs(most, free):
    """How many iterations run again at least, where so many are reversed with so many snapshots (Griewank and Walther)."""
    costs = {(1, c): 0 for c in range(1, free + 1)} | {(n, 1): n * (n - 1) // 2 for n in range(1, most + 1)}
    for c in range(2, free + 1):
        for n in range(2, most + 1):
            costs[n, c] = min(m + costs[n - m, c - 1] + costs[m, c] for m in range(1, n))
    return costs


def test_snapshots_are_where_they_cost_least():
    number = TensorType(i64, [])
    block = Block(arg_types=[number] * 3)
    position, end, free = block.args
    builder = Builder(block, None)
    builder.add(func.ReturnOp(next_position(builder, position, end, free)))
    module = ModuleOp([func.FuncOp("f", ((number,) * 3, (number,)), Region(block))])
    run_passes(module, "to-nest")
    call = compile_nest(next(o for o in module.ops if isinstance(o, func.FuncOp)))
    most, slots = 24, 4
    costs = optimal_costs(most, slots)
    for n in range(1, most + 1):
        for c in range(1, slots + 1):
            found = np.zeros((), np.int64)
            call(*(np.array(v, np.int64) for v in (5, 5 + n, c)), found)
            if n == 1 or c == 1:
                assert found == -1
                continue
            m = int(found) - 5
            assert m + costs[n - m, c - 1] + costs[m, c] == costs[n, c]

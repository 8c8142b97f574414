"""What stands where no order is turned around is legal: it is done, and computes the same in adversarial orders too."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from nestor.analysis.nest.loop_structure import find_loop, functions, loops_in
from nestor.dialects.diagnostic import NestorError
from nestor.dialects.verifier import verify
from nestor.runtime.interp.run import compile_nest, run_nest
from nestor.transforms.nest.loops.distribute import distribute
from nestor.transforms.nest.loops.flatten import flatten
from nestor.transforms.nest.loops.fuse import fuse
from nestor.transforms.nest.loops.split import split
from nestor.transforms.nest.mapping.vectorize import vectorize
from parsed import parse_module
from test_nest_lowering import run_on_cpu
from xdsl.dialects.builtin import ModuleOp

EXTENTS = (0, 1, 2, 5, 8, 17)


def program(body: str, arguments: str = "%a: memref<?xi64>, %b: memref<?xi64>") -> str:
    return f"""
func.func @f({arguments}) {{
  %c0 = arith.constant 0 : index
  %one = arith.constant 1 : i64
  %two = arith.constant 2 : i64
  %n = memref.dim %a, %c0 : memref<?xi64>
  {body}
  func.return
}}"""


def assert_same(
    text: str, change: Callable[[ModuleOp], object], extents: tuple[int, ...] = EXTENTS
) -> ModuleOp:
    """The module after `change`, which writes what the text writes: in program order and in adversarial orders."""
    module = parse_module(text)
    change(module)
    verify(module)
    as_written = compile_nest(functions(parse_module(text))[0])
    kernels = {mode: compile_nest(functions(module)[0], mode=mode) for mode in ("program", "shuffled")}
    for n in extents:
        wanted = [np.arange(n) * 7 % 11, np.arange(n) * 5 % 13 + 100]
        as_written(*wanted)
        for mode, seed in (("program", 0), *(("shuffled", seed) for seed in range(4))):
            found = [np.arange(n) * 7 % 11, np.arange(n) * 5 % 13 + 100]
            kernels[mode](*found, seed=seed)
            for k, (before, after) in enumerate(zip(wanted, found, strict=True)):
                np.testing.assert_array_equal(after, before, f"argument {k}, extent {n}, {mode} {seed}")
    return module


# ---- vectors ----------------------------------------------------------------------------------------

LANES = {
    "load-before-store": ("0 to %n - 1", "%v = nest.load %a[%i + 1]", "%a[%i]"),
    "far-apart": ("4 to %n", "%v = nest.load %a[%i - 4]", "%a[%i]"),
    "step": ("1 to %n - 2 step 3", "%v = nest.load %a[%i + 2]", "%a[%i]"),
    "step-in-place": ("0 to min(%n - 2, 7) step 2", "%v = nest.load %a[%i + 2]", "%a[%i]"),
}


@pytest.mark.parametrize("name", LANES)
@pytest.mark.parametrize("width", [2, 4])
def test_lanes_keep_the_order_of_statements(name: str, width: int):
    span, load, element = LANES[name]
    text = program(
        f"""nest.for "i" %i = {span} {{
    {load} : memref<?xi64>
    %w = arith.addi %v, %two : i64
    nest.store "a" %w, {element} : memref<?xi64>
    %x = nest.load %a[%i] : memref<?xi64>
    nest.store "b" %x, %b[%i] : memref<?xi64>
  }}"""
    )
    module = assert_same(text, lambda module: vectorize(find_loop(module, "i"), width))
    assert "vectorized" in str(module)


@pytest.mark.parametrize("width", [3, 8])
def test_vectors_of_the_cpu_keep_the_order_of_statements(width: int):
    text = program(
        """nest.for "i" %i = 1 to %n - 2 step 2 {
    %v = nest.load %a[%i + 2] : memref<?xi64>
    %w = nest.load %a[%i - 1] : memref<?xi64>
    %x = arith.muli %v, %w : i64
    nest.store "a" %x, %a[%i] where (%i < 12) : memref<?xi64>
    %y = nest.load %a[%i] : memref<?xi64>
    nest.store "b" %y, %b[%i] : memref<?xi64>
  }"""
    )
    module = assert_same(text, lambda module: vectorize(find_loop(module, "i"), width))
    for n in (8, 17, 40):
        wanted, found = ([np.arange(n) * 7 % 11, np.zeros(n, np.int64)] for _ in range(2))
        run_nest(functions(parse_module(text))[0], wanted)
        assert run_on_cpu(str(functions(module)[0]), found)[0] == 0
        for before, after in zip(wanted, found, strict=True):
            np.testing.assert_array_equal(after, before)


@pytest.mark.parametrize("distance", [1, 2, 3, 4])
@pytest.mark.parametrize("width", [2, 3, 4])
def test_lanes_of_one_vector_are_not_apart(distance: int, width: int):
    text = program(
        f"""nest.for "i" %i = {distance} to %n {{
    %v = nest.load %a[%i - {distance}] : memref<?xi64>
    %w = arith.addi %v, %one : i64
    nest.store "a" %w, %a[%i] : memref<?xi64>
  }}"""
    )
    if distance >= width:
        assert_same(text, lambda module: vectorize(find_loop(module, "i"), width))
        return
    with pytest.raises(NestorError, match="flow dependence"):
        vectorize(find_loop(parse_module(text), "i"), width)


def test_statements_in_the_other_order_are_refused():
    text = program(
        """nest.for "i" %i = 0 to %n - 1 {
    nest.store "a" %one, %a[%i] : memref<?xi64>
    %v = nest.load %a[%i + 1] : memref<?xi64>
    nest.store "b" %v, %b[%i] : memref<?xi64>
  }"""
    )
    with pytest.raises(NestorError, match="anti dependence"):
        vectorize(find_loop(parse_module(text), "i"), 2)


# ---- splits -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("factor", [1, 2, 4])
def test_whole_blocks_are_found(factor: int):
    text = program(
        """nest.for "o" %o = 0 to %n floordiv 4 {
    nest.for "i" %i = 4 * %o to min(4 * %o + 4, %n) {
      %v = nest.load %a[%i] : memref<?xi64>
      nest.store "b" %v, %b[%i] : memref<?xi64>
    }
  }"""
    )
    module = assert_same(text, lambda module: split(find_loop(module, "i"), factor, "perfect"))
    assert "i.t" not in str(module)
    with pytest.raises(NestorError, match="perfectly by 3"):
        split(find_loop(parse_module(text), "i"), 3, "perfect")


# ---- fusing loops of different iterations -----------------------------------------------------------

SPANS = (
    "0 to %n",
    "1 to %n - 1",
    "0 to %n - 2 step 2",
    "2 to %n step 4",
    "0 to 1",
    "3 to 2",
    "0 to min(%n, 5)",
)
BODIES = {
    "store": """%v = nest.load %a[{0}] : memref<?xi64>
    nest.accumulate "b" add %v, %b[{0}] : memref<?xi64>""",
    "branch": """%v = nest.load %a[{0}] : memref<?xi64>
    %c = arith.cmpi sgt, %v, %two : i64
    nest.if %c {{
      nest.store "b" %v, %b[{0}] : memref<?xi64>
    }}""",
    "triangle": """nest.for "k" %k = 1 to {0} {{
      %v = nest.load %a[%k] : memref<?xi64>
      nest.accumulate "b" add %v, %b[{0}] : memref<?xi64>
    }}""",
}


def spans_and_bodies():
    """All pairs of spans, bodies in turn; the other bodies of a pair are slow."""
    for k, first in enumerate(SPANS):
        for j, second in enumerate(SPANS):
            for n, body in enumerate(BODIES):
                yield pytest.param(first, second, body, marks=[pytest.mark.slow] if (k + j) % 3 != n else [])


@pytest.mark.parametrize(("first", "second", "body"), list(spans_and_bodies()))
def test_one_loop_does_what_two_did(first: str, second: str, body: str):
    text = program(
        f"""nest.for "i" %i = {first} {{
    nest.accumulate "a" add %two, %a[%i] : memref<?xi64>
  }}
  nest.for "j" %j = {second} {{
    {BODIES[body].format("%j")}
  }}"""
    )
    try:
        module = assert_same(
            text, lambda module: fuse(find_loop(module, "i"), find_loop(module, "j")), (1, 2, 3, 5, 8, 9)
        )
    except NestorError as refusal:
        assert "neither is known" in refusal.diagnostic.message
        assert "0 to 1" in (first, second) or not {"0 to %n", "3 to 2"} & {first, second}
    else:
        assert len([loop for loop in loops_in(module) if loop.label in "ij"]) == 1


# ---- distributing loops whose iterations have buffers of their own ----------------------------------


@pytest.mark.parametrize("span", ["0 to %n", "1 to %n - 1 step 2", "3 to 2", "0 to min(%n, 4)"])
@pytest.mark.parametrize("after", ["first", "second", "third", None])
def test_buffers_of_iterations_are_expanded(span: str, after: str | None):
    text = program(
        f"""nest.for "i" %i = {span} {{
    %t = nest.alloc "t" : memref<i64>
    %u = nest.alloc "u"(%n) : memref<?xi64>
    %v = nest.load %a[%i] : memref<?xi64>
    nest.store "first" %v, %t[] : memref<i64>
    nest.for "second" %k = 0 to %n {{
      %w = nest.load %t[] : memref<i64>
      nest.store "u" %w, %u[%k] : memref<?xi64>
    }}
    nest.accumulate "third" add %two, %t[] : memref<i64>
    %x = nest.load %t[] : memref<i64>
    %y = nest.load %u[%i] : memref<?xi64>
    %z = arith.muli %x, %y : i64
    nest.store "b" %z, %b[%i] : memref<?xi64>
  }}"""
    )
    module = assert_same(text, lambda module: distribute(find_loop(module, "i"), after))
    assert len([loop for loop in loops_in(module) if loop.label.partition(".")[0] == "i"]) >= 2


def test_a_value_of_an_own_buffer_is_not_loaded_too_late():
    text = program(
        """nest.for "i" %i = 0 to %n {
    %t = nest.alloc "t" : memref<i64>
    nest.store "t" %one, %t[] : memref<i64>
    %v = nest.load %t[] : memref<i64>
    nest.store "cut" %two, %t[] : memref<i64>
    %w = nest.load %t[] : memref<i64>
    %x = arith.muli %v, %w : i64
    nest.store "b" %x, %b[%i] : memref<?xi64>
  }"""
    )
    with pytest.raises(NestorError, match="cannot be loaded again"):
        distribute(find_loop(parse_module(text), "i"), "cut")
    assert_same(text, lambda module: distribute(find_loop(module, "i"), "t"))


# ---- flattening by division -------------------------------------------------------------------------


@pytest.mark.parametrize("outer", ["0 to %n", "2 to %n step 3", "3 to 4", "0 to min(%n, 3)", "3 to 1"])
@pytest.mark.parametrize("inner", ["0 to 4", "1 to 8 step 3", "%i to %i + 3", "%i + 1 to %n", "4 to 2"])
def test_rows_that_are_not_contiguous(outer: str, inner: str):
    text = program(
        f"""nest.for "i" %i = {outer} {{
    nest.for "j" %j = {inner} {{
      %p = arith.index_cast %i : index to i64
      %v = nest.load %a[%i] : memref<?xi64>
      %w = arith.muli %v, %p : i64
      nest.accumulate "b" add %w, %b[%j] where (%j < %n) order(sequential) : memref<?xi64>
      nest.store "a" %w, %a[%i] : memref<?xi64>
    }}
  }}"""
    )
    if inner == "%i + 1 to %n" and outer != "3 to 4":
        module = parse_module(text)
        with pytest.raises(NestorError, match="cannot flatten"):
            flatten(find_loop(module, "i"), find_loop(module, "j"))
        assert str(module) == str(parse_module(text))
        return
    module = assert_same(
        text, lambda module: flatten(find_loop(module, "i"), find_loop(module, "j")), (4, 5, 8, 17)
    )
    assert [loop.label for loop in loops_in(module)] == ["i_j"]


def test_rows_from_the_second_on_are_contiguous():
    text = """
func.func @f(%x: memref<?x?xi64> {nest.dims = ["n", "m"]}, %y: memref<?x?xi64> {nest.dims = ["n", "m"]}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %n = memref.dim %x, %c0 : memref<?x?xi64>
  %m = memref.dim %x, %c1 : memref<?x?xi64>
  nest.for "i" %i = 2 to %n - 1 {
    nest.for "j" %j = 0 to %m {
      %v = nest.load %x[%i, %j] : memref<?x?xi64>
      nest.accumulate "y" add %v, %y[%i, %j] : memref<?x?xi64>
    }
  }
  func.return
}"""
    module = parse_module(text)
    flatten(find_loop(module, "i"), find_loop(module, "j"))
    verify(module)
    assert "floordiv" not in str(module)
    for shape in ((2, 2), (3, 5), (7, 3)):
        x = np.arange(shape[0] * shape[1]).reshape(shape)
        wanted, found = np.ones_like(x), np.ones_like(x)
        wanted[2:-1] += x[2:-1]
        run_nest(functions(module)[0], [x, found])
        np.testing.assert_array_equal(found, wanted)

"""Small nests of integers whose loop "i" is relabelled (peeled, cut, shifted ...), and the check that results stay."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from nestor.analysis.nest.check_sites import check_sites
from nestor.analysis.nest.loop_structure import find_loop
from nestor.dialects.diagnostic import op_location
from nestor.dialects.nest import ForOp
from nestor.dialects.verifier import verify
from nestor.runtime.errors import KernelError
from nestor.runtime.interp.run import run_nest
from parsed import parse_module
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp


@dataclass(frozen=True)
class Relabelled:
    """A function `@f` and its arguments for an extent `n`."""

    text: str
    arguments: Callable[[int], list[Any]]


def _numbers(*shape: int) -> np.ndarray:
    return np.random.default_rng(sum(shape)).integers(-99, 99, shape)


POINTWISE = Relabelled(
    """
func.func @f(%x: memref<?xi64>, %y: memref<?xi64> {nest.role = "out"}) {
  %c0 = arith.constant 0 : index
  %n = memref.dim %x, %c0 : memref<?xi64>
  nest.for "i" %i = 0 to %n {
    %a = nest.load %x[%i] : memref<?xi64>
    %k = arith.index_cast %i : index to i64
    %b = arith.muli %a, %k : i64
    nest.store "y" %b, %y[%i] : memref<?xi64>
  }
  func.return
}""",
    lambda n: [_numbers(n), np.zeros(n, np.int64)],
)

STENCIL = Relabelled(
    """
func.func @f(%x: memref<?xi64>, %y: memref<?xi64>) {
  %c0 = arith.constant 0 : index
  %n = memref.dim %x, %c0 : memref<?xi64>
  nest.for "i" %i = 2 to %n - 1 {
    %a = nest.load %x[%i - 2] : memref<?xi64>
    %b = nest.load %x[%i + 1] : memref<?xi64>
    %s = arith.subi %a, %b : i64
    nest.store "y" %s, %y[%i] : memref<?xi64>
  }
  func.return
}""",
    lambda n: [_numbers(n), _numbers(n)],
)

STEPS = Relabelled(
    """
func.func @f(%x: memref<?xi64>, %y: memref<?xi64>) {
  %c0 = arith.constant 0 : index
  %n = memref.dim %x, %c0 : memref<?xi64>
  nest.for "i" %i = 1 to %n step 3 {
    %a = nest.load %x[%i] : memref<?xi64>
    %k = arith.index_cast %i : index to i64
    %b = arith.addi %a, %k : i64
    nest.store "y" %b, %y[%i] where (%i < %n - 2) : memref<?xi64>
  }
  func.return
}""",
    lambda n: [_numbers(n), _numbers(n)],
)

TRIANGLE = Relabelled(
    """
func.func @f(%x: memref<?x?xi64>, %y: memref<?xi64>) {
  %c0 = arith.constant 0 : index
  %n = memref.dim %x, %c0 : memref<?x?xi64>
  nest.for "i" %i = 0 to %n {
    nest.for "j" %j = 0 to %i {
      %a = nest.load %x[%i, %j] : memref<?x?xi64>
      nest.accumulate "y" add %a, %y[%i] : memref<?xi64>
    }
  }
  func.return
}""",
    lambda n: [_numbers(n, n), _numbers(n)],
)

INNER_TRIANGLE = Relabelled(
    TRIANGLE.text.replace('"i" %i = 0 to %n', '"k" %i = 0 to %n').replace('"j" %j', '"i" %j'),
    TRIANGLE.arguments,
)

SCAN = Relabelled(
    """
func.func @f(%a: memref<?xi64>) {
  %c0 = arith.constant 0 : index
  %n = memref.dim %a, %c0 : memref<?xi64>
  nest.for "i" %i = 1 to %n {
    %u = nest.load %a[%i - 1] : memref<?xi64>
    %v = nest.load %a[%i] : memref<?xi64>
    %w = arith.addi %u, %v : i64
    nest.store "a" %w, %a[%i] : memref<?xi64>
  }
  func.return
}""",
    lambda n: [_numbers(n)],
)

WINDOW = Relabelled(
    """
func.func @f(%m: index, %x: memref<?xi64>, %y: memref<?xi64>) {
  %c0 = arith.constant 0 : index
  %n = memref.dim %x, %c0 : memref<?xi64>
  nest.for "i" %i = max(0, %m - 3) to min(%n, %m + 2) {
    %a = nest.load %x[%i] : memref<?xi64>
    nest.store "y" %a, %y[%i] : memref<?xi64>
  }
  func.return
}""",
    lambda n: [n // 2, _numbers(n), _numbers(n)],
)

CHECKED = Relabelled(
    """
func.func @f(%x: memref<?xi64>, %y: memref<?xi64>) {
  %c0 = arith.constant 0 : index
  %n = memref.dim %x, %c0 : memref<?xi64>
  nest.for "i" %i = 0 to %n {
    %k = nest.index %i - 2 of %n axis 0 of "x"
    %a = nest.load %x[%k] : memref<?xi64>
    nest.store "y" %a, %y[%i] : memref<?xi64>
  }
  func.return
}""",
    lambda n: [_numbers(n), _numbers(n)],
)

RELABELLED = {
    name.lower().replace("_", "-"): nest
    for name, nest in globals().copy().items()
    if isinstance(nest, Relabelled)
}

EXTENTS = (0, 1, 2, 3, 4, 7, 16, 17)


def changed(text: str, change: Callable[[ForOp], object]) -> ModuleOp:
    """The module after `change` of its loop "i", verified."""
    module = parse_module(text)
    change(find_loop(module, "i"))
    verify(module)
    return module


def assert_same(text: str, module: ModuleOp, arguments: list[Any]) -> None:
    """The module writes what the text writes, element by element, and stops with the same error."""
    wanted = [np.copy(a) for a in arguments]
    error = run(parse_module(text), wanted)
    assert run(module, arguments) == error
    for before, after in zip(wanted, arguments, strict=True):
        np.testing.assert_array_equal(before, after)


def run(module: ModuleOp, arguments: list[Any]) -> tuple[Any, ...] | None:
    """Run the only function; the error that stopped it, if one did, with the place of the check."""
    function = module.body.block.first_op
    assert isinstance(function, FuncOp)
    try:
        run_nest(function, arguments)
    except KernelError as error:
        check = list(check_sites(function))[error.site]
        return error.code, error.value, error.extent, op_location(check)
    return None


def assert_stays(name: str, change: Callable[[ForOp], object]) -> None:
    """`change` of the loop "i" of the program called `name` changes no result, whatever the extent."""
    program = RELABELLED[name]
    module = changed(program.text, change)
    for n in EXTENTS:
        assert_same(program.text, module, program.arguments(n))

"""Checks that keep primitives from what cannot be done: without them there is no result at all.

Most checks stand between a request and a wrong program: `test_schedules.py` shows that such a program is found when
they are gone. The others are here. Without them the primitive fails by accident, or leaves what the verifier
or the next level refuses, what no schedule can speak of, or the program as it was.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module

import pytest
from nestor.analysis.nest.loop_structure import find_loop
from nestor.dialects.diagnostic import LoweringError, NestorError
from nestor.dialects.registry import make_context
from nestor.dialects.schedule.table import PRIMITIVES as TABLE
from nestor.dialects.verifier import VerificationFailure, verify
from nestor.transforms.nest.loops.cut import cut
from nestor.transforms.nest.loops.normalise import normalise
from nestor.transforms.nest.loops.rename import rename
from nestor.transforms.nest.loops.shift import shift
from nestor.transforms.nest.loops.skew import skew
from nestor.transforms.nest.loops.specialise import specialise
from nestor.transforms.nest.loops.unroll import unroll
from nestor.transforms.nest.loops.widen import widen
from nestor.transforms.nest.mapping.annotate import annotate
from nestor.transforms.nest.mapping.atomic import atomic
from nestor.transforms.nest.mapping.insert_barriers import insert_barriers
from nestor.transforms.nest.memory.hoist_alloc import hoist_alloc
from nestor.transforms.nest.memory.prefetch import prefetch
from nestor.transforms.nest.memory.set_memory import set_memory
from nestor.transforms.nest.memory.stage_factors import stage_factors
from nestor.transforms.nest.memory.stream import stream
from nestor.transforms.registry import load_pass
from parsed import parse_module
from primitive_buffers import buffers
from primitive_requests import Case
from primitives import PRIMITIVES, without
from xdsl.dialects.builtin import ModuleOp

PRODUCTS = """
func.func @f(%x: memref<4x6xf32>, %y: memref<6x5xf32>, %c: memref<4x5xf32>) {
  nest.for "i" %i = 0 to 6 {
    nest.for "j" %j = 0 to 4 {
      nest.for "k" %k = 0 to 5 {
        %a = nest.load %x[%j, %i] : memref<4x6xf32>
        %b = nest.load %y[%i, %k] : memref<6x5xf32>
        %p = arith.mulf %a, %b : f32
        nest.accumulate "c" add %p, %c[%j, %k] : memref<4x5xf32>
      }
    }
  }
  func.return
}
"""


def _loops(bounds: str, mark: str = "") -> str:
    return f"""
func.func @f(%x: memref<?xf32>, %n: index, %m: index, %y: memref<?xf32>) {{
  nest.for "i" %i = {bounds} {mark} {{
    %v = nest.load %x[%i] : memref<?xf32>
    nest.store "y" %v, %y[%i] : memref<?xf32>
  }}
  nest.for "j" %j = 0 to %n {{
    %v = nest.load %x[%j] : memref<?xf32>
    nest.store "y" %v, %y[%j] : memref<?xf32>
  }}
  func.return
}}"""


IN_A_KERNEL = """
func.func @f(%x: memref<64xf32>, %y: memref<64xf32> {nest.role = "out"}) {
  nest.for "b" %b = 0 to 2 bind "block.x" {
    nest.for "i" %i = 0 to 32 bind "thread.x" {
      %t = nest.alloc "t"(%b) : memref<?xf32>
      %v = nest.load %x[32 * %b + %i] : memref<64xf32>
      nest.store "t" %v, %t[0] : memref<?xf32>
      %u = nest.load %t[0] : memref<?xf32>
      nest.store "y" %u, %y[32 * %b + %i] : memref<64xf32>
    }
  }
  func.return
}"""

IN_A_VECTOR = """
func.func @f(%x: memref<?x8xf32>, %n: index, %y: memref<?x8xf32> {nest.role = "out"}) {
  nest.for "v" %v = 0 to 8 vectorized(8) {
    nest.for "i" %i = 0 to %n {
      %a = nest.load %x[%i, %v] : memref<?x8xf32>
      nest.store "y" %a, %y[%i, %v] : memref<?x8xf32>
    }
  }
  func.return
}"""

LONGER_FOR_SOME_THREADS = """
func.func @f(%x: memref<4x4xf32>, %y: memref<4x4xf32> {nest.role = "out"}) {
  nest.for "o" %o = 0 to 1 bind "block.x" {
    nest.for "v" %v = 0 to 4 bind "thread.y" {
      nest.for "i" %i = 0 to %v {
        %s = nest.alloc "s" : memref<4xf32>
        nest.for "j" %j = 0 to 4 bind "thread.x" {
          %a = nest.load %x[%v, %j] : memref<4x4xf32>
          nest.store "s" %a, %s[%j] : memref<4xf32>
        }
        nest.for "k" %k = 0 to 4 bind "thread.x" {
          %b = nest.load %s[3 - %k] : memref<4xf32>
          nest.store "y" %b, %y[%v, %k] : memref<4x4xf32>
        }
      }
    }
  }
  func.return
}"""

MADE_IN_EACH_ITERATION = """
func.func @f(%x: memref<?xf32>, %n: index) {
  nest.for "i" %i = 1 to %n {
    %t = nest.alloc "t"(%i) : memref<?xf32>
    %v = nest.load %x[%i] : memref<?xf32>
    nest.store "t" %v, %t[0] : memref<?xf32>
  }
  func.return
}"""

FLOATS_AT_INDICES = """
func.func @f(%x: memref<8xf32>, %b: memref<8xi64>, %y: memref<4xf32>) {
  nest.for "i" %i = 0 to 8 {
    %v = nest.load %b[%i] : memref<8xi64>
    %k = arith.index_cast %v : i64 to index
    %a = nest.load %x[%i] : memref<8xf32>
    nest.accumulate "y" add %a, %y[%k] : memref<4xf32>
  }
  func.return
}"""

TO_SCF, TO_GPU = "convert-nest-to-scf", "convert-nest-to-gpu"


def _lower(name: str) -> Callable[[ModuleOp], None]:
    return lambda module: load_pass(name)().apply(make_context(), module)


def _i(module: ModuleOp):
    return find_loop(module, "i")


def _j(module: ModuleOp):
    return find_loop(module, "j")


NO_RESULT = {
    "cut": Case(
        _loops("max(%n, %m) to 64"),
        lambda m: cut(_i(m), 2),
        "transforms.nest.loops.cut:why_not_cut",
        ValueError,
        "argument 2 is shorter",
    ),
    "normalise": Case(
        _loops("max(%n, %m) to 64"),
        lambda m: normalise(_i(m)),
        "transforms.nest.loops.normalise:why_not_normalise",
        AssertionError,
    ),
    "unroll": Case(
        _loops("0 to %n"),
        lambda m: unroll(_i(m)),
        "transforms.nest.loops.unroll:why_not_unroll",
        AssertionError,
    ),
    "hoist_alloc": Case(
        MADE_IN_EACH_ITERATION,
        lambda m: hoist_alloc(buffers(m)[1].owner, _i(m)),  # pyright: ignore[reportArgumentType]
        "transforms.nest.memory.hoist_alloc:why_not_hoist_alloc",
        VerificationFailure,
        "does not dominate this use",
    ),
    "skew": Case(
        _loops("0 to %n"),
        lambda m: skew(_i(m), _j(m)),
        "transforms.nest.loops.skew:why_not_skew",
        VerificationFailure,
        "does not dominate this use",
    ),
    "shift": Case(
        _loops("0 to %n"),
        lambda m: shift(_i(m), _j(m).iv),
        "transforms.nest.loops.shift:why_not_shift",
        VerificationFailure,
        "does not dominate this use",
    ),
    "rename": Case(
        _loops("0 to %n"),
        lambda m: rename(_i(m), "j"),
        "transforms.nest.loops.rename:why_not_rename",
        NestorError,
        'there are 2 loops called "j"',
        then=_j,
    ),
    "annotate": Case(
        _loops("0 to %n"),
        lambda m: annotate(_i(m), "unrolled"),
        "transforms.nest.mapping.annotate:why_not_annotate",
        LoweringError,
        "marked unrolled, but its bounds are not constant",
        then=_lower(TO_SCF),
    ),
    "widen": Case(
        _loops("0 to %n"),
        lambda m: widen(_i(m), _j(m)),
        "transforms.nest.loops.widen:why_not_widen",
        None,
    ),
    "stream": Case(
        _loops("0 to %n"),
        lambda m: stream(buffers(m)[0], _i(m)),
        "transforms.nest.memory.stream:why_not_stream",
        None,
    ),
    "prefetch": Case(
        _loops("0 to %n"),
        lambda m: prefetch(buffers(m)[1], _i(m), 8, at="j"),
        "transforms.nest.memory.prefetch:why_not_prefetch",
        None,
    ),
    "stage_factors": Case(
        PRODUCTS,
        lambda m: stage_factors(_i(m), space="fast"),
        "transforms.nest.memory.stage_factors:why_not_space",
        KeyError,
        "fast",
    ),
    "set_memory": Case(
        IN_A_KERNEL,
        lambda m: set_memory(buffers(m)[2].owner, "shared"),  # pyright: ignore[reportArgumentType]
        "transforms.nest.memory.set_memory:why_not_set_memory",
        LoweringError,
        "needs constant extents",
        then=_lower(TO_GPU),
    ),
    "insert_barriers": Case(
        LONGER_FOR_SOME_THREADS,
        insert_barriers,
        "analysis.nest.kernels.barriers:divergence",
        LoweringError,
        "a barrier of the block where not all of its threads arrive",
        then=_lower(TO_GPU),
    ),
    "atomic": Case(
        FLOATS_AT_INDICES,
        lambda m: atomic(_i(m)),
        "transforms.nest.mapping.atomic:why_not_atomic",
        VerificationFailure,
        "no atomic update 'add' of f32",
    ),
    "specialise": Case(
        IN_A_VECTOR,
        lambda m: specialise(_i(m), "n == 4"),
        "transforms.nest.loops.specialise:_why_not",
        LoweringError,
        "'nest.if' has no vector form",
        then=_lower(TO_SCF),
    ),
}


NO_RESULT |= {name: row.case for name, row in PRIMITIVES.items() if row.case is not None}


@pytest.mark.parametrize("name", NO_RESULT)
def test_without_its_checks_there_is_no_result(name: str):
    case = NO_RESULT[name]
    before = str(parse_module(case.text))
    module = parse_module(case.text)
    with pytest.raises(NestorError, match="error: cannot "):
        case.request(module)
    assert str(module) == before
    if case.error is None:
        with without(case.check):
            case.request(module)
        assert str(module) == before
        return
    with pytest.raises(case.error, match=case.message):
        _run(case, module)


def _run(case: Case, module: ModuleOp) -> None:
    with without(case.check):
        case.request(module)
    verify(module)
    case.then(module)


def test_every_checker_is_shown_to_matter():
    """A primitive that can refuse has a mutant that is caught, or no result when it does not."""
    caught = {name for name, row in PRIMITIVES.items() if not row.harmless}
    able = {name for name, row in TABLE.items() if _can_refuse(row.name, row.function)}
    assert able - caught == set(NO_RESULT)


def _can_refuse(name: str, function: str) -> bool:
    module = import_module("nestor." + function.partition(":")[0])
    return hasattr(module, f"why_not_{name}")

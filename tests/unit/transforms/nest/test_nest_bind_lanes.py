"""Loops bound to the lanes of warps: reductions over them are shuffles, and compute what the loops do."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from nestor.analysis.nest.loop_structure import find_loop, functions
from nestor.dialects.diagnostic import NestorError
from nestor.dialects.ext import gpu as gpu_ext
from nestor.dialects.nest import BarrierOp
from nestor.dialects.registry import make_context
from nestor.dialects.verifier import verify
from nestor.lowering.cuda_c.emit import emit_cuda
from nestor.lowering.nest_to_gpu.convert import ConvertNestToGpuPass
from nestor.runtime.cuda import nvrtc
from nestor.runtime.cuda.host_program import ErrorRecord
from nestor.runtime.cuda_sim.engine import SimEngine
from nestor.runtime.interp.run import run_nest
from nestor.transforms.nest.loops.split import split
from nestor.transforms.nest.mapping.bind import bind
from nestor.transforms.nest.mapping.insert_barriers import insert_barriers
from parsed import parse_module
from xdsl.dialects.builtin import ModuleOp

COMBINERS = {
    "i32": ("add", "mul", "maxsi", "minsi", "maxui", "minui", "and", "or", "xor"),
    "i64": ("add", "maxsi", "xor"),
    "f32": ("add", "mul", "maximum", "minimum"),
    "f64": ("add", "maximum"),
}
DTYPES = {"i32": np.int32, "i64": np.int64, "f32": np.float32, "f64": np.float64}

ROWS = """
func.func @f(%x: memref<?x?xTYPE> {nest.dims = ["n", "m"]}, %s: memref<?xTYPE> {nest.dims = ["n"]}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %n = memref.dim %x, %c0 : memref<?x?xTYPE>
  %m = memref.dim %x, %c1 : memref<?x?xTYPE>
  nest.for "i" %i = 0 to %n {
    nest.for "j" %j = FIRST to %m {
      %a = nest.load %x[%i, %j] : memref<?x?xTYPE>
      nest.accumulate "s" COMBINER %a, %s[%i] : memref<?xTYPE>
    }
  }
  func.return
}
"""


def rows(element: str = "i32", combiner: str = "add", first: int = 0) -> ModuleOp:
    """A row of a matrix by each warp, four warps a block."""
    text = ROWS.replace("TYPE", element).replace("COMBINER", combiner).replace("FIRST", str(first))
    module = parse_module(text)
    blocks, warps, *_ = split(find_loop(module, "i"), 4, tail="mask")
    _, lanes, *_ = split(find_loop(module, "j"), 32, tail="mask")
    bind(blocks, "block.x")
    bind(warps, "thread.x")
    bind(lanes, "lane")
    verify(module)
    return module


def run_sim(module: ModuleOp, *arguments: np.ndarray) -> None:
    for function in functions(module):
        insert_barriers(function)
    ConvertNestToGpuPass(explicit_barriers=True).apply(make_context(), module)
    verify(module)
    assert SimEngine(module)(*arguments) == ErrorRecord()


def check(module: ModuleOp, arguments: list[np.ndarray], before: ModuleOp | None = None) -> None:
    """The interpreter in all its modes and the simulator agree with `before`, or with program order."""
    expected = [a.copy() for a in arguments]
    run_nest(functions(before or module)[0], expected)
    waiting = parse_module(str(module))
    insert_barriers(functions(waiting)[0])
    for mode, seed in itertools.product(("program", "shuffled", "threads"), range(3)):
        found = [a.copy() for a in arguments]
        run_nest(functions(waiting)[0], found, mode=mode, seed=seed)
        for one, other in zip(found, expected, strict=True):
            np.testing.assert_array_equal(one, other)
    run_sim(module, *arguments)
    for one, other in zip(arguments, expected, strict=True):
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize(("element", "combiner"), [(e, c) for e, names in COMBINERS.items() for c in names])
def test_a_warp_a_row(element: str, combiner: str):
    rng = np.random.default_rng(3)
    x = rng.integers(1, 3 if combiner == "mul" else 1000, (6, 70)).astype(DTYPES[element])
    if combiner == "mul":
        x[:, 20:] = 1
    s = rng.integers(1, 5, 6).astype(DTYPES[element])
    text = ROWS.replace("TYPE", element).replace("COMBINER", combiner).replace("FIRST", "0")
    check(rows(element, combiner), [x, s], parse_module(text))


@pytest.mark.parametrize(
    ("n", "m", "first"), [(1, 1, 0), (4, 32, 0), (5, 31, 0), (3, 33, 2), (2, 100, 37), (1, 2, 2)]
)
def test_extents(n: int, m: int, first: int):
    x = np.arange(n * m, dtype=np.int32).reshape(n, m)
    check(rows(first=first), [x, np.full(n, 7, np.int32)])


def test_the_code_is_a_tree_of_shuffles_with_all_lanes():
    module = rows("f32")
    insert_barriers(functions(module)[0])
    ConvertNestToGpuPass(explicit_barriers=True).apply(make_context(), module)
    shuffles = [op for op in module.walk() if isinstance(op, gpu_ext.ShuffleOp)]
    assert len(shuffles) == 1
    text = emit_cuda(module)
    assert "for (int step = 0; step < 5; step++) {" in text
    assert "__shfl_xor_sync(0xffffffffu, total, 16 >> step)" in text
    assert "__syncthreads" not in text


@pytest.mark.skipif(
    nvrtc.available() is None,
    reason="neither NVRTC (pip install 'nvidia-cuda-nvrtc==13.0.*') nor nvcc is installed",
)
@pytest.mark.parametrize(
    ("element", "combiner"), [("f32", "maximum"), ("f64", "add"), ("i32", "maxui"), ("i64", "xor")]
)
def test_the_code_compiles_for_a_gpu(element: str, combiner: str):
    module = rows(element, combiner)
    insert_barriers(functions(module)[0])
    ConvertNestToGpuPass(explicit_barriers=True).apply(make_context(), module)
    assert "shfl.sync.bfly" in nvrtc.compile_ptx(emit_cuda(module))


CENTRED = """
func.func @f(%x: memref<5x70xi32>, %y: memref<5x70xi32>) {
  %zero = arith.constant 0 : i32
  nest.for "b" %b = 0 to 3 bind "block.x" {
    nest.for "w" %w = 0 to 2 bind "thread.x" {
      %s = nest.alloc "s" : memref<i32>
      nest.store "s" %zero, %s[] : memref<i32>
      nest.for "k" %k = 0 to 3 {
        nest.for "l" %l = 0 to 32 bind "lane" {
          %a = nest.load %x[2 * %b + %w, 32 * %k + %l] : memref<5x70xi32>
          nest.accumulate "s" add %a, %s[] where (2 * %b + %w < 5, 32 * %k + %l < 70) : memref<i32>
        }
      }
      nest.for "q" %q = 0 to 3 {
        nest.for "v" %v = 0 to 32 bind "lane" {
          %a = nest.load %x[2 * %b + %w, 32 * %q + %v] : memref<5x70xi32>
          %t = nest.load %s[] : memref<i32>
          %c = arith.subi %a, %t : i32
          nest.store "y" %c, %y[2 * %b + %w, 32 * %q + %v] where (2 * %b + %w < 5, 32 * %q + %v < 70) : memref<5x70xi32>
        }
      }
    }
  }
  func.return
}
"""


def test_a_total_that_all_lanes_read_waits_for_lane_0():
    """Every warp has a total of its own, in memory that the block shares."""
    module = parse_module(CENTRED)
    x = np.arange(350, dtype=np.int32).reshape(5, 70)
    check(module, [x, np.zeros((5, 70), np.int32)])
    module = parse_module(CENTRED)
    insert_barriers(functions(module)[0])
    assert sum(isinstance(op, BarrierOp) for op in module.walk()) == 1


ONE = """
func.func @f(%x: memref<64xi32>, %m: memref<64xi8>, %s: memref<4xi32>) {
  nest.for "b" %b = 0 to 2 bind "block.x" {
    nest.for "l" %l = LOWER to UPPER STEP bind "lane" {
      BODY
    }
  }
  func.return
}
"""
UPDATE = """%a = nest.load %x[32 * %b + %l - LOWER] : memref<64xi32>
      nest.accumulate "s" add %a, %s[%b] WHERE : memref<4xi32>"""
MASK = """%t = nest.load %m[%l] : memref<64xi8>
      %z = arith.constant 0 : i8
      %c = arith.cmpi ne, %t, %z : i8
      """
BODIES = {
    "shifted": (UPDATE, 3, 35, ""),
    "last-lanes": (UPDATE.replace("WHERE", "where (%l >= 20)"), 0, 32, ""),
    "no-lane": (UPDATE.replace("WHERE", "where (%l >= 40)"), 0, 32, ""),
    "some-blocks": (UPDATE.replace("WHERE", "where (%b >= 1)"), 0, 32, ""),
    "every-third": (UPDATE.replace("WHERE", "where (%l floordiv 3 * 3 - %l >= 0)"), 0, 32, ""),
    "masked": (MASK + UPDATE.replace("WHERE", "mask %c"), 0, 32, ""),
    "in-steps": (UPDATE.replace("32 * %b + %l - LOWER", "(%l - LOWER) floordiv 2"), 1, 65, "step 2"),
    "inner-loop": ('nest.for "k" %k = 1 to 3 {' + UPDATE.replace("32 * %b + %l", "%k + %l") + "}", 0, 32, ""),
}


@pytest.mark.parametrize("name", BODIES)
def test_domains_keep_no_lane_away(name: str):
    body, lower, upper, step = BODIES[name]
    text = (
        ONE.replace("BODY", body)
        .replace("WHERE", "")
        .replace("LOWER", str(lower))
        .replace("UPPER", str(upper))
    )
    text = text.replace("STEP", step)
    serial = parse_module(text.replace(' bind "lane"', ""))
    bound = parse_module(text.replace(' bind "lane"', ""))
    bind(find_loop(bound, "l"), "lane")
    mask = (np.arange(64) % 5 == 2).astype(np.int8)
    check(bound, [np.arange(1, 65, dtype=np.int32), mask, np.arange(4, dtype=np.int32)], serial)


def test_lanes_without_a_reduction_may_be_fewer():
    text = """func.func @f(%x: memref<4x20xf32>) {
      nest.for "w" %w = 0 to 4 bind "thread.x" {
        nest.for "l" %l = 0 to 20 bind "lane" {
          %a = nest.load %x[%w, %l] : memref<4x20xf32>
          %b = arith.addf %a, %a : f32
          nest.store "x" %b, %x[%w, %l] : memref<4x20xf32>
        }
      }
      func.return
    }"""
    check(parse_module(text), [np.arange(80, dtype=np.float32).reshape(4, 20)])


def test_a_lowering_without_the_check_refuses_reductions():
    text = ONE.replace("BODY", UPDATE).replace("WHERE", "").replace("STEP", "")
    module = parse_module(text.replace("LOWER", "0").replace("UPPER", "32"))
    with pytest.raises(NestorError, match="was not checked"):
        ConvertNestToGpuPass().apply(make_context(), module)


def test_a_reduction_that_became_loads_and_stores_is_no_reduction():
    """What keeps a wrong mark from the kernel: the check of nest-insert-barriers."""
    text = ONE.replace(
        "BODY",
        """%a = nest.load %x[%l] : memref<64xi32>
      %o = nest.load %s[%b] : memref<4xi32>
      %n = arith.addi %o, %a : i32
      nest.store "s" %n, %s[%b] : memref<4xi32>""",
    )
    module = parse_module(text.replace("LOWER", "0").replace("UPPER", "32").replace("STEP", ""))
    with pytest.raises(
        NestorError, match='cannot insert barriers around the loop "l": an anti dependence on "s"'
    ):
        insert_barriers(functions(module)[0])


def test_random_infinities_and_nan():
    x = np.array([[np.nan] + [1.0] * 31, [np.inf] * 16 + [-np.inf] * 16, [-0.0] * 32], np.float32)
    s = np.array([0.0, 0.0, -0.0], np.float32)
    found = s.copy()
    with np.errstate(invalid="ignore"):
        run_sim(rows("f32"), x, found)
    assert np.isnan(found[0]) and np.isnan(found[1]) and np.signbit(found[2])

"""convert-nest-to-gpu: hand-bound nests run in the CUDA simulator as in the interpreter; barriers, index widths, grids."""

from __future__ import annotations

import numpy as np
import pytest
from nestor.dialects.diagnostic import NestorError
from nestor.dialects.ext import gpu
from nestor.dialects.registry import make_context
from nestor.dialects.verifier import verify
from nestor.lowering.abi.kernel_signature import LARGEST_SMALL
from nestor.lowering.nest_to_gpu.convert import ConvertNestToGpuPass
from nestor.runtime.cuda.host_program import ErrorRecord, check_grid, is_small
from nestor.runtime.cuda_sim.engine import SimEngine
from nestor.runtime.interp.run import run_nest
from parsed import parse_module
from xdsl.dialects.builtin import IntegerAttr, ModuleOp

REVERSED = """
  nest.for "o" %o = 0 to 4 bind "block.x" {
    %s = nest.alloc "s" : memref<8xf32>
    nest.for "t" %t = 0 to 8 bind "thread.x" {
      %a = nest.load %x[%o, %t] : memref<4x8xf32>
      nest.store "s" %a, %s[%t] : memref<8xf32>
    }
    nest.for "u" %u = 0 to 8 bind "thread.x" {
      %a = nest.load %s[7 - %u] : memref<8xf32>
      nest.store "y" %a, %y[%o, %u] : memref<4x8xf32>
    }
  }
"""

TOTAL_BY_THE_FIRST_THREAD = """
  %zero = arith.constant 0.0 : f32
  nest.for "o" %o = 0 to 4 bind "block.x" {
    %s = nest.alloc "s" : memref<f32>
    nest.store "s" %zero, %s[] : memref<f32>
    nest.for "k" %k = 0 to 8 {
      %a = nest.load %x[%o, %k] : memref<4x8xf32>
      nest.accumulate "s" add %a, %s[] : memref<f32>
    }
    nest.for "t" %t = 0 to 8 bind "thread.x" {
      %a = nest.load %x[%o, %t] : memref<4x8xf32>
      %b = nest.load %s[] : memref<f32>
      %c = arith.divf %a, %b : f32
      nest.store "y" %c, %y[%o, %t] : memref<4x8xf32>
    }
  }
"""

STEPS_OF_A_BLOCK = """
  nest.for "o" %o = 0 to 4 bind "block.x" {
    %s = nest.alloc "s" : memref<8xf32>
    nest.for "k" %k = 0 to 3 {
      nest.for "t" %t = 0 to 8 bind "thread.x" {
        %a = nest.load %x[%o, %t] : memref<4x8xf32>
        nest.store "s" %a, %s[%t] : memref<8xf32>
      }
      nest.for "u" %u = 0 to 8 bind "thread.x" {
        %a = nest.load %s[7 - %u] : memref<8xf32>
        nest.accumulate "y" add %a, %y[%o, %u] : memref<4x8xf32>
      }
    }
  }
"""

REGISTERS = """
  %zero = arith.constant 0.0 : f32
  nest.for "o" %o = 0 to 2 bind "block.x" {
    nest.for "v" %v = 0 to 3 bind "thread.x" {
      %s = nest.alloc "s" : memref<f32>
      nest.store "s" %zero, %s[] where (3 * %o + %v < 4) : memref<f32>
      nest.for "j" %j = 0 to 8 {
        %a = nest.load %x[3 * %o + %v, %j] : memref<4x8xf32>
        nest.accumulate "s" add %a, %s[] where (3 * %o + %v < 4) : memref<f32>
      }
      nest.for "k" %k = 0 to 8 {
        %b = nest.load %s[] : memref<f32>
        nest.store "y" %b, %y[3 * %o + %v, %k] where (3 * %o + %v < 4) : memref<4x8xf32>
      }
    }
  }
"""

TWO_LOOPS_OF_ONE_THREAD_AXIS = """
  nest.for "i" %i = 0 to 4 bind "thread.y" {
    nest.for "t" %t = 0 to 8 bind "thread.x" {
      %a = nest.load %x[%i, %t] : memref<4x8xf32>
      nest.store "y" %a, %y[%i, %t] : memref<4x8xf32>
    }
    nest.for "u" %u = 0 to 4 bind "thread.x" {
      %a = nest.load %y[%i, 7 - %u] : memref<4x8xf32>
      nest.accumulate "y" add %a, %y[%i, %u] : memref<4x8xf32>
    }
  }
"""

ONE_BUFFER_A_ROW = """
  nest.for "o" %o = 0 to 2 bind "block.x" {
    nest.for "v" %v = 0 to 2 bind "thread.y" {
      %s = nest.alloc "s" : memref<8xf32>
      nest.for "t" %t = 0 to 8 bind "thread.x" {
        %a = nest.load %x[2 * %o + %v, %t] : memref<4x8xf32>
        nest.store "s" %a, %s[%t] : memref<8xf32>
      }
      nest.for "k" %k = 0 to 3 {
        nest.for "u" %u = 0 to 8 bind "thread.x" {
          %a = nest.load %s[7 - %u] : memref<8xf32>
          nest.accumulate "y" add %a, %y[2 * %o + %v, %u] : memref<4x8xf32>
        }
      }
    }
  }
"""

NESTS = {
    "one-buffer-a-row": (ONE_BUFFER_A_ROW, 2),
    "reversed": (REVERSED, 1),
    "total-by-the-first-thread": (TOTAL_BY_THE_FIRST_THREAD, 1),
    "steps-of-a-block": (STEPS_OF_A_BLOCK, 2),
    "registers": (REGISTERS, 0),
    "two-loops-of-one-thread-axis": (TWO_LOOPS_OF_ONE_THREAD_AXIS, 1),
}
"""Bodies over x, y: 4x8 of f32, and how many barriers their kernels get, any use of a buffer being one of all of it."""


def lowered(text: str, index_bits: int = 0) -> ModuleOp:
    module = parse_module(text)
    verify(module)
    ConvertNestToGpuPass(index_bits=index_bits).apply(make_context(), module)
    verify(module)
    return module


def width(module: ModuleOp) -> int:
    """The index width of the only gpu.module."""
    (kernels,) = (op for op in module.ops if isinstance(op, gpu.ModuleOp))
    bits = kernels.attributes["nestor.index_bits"]
    assert isinstance(bits, IntegerAttr)
    return bits.value.data


@pytest.mark.parametrize("name", NESTS)
def test_phases_of_a_block_are_separated_by_as_many_barriers_as_needed(name: str):
    body, barriers = NESTS[name]
    text = f"func.func @f(%x: memref<4x8xf32>, %y: memref<4x8xf32>) {{{body}func.return\n}}"
    arguments = [np.arange(1, 33, dtype=np.float32).reshape(4, 8), np.ones((4, 8), np.float32)]
    expected = [a.copy() for a in arguments]
    run_nest(next(iter(parse_module(text).ops)), expected)
    module = lowered(text)
    assert sum(isinstance(op, gpu.BarrierOp) for op in module.walk()) == barriers
    assert SimEngine(module)(*arguments) == ErrorRecord()
    np.testing.assert_array_equal(arguments[1], expected[1])


def test_arguments_that_may_overlap_are_one_buffer_for_barriers():
    text = """func.func @f(%x: memref<8xf32>ALIAS, %y: memref<8xf32>ALIAS) {
      nest.for "o" %o = 0 to 1 bind "block.x" {
        %s = nest.alloc "s" : memref<8xf32>
        nest.for "t" %t = 0 to 8 bind "thread.x" {
          %a = nest.load %x[%t] : memref<8xf32>
          nest.store "s" %a, %s[%t] : memref<8xf32>
        }
        nest.for "u" %u = 0 to 8 bind "thread.x" {
          %u_i = arith.index_cast %u : index to i64
          %b = arith.sitofp %u_i : i64 to f32
          nest.store "y" %b, %y[7 - %u] : memref<8xf32>
        }
      }
      func.return
    }"""
    for alias, expected in ((" {nest.alias_set = 1 : i64}", 1), ("", 0)):
        module = lowered(text.replace("ALIAS", alias))
        assert sum(isinstance(op, gpu.BarrierOp) for op in module.walk()) == expected


POINTWISE = """func.func @f(%y: memref<SHAPExf32>) {
  %zero = arith.constant 0.0 : f32
  nest.for "i" %i = 0 to 4 bind "thread.x" {
    nest.store "y" %zero, %y[%i] : memref<SHAPExf32>
  }
  func.return
}"""


@pytest.mark.parametrize(
    ("shape", "index_bits", "expected"),
    [("1000", 0, 32), ("?", 0, 64), ("?", 32, 32), ("1000", 64, 64), (str(LARGEST_SMALL + 1), 0, 64)],
)
def test_indices_have_32_bits_where_buffers_are_small(shape: str, index_bits: int, expected: int):
    assert width(lowered(POINTWISE.replace("SHAPE", shape), index_bits)) == expected


def test_indices_from_elements_keep_64_bits():
    text = """func.func @f(%k: memref<4xi64>, %y: memref<4xf32>) {
      %zero = arith.constant 0.0 : f32
      nest.for "i" %i = 0 to 4 {
        %p = nest.load %k[%i] : memref<4xi64>
        %q = arith.index_cast %p : i64 to index
        %r = nest.index %q of 4 axis 0 of "y"
        nest.store "y" %zero, %y[%r] : memref<4xf32>
      }
      func.return
    }"""
    module = lowered(text, 32)
    assert width(module) == 64
    positions, y = np.array([0, 1, 1 << 32, 2]), np.ones(4, np.float32)
    assert SimEngine(module)(positions, y) == ErrorRecord(1, 0, 1 << 32, 4)


FLAT = """
func.func @flat(%x: memref<?xf32> {nest.dims = ["n"]}, %y: memref<?x?xf32> {nest.dims = ["n", "m"]}, EXTRA%s: memref<f32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %n = memref.dim %x, %c0 : memref<?xf32>
  %m = memref.dim %y, %c1 : memref<?x?xf32>
  %nm = arith.muli %n, %m : index
  %mm = arith.muli %m, %m : index
  nest.for "b" %b = 0 to 1 bind "block.x" {
    nest.for "i_j" %i = 0 to BOUND {
      %v = nest.load %x[INDEX] : memref<?xf32>
      nest.accumulate "s" add %v, %s[] WHERE: memref<f32>
    }
  }
  func.return
}
"""


@pytest.mark.parametrize(
    ("bound", "index", "where", "extra", "expected"),
    [
        ("%n", "%i", "", "", 32),
        ("100 * %n", "%i floordiv 100", "", "", 64),
        ("100 * %n", "%i floordiv 100", "", '%z: memref<?x100xf32> {nest.dims = ["n", 100]}, ', 32),
        ("100 * %n", "%i floordiv 100", "", '%z: memref<?x99xf32> {nest.dims = ["n", 99]}, ', 64),
        ("%nm", "0", "", "", 32),
        ("%mm", "0", "", "", 64),
        ("%mm", "0", "", '%z: memref<?x?xf32> {nest.dims = ["m", "m"]}, ', 32),
        ("%n ceildiv 512", "512 * %i", "", "", 32),
        ("%n", "(2 * %i + 1) floordiv 3", "", "", 64),
        ("%n", "%i + %n - %n", "", "", 32),
        ("%n", "%i", "where (3 * %i < %n) ", "", 64),
        ("%n ceildiv 4", "%i", "where (3 * %i < %n) ", "", 32),
    ],
)
def test_what_is_computed_of_unknown_extents_fits_32_bits(bound, index, where, extra, expected):
    """Extents, and their products, are as large as a buffer of them allows; divided and compared is what fits, too."""
    text = (
        FLAT.replace("BOUND", bound).replace("INDEX", index).replace("EXTRA", extra).replace("WHERE", where)
    )
    assert width(lowered(text, 32)) == expected


def test_an_index_width_that_no_gpu_has_is_refused():
    with pytest.raises(NestorError, match="it is 32, 64, or 0 to choose"):
        lowered(POINTWISE.replace("SHAPE", "4"), 16)


def test_kernels_of_all_functions_have_names_of_their_own():
    one = POINTWISE.replace("SHAPE", "4")
    module = lowered(one.replace("@f(", "@g_kernel(") + one.replace("@f(", "@g_kernel_kernel("))
    names = [op.attributes["sym_name"] for op in module.walk() if isinstance(op, gpu.FuncOp)]
    assert len(set(names)) == 2


def test_grids_that_no_device_launches_are_refused():
    check_grid("f", ((1 << 31) - 1, 65535, 65535))
    with pytest.raises(NestorError, match="65536 blocks along y; CUDA launches at most 65535"):
        check_grid("f", (1, 65536, 1))
    text = POINTWISE.replace("SHAPE", "70000").replace("0 to 4 bind", "0 to 70000 bind")
    module = lowered(text.replace("thread.x", "block.z"))
    with pytest.raises(NestorError, match=r"the most iterations to block\.x") as caught:
        SimEngine(module)(np.ones(70000, np.float32))
    assert "70000 blocks along z" in str(caught.value)


def test_what_32_bit_indices_reach():
    base = np.zeros(1, np.int8)
    assert is_small(np.lib.stride_tricks.as_strided(base, (LARGEST_SMALL - 1,), (1,)))
    assert not is_small(np.lib.stride_tricks.as_strided(base, (LARGEST_SMALL + 1,), (1,)))
    assert not is_small(np.lib.stride_tricks.as_strided(base, (2,), (1 << 31,)))
    assert not is_small(np.lib.stride_tricks.as_strided(base, (1 << 31,), (0,)))
    assert is_small(3) and is_small(2.5) and is_small(float("inf")) and not is_small(1 << 31)


def test_a_block_has_a_thread_for_what_stands_outside_of_loops_over_threads():
    text = """func.func @f(%y: memref<4xf32>) {
      %zero = arith.constant 0.0 : f32
      nest.for "o" %o = 0 to 4 bind "block.x" {
        nest.for "t" %t = 0 to -2 bind "thread.x" {
          nest.store "y" %zero, %y[%o + %t + 1] : memref<4xf32>
        }
        nest.store "y" %zero, %y[%o] : memref<4xf32>
      }
      func.return
    }"""
    y = np.ones(4, np.float32)
    assert SimEngine(lowered(text))(y) == ErrorRecord()
    np.testing.assert_array_equal(y, np.zeros(4, np.float32))

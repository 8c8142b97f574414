"""nest-insert-barriers: threads that run by themselves compute what the loops do, and every barrier is needed for it."""

from __future__ import annotations

import re

import numpy as np
import pytest
from nestor.analysis.nest.loop_structure import find_loop, functions
from nestor.dialects.diagnostic import NestorError
from nestor.dialects.ext import gpu
from nestor.dialects.nest import BarrierOp, ForOp
from nestor.dialects.registry import make_context
from nestor.dialects.verifier import verify
from nestor.lowering.nest_to_gpu.convert import ConvertNestToGpuPass
from nestor.runtime.cuda.host_program import ErrorRecord
from nestor.runtime.cuda_sim.engine import SimEngine
from nestor.runtime.interp.run import TrapError, run_nest
from nestor.transforms.nest.mapping.insert_barriers import insert_barriers
from parsed import parse_module
from test_nest_to_gpu import (
    ONE_BUFFER_A_ROW,
    REGISTERS,
    REVERSED,
    STEPS_OF_A_BLOCK,
    TOTAL_BY_THE_FIRST_THREAD,
    TWO_LOOPS_OF_ONE_THREAD_AXIS,
)
from xdsl.dialects.builtin import ModuleOp

SAME_THREAD = REVERSED.replace("%s[7 - %u]", "%s[%u]")

SHIFTED_LOOPS = """
  nest.for "o" %o = 0 to 4 bind "block.x" {
    %s = nest.alloc "s" : memref<40xf32>
    nest.for "t" %t = 2 to 10 bind "thread.x" {
      %a = nest.load %x[%o, %t - 2] : memref<4x8xf32>
      nest.store "s" %a, %s[%t] : memref<40xf32>
    }
    nest.for "u" %u = 1 to 25 step 3 bind "thread.x" {
      %a = nest.load %s[(%u + 5) floordiv 3] : memref<40xf32>
      nest.store "y" %a, %y[%o, (%u - 1) floordiv 3] : memref<4x8xf32>
    }
  }
"""
"""Iteration t = 2 + k and u = 1 + 3 * k are thread k: each reads what it wrote."""

NEIGHBOURS = SHIFTED_LOOPS.replace("(%u + 5) floordiv 3", "(%u + 5) floordiv 3 - (%u floordiv 22)")
"""The last thread reads what the one before wrote."""

HALVES = """
  nest.for "o" %o = 0 to 4 bind "block.x" {
    %s = nest.alloc "s" : memref<16xf32>
    nest.for "t" %t = 0 to 8 bind "thread.x" {
      %a = nest.load %x[%o, %t] : memref<4x8xf32>
      nest.store "s" %a, %s[%t] : memref<16xf32>
      nest.store "s" %a, %s[%t + 8] : memref<16xf32>
    }
    nest.for "u" %u = 0 to 8 bind "thread.x" {
      %a = nest.load %s[%u + 8] : memref<16xf32>
      nest.store "y" %a, %y[%o, %u] : memref<4x8xf32>
    }
    nest.for "w" %w = 0 to 8 bind "thread.x" {
      %a = nest.load %s[7 - %w] : memref<16xf32>
      nest.accumulate "y" add %a, %y[%o, %w] : memref<4x8xf32>
    }
    nest.for "z" %z = 0 to 8 bind "thread.x" {
      %a = nest.load %s[15 - %z] : memref<16xf32>
      nest.accumulate "y" add %a, %y[%o, %z] : memref<4x8xf32>
    }
  }
"""
"""One barrier for both loops that read what others wrote: before the first of them."""

COUNTS = """
  nest.for "o" %o = 0 to 4 bind "block.x" {
    %s = nest.alloc "s" : memref<2xi32>
    nest.for "t" %t = 0 to 2 bind "thread.x" {
      %zero = arith.constant 0 : i32
      nest.store "s" %zero, %s[%t] : memref<2xi32>
    }
    nest.for "u" %u = 0 to 8 bind "thread.x" {
      %one = arith.constant 1 : i32
      nest.accumulate "s" add %one, %s[%u mod 2] order(atomic) : memref<2xi32>
      nest.accumulate "s" add %one, %s[1 - %u mod 2] order(atomic) : memref<2xi32>
    }
    nest.for "w" %w = 0 to 8 bind "thread.x" {
      %a = nest.load %s[%w mod 2] : memref<2xi32>
      %f = arith.sitofp %a : i32 to f32
      nest.accumulate "y" add %f, %y[%o, %w] : memref<4x8xf32>
    }
  }
"""
"""Updates in one step meet without a barrier; what is before and after them does not."""

STEPS_WITHOUT_WAITING = """
  nest.for "o" %o = 0 to 4 bind "block.x" {
    %s = nest.alloc "s" : memref<8xf32>
    nest.for "k" %k = 0 to 3 {
      nest.for "t" %t = 0 to 8 bind "thread.x" {
        %a = nest.load %x[%o, %t] : memref<4x8xf32>
        nest.store "s" %a, %s[%t] : memref<8xf32>
      }
      nest.for "u" %u = 0 to 8 bind "thread.x" {
        %a = nest.load %s[%u] : memref<8xf32>
        nest.accumulate "y" add %a, %y[%o, %u] : memref<4x8xf32>
      }
    }
  }
"""

DOUBLE_BUFFER = """
  nest.for "o" %o = 0 to 4 bind "block.x" {
    %s = nest.alloc "s" : memref<2x8xf32>
    nest.for "k" %k = 0 to 5 {
      nest.for "t" %t = 0 to 8 bind "thread.x" {
        %a = nest.load %x[%o, %t] : memref<4x8xf32>
        nest.store "s" %a, %s[%k mod 2, %t] : memref<2x8xf32>
      }
      nest.for "u" %u = 0 to 8 bind "thread.x" {
        %a = nest.load %s[%k mod 2, 7 - %u] : memref<2x8xf32>
        nest.accumulate "y" add %a, %y[%o, %u] : memref<4x8xf32>
      }
    }
  }
"""
"""One barrier an iteration: what is overwritten was read before the barrier of the iteration between."""

SCAN = """
  nest.for "o" %o = 0 to 4 bind "block.x" {
    nest.for "k" %k = 1 to 8 {
      nest.for "t" %t = 0 to min(8 - %k, 7) bind "thread.x" {
        %a = nest.load %x[%o, %t + %k] : memref<4x8xf32>
        nest.accumulate "y" add %a, %y[%o, %t] : memref<4x8xf32>
      }
    }
    nest.for "u" %u = 0 to 8 bind "thread.x" {
      %a = nest.load %y[%o, 7 - %u] : memref<4x8xf32>
      nest.store "x" %a, %x[%o, %u] : memref<4x8xf32>
    }
  }
"""
"""Triangular; x is overwritten by other threads than those that read it."""

NO_ITERATION = """
  nest.for "o" %o = 0 to 4 bind "block.x" {
    %s = nest.alloc "s" : memref<8xf32>
    nest.for "t" %t = 0 to 8 bind "thread.x" {
      %a = nest.load %x[%o, %t] : memref<4x8xf32>
      nest.store "s" %a, %s[%t] : memref<8xf32>
    }
    nest.for "k" %k = 0 to %n {
      nest.for "v" %v = 0 to 8 bind "thread.x" {
        %a = nest.load %s[%v] : memref<8xf32>
        nest.accumulate "y" add %a, %y[%o, 7 - %v] : memref<4x8xf32>
      }
      nest.for "w" %w = 0 to 8 bind "thread.x" {
        %a = nest.load %y[%o, %w] : memref<4x8xf32>
        nest.accumulate "y" add %a, %y[%o, %w] : memref<4x8xf32>
      }
    }
    nest.for "u" %u = 0 to 8 bind "thread.x" {
      %a = nest.load %s[7 - %u] : memref<8xf32>
      nest.accumulate "y" add %a, %y[%o, %u] : memref<4x8xf32>
    }
  }
"""
"""Barriers in a loop that may have no iteration are none for what is around it."""

FIRST_THREAD_IN_BETWEEN = """
  %zero = arith.constant 0.0 : f32
  nest.for "o" %o = 0 to 4 bind "block.x" {
    %s = nest.alloc "s" : memref<8xf32>
    %m = nest.alloc "m" : memref<f32>
    nest.store "m" %zero, %m[] : memref<f32>
    nest.for "t" %t = 0 to 8 bind "thread.x" {
      %a = nest.load %x[%o, %t] : memref<4x8xf32>
      nest.store "s" %a, %s[%t] : memref<8xf32>
    }
    nest.for "k" %k = 1 to 8 {
      %a = nest.load %s[%k] : memref<8xf32>
      nest.accumulate "m" add %a, %m[] : memref<f32>
    }
    %total = nest.load %m[] : memref<f32>
    nest.for "u" %u = 0 to 7 bind "thread.x" {
      nest.accumulate "y" add %total, %y[%o, %u] where (%u + %o - 2 >= 0) : memref<4x8xf32>
    }
    nest.store "m" %zero, %m[] : memref<f32>
    nest.for "v" %v = 0 to 1 bind "thread.x" {
      %b = nest.load %m[] : memref<f32>
      nest.accumulate "y" add %b, %y[%o, 0] : memref<4x8xf32>
    }
  }
"""

BRANCHES = """
  nest.for "o" %o = 0 to 4 bind "block.x" {
    %s = nest.alloc "s" : memref<8xf32>
    nest.for "t" %t = 0 to 8 bind "thread.x" {
      %a = nest.load %x[%o, %t] : memref<4x8xf32>
      nest.store "s" %a, %s[%t] : memref<8xf32>
    }
    %two = arith.constant 2 : index
    %c = arith.cmpi slt, %o, %two : index
    nest.if %c {
      nest.for "u" %u = 0 to 8 bind "thread.x" {
        %a = nest.load %s[7 - %u] : memref<8xf32>
        nest.store "y" %a, %y[%o, %u] : memref<4x8xf32>
      }
    } else {
      nest.for "v" %v = 0 to 8 bind "thread.x" {
        %a = nest.load %s[%v] : memref<8xf32>
        nest.store "y" %a, %y[%o, %v] : memref<4x8xf32>
      }
    }
    nest.for "w" %w = 0 to 8 bind "thread.x" {
      %a = nest.load %x[%o, %w] : memref<4x8xf32>
      nest.store "s" %a, %s[%w] : memref<8xf32>
    }
  }
"""

TILES = """
  nest.for "o" %o = 0 to 2 bind "block.x" {
    %s = nest.alloc "s" : memref<2x8xf32>
    nest.for "k" %k = 0 to %n {
      nest.for "v" %v = 0 to 2 bind "thread.y" {
        nest.for "t" %t = 0 to 8 bind "thread.x" {
          %a = nest.load %x[2 * %o + %v, %t] : memref<4x8xf32>
          nest.store "s" %a, %s[%v, %t] : memref<2x8xf32>
        }
      }
      nest.for "w" %w = 0 to 2 bind "thread.y" {
        nest.for "u" %u = 0 to 8 bind "thread.x" {
          nest.for "j" %j = 0 to 2 {
            %a = nest.load %s[%j, 7 - %u] : memref<2x8xf32>
            nest.accumulate "y" add %a, %y[2 * %o + %w, %u] : memref<4x8xf32>
          }
        }
      }
    }
  }
"""

ROWS_IN_STEPS = """
  nest.for "v" %v = 0 to 4 bind "thread.y" {
    nest.for "k" %k = 0 to %n {
      %s = nest.alloc "s" : memref<8xf32>
      nest.for "t" %t = 0 to 8 bind "thread.x" {
        %a = nest.load %x[%v, %t] : memref<4x8xf32>
        nest.store "s" %a, %s[7 - %t] : memref<8xf32>
      }
      nest.for "u" %u = 0 to 8 bind "thread.x" {
        %a = nest.load %s[%u] : memref<8xf32>
        nest.accumulate "y" add %a, %y[%v, %u] : memref<4x8xf32>
      }
    }
  }
"""
"""A loop that all threads run equally often, inside of one over threads; a buffer for each row."""

NESTS = {
    "reversed": (REVERSED, 1),
    "same-thread": (SAME_THREAD, 0),
    "shifted-loops": (SHIFTED_LOOPS, 0),
    "neighbours": (NEIGHBOURS, 1),
    "halves": (HALVES, 1),
    "counts": (COUNTS, 2),
    "total-by-the-first-thread": (TOTAL_BY_THE_FIRST_THREAD, 1),
    "first-thread-in-between": (FIRST_THREAD_IN_BETWEEN, 3),
    "steps-of-a-block": (STEPS_OF_A_BLOCK, 2),
    "steps-without-waiting": (STEPS_WITHOUT_WAITING, 0),
    "double-buffer": (DOUBLE_BUFFER, 1),
    "scan": (SCAN, 1),
    "no-iteration": (NO_ITERATION, 3),
    "registers": (REGISTERS, 0),
    "two-loops-of-one-thread-axis": (TWO_LOOPS_OF_ONE_THREAD_AXIS, 1),
    "one-buffer-a-row": (ONE_BUFFER_A_ROW, 1),
    "branches": (BRANCHES, 2),
    "tiles": (TILES, 2),
    "rows-in-steps": (ROWS_IN_STEPS, 2),
}
"""Bodies over x, y: 4x8 of f32 and an index n, and how many barriers they need."""


def module_of(body: str) -> ModuleOp:
    module = parse_module(
        f"func.func @f(%x: memref<4x8xf32>, %y: memref<4x8xf32>, %n: index) {{{body}func.return\n}}"
    )
    verify(module)
    return module


def arguments(n: int) -> list:
    return [np.arange(1, 33, dtype=np.float32).reshape(4, 8), np.ones((4, 8), np.float32), n]


def results(module: ModuleOp, mode: str, n: int, seed: int = 0) -> list[np.ndarray]:
    values = arguments(n)
    run_nest(functions(module)[0], values, mode=mode, seed=seed)
    return values[:2]


def barriers(module: ModuleOp) -> list[BarrierOp]:
    return [op for op in module.walk() if isinstance(op, BarrierOp)]


@pytest.mark.parametrize("name", NESTS)
@pytest.mark.parametrize("n", [0, 1, 3])
def test_threads_compute_what_the_loops_do(name: str, n: int):
    body, count = NESTS[name]
    before, module = module_of(body), module_of(body)
    assert len(insert_barriers(functions(module)[0])) == count
    verify(module)
    assert len(barriers(module)) == count
    expected = results(before, "program", n)
    for mode in ("program", "shuffled", "threads"):
        for seed in range(3):
            for found, wanted in zip(results(module, mode, n, seed), expected, strict=True):
                np.testing.assert_array_equal(found, wanted)


@pytest.mark.parametrize("name", [name for name, (_, count) in NESTS.items() if count])
def test_every_barrier_is_needed(name: str):
    body, count = NESTS[name]
    for k in range(count):
        module = module_of(body)
        insert_barriers(functions(module)[0])
        missing = barriers(module)[k]
        missing.detach()
        missing.erase()
        assert any(_traps(module, n) for n in (3, 0))


def _traps(module: ModuleOp, n: int) -> bool:
    try:
        results(module, "threads", n)
    except TrapError as trap:
        assert re.search("since the last barrier|never written", str(trap))
        return True
    return False


@pytest.mark.parametrize("name", NESTS)
def test_kernels_have_the_barriers_of_the_nest_and_compute_the_same(name: str):
    body, count = NESTS[name]
    expected = results(module_of(body), "program", 3)
    module = module_of(body)
    insert_barriers(functions(module)[0])
    ConvertNestToGpuPass(explicit_barriers=True).apply(make_context(), module)
    verify(module)
    assert sum(isinstance(op, gpu.BarrierOp) for op in module.walk()) == count
    values = arguments(3)
    assert SimEngine(module)(*values) == ErrorRecord()
    for found, wanted in zip(values[:2], expected, strict=True):
        np.testing.assert_array_equal(found, wanted)


@pytest.mark.parametrize("name", NESTS)
def test_what_is_there_counts(name: str):
    module = module_of(NESTS[name][0])
    insert_barriers(functions(module)[0])
    text = str(module)
    assert insert_barriers(functions(module)[0]) == ()
    assert str(module) == text


def test_one_kernel_of_a_function_and_loops_inside_of_it():
    both = (
        REVERSED.replace('"o"', '"p"').replace('"t"', '"q"').replace('"u"', '"r"').replace('"s"', '"z"')
        + REVERSED
    )
    for name in ("o", "t"):
        module = module_of(both)
        loop = find_loop(module, name)
        (barrier,) = insert_barriers(loop)
        parent = barrier.parent_op()
        assert isinstance(parent, ForOp)
        assert parent.label == "o"
    assert len(insert_barriers(functions(module_of(both))[0])) == 2


def test_without_the_pass_the_lowering_puts_in_what_is_missing():
    module = module_of(STEPS_OF_A_BLOCK)
    insert_barriers(functions(module)[0])
    first, _ = barriers(module)
    first.detach()
    first.erase()
    ConvertNestToGpuPass().apply(make_context(), module)
    assert sum(isinstance(op, gpu.BarrierOp) for op in module.walk()) == 2


def test_a_kernel_that_depends_on_an_element_keeps_the_barriers_of_the_lowering():
    """The loop around the loops over threads is in the kernel as well, and the pass looks into what is bound."""
    text = """func.func @f(%x: memref<8xf32>, %y: memref<8xf32>, %e: memref<1xi64>) {
      %p = nest.load %e[0] : memref<1xi64>
      %m = arith.index_cast %p : i64 to index
      nest.for "k" %k = 0 to %m {
        nest.for "t" %t = 0 to 8 bind "thread.x" {
          %a = nest.load %x[%t] : memref<8xf32>
          nest.store "y" %a, %y[7 - %t] : memref<8xf32>
        }
        nest.for "u" %u = 0 to 8 bind "thread.x" {
          %a = nest.load %y[%u] : memref<8xf32>
          nest.accumulate "x" add %a, %x[%u] : memref<8xf32>
        }
      }
      func.return
    }"""
    module = parse_module(text)
    values = [np.arange(8, dtype=np.float32), np.zeros(8, np.float32), np.array([3])]
    expected = [value.copy() for value in values]
    run_nest(functions(module)[0], expected)
    assert insert_barriers(functions(module)[0]) == ()
    ConvertNestToGpuPass(explicit_barriers=True).apply(make_context(), module)
    assert sum(isinstance(op, gpu.BarrierOp) for op in module.walk()) == 2
    assert SimEngine(module)(*values) == ErrorRecord()
    for found, wanted in zip(values, expected, strict=True):
        np.testing.assert_array_equal(found, wanted)


def test_barriers_that_some_threads_never_reach_trap():
    body = """
      nest.for "v" %v = 0 to 4 bind "thread.y" {
        nest.for "k" %k = 0 to %v {
          nest.for "t" %t = 0 to 8 bind "thread.x" {
            nest.store "y" %zero, %y[%v, %t] : memref<4x8xf32>
          }
          nest.barrier
        }
      }
    """
    module = module_of("%zero = arith.constant 0.0 : f32\n" + body)
    with pytest.raises(TrapError, match="not reached by all threads"):
        results(module, "threads", 1)
    with pytest.raises(NestorError, match="others that do not arrive"):
        insert_barriers(functions(module)[0])
    with pytest.raises(NestorError, match="where not all of its threads arrive"):
        ConvertNestToGpuPass().apply(make_context(), module)

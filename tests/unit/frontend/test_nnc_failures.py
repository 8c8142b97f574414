"""What TensorExpr (NNC) got wrong without a word, each as a program here: right results, or a refusal with its reason."""

from __future__ import annotations

import numpy as np
import pytest
from nestor.analysis.nest.loop_structure import find_loop
from nestor.dialects.diagnostic import NestorError
from nestor.runtime.interp.run import run_nest
from nestor.transforms.nest.loops.flatten import flatten
from nestor.transforms.nest.loops.reorder import reorder
from nestor.transforms.nest.loops.split import split
from nestor.transforms.nest.mapping.bind import bind
from nestor.transforms.nest.mapping.vectorize import vectorize
from nestor.transforms.nest.reductions.rfactor import rfactor
from parsed import parse_module


def run(module, *arrays: np.ndarray) -> None:
    for seed in range(3):
        for mode in ("program", "shuffled"):
            run_nest(next(iter(module.ops)), [a.copy() for a in arrays], mode=mode, seed=seed)
    run_nest(next(iter(module.ops)), list(arrays))


def test_an_uneven_split_reordered_with_masks_writes_nothing_out_of_bounds():
    module = parse_module("""
        func.func @f(%x: memref<7x5xf32>, %y: memref<7x5xf32>) {
          nest.for "i" %i = 0 to 7 {
            nest.for "j" %j = 0 to 5 {
              %v = nest.load %x[%i, %j] : memref<7x5xf32>
              nest.store "y" %v, %y[%i, %j] : memref<7x5xf32>
            }
          }
          func.return
        }""")
    rows, row = split(find_loop(module, "i"), 4, "mask")
    columns, column = split(find_loop(module, "j"), 4, "mask")
    reorder([rows, columns, row, column])
    reorder([column, row, columns, rows])
    # Views into larger arrays: a write past the end would be seen.
    x, around = np.arange(35, dtype=np.float32).reshape(7, 5), np.full((9, 8), -1, np.float32)
    run(module, x, around[1:8, 2:7])
    expected = np.full((9, 8), -1, np.float32)
    expected[1:8, 2:7] = x
    np.testing.assert_array_equal(around, expected)


@pytest.mark.parametrize("tail", ["remainder", "mask", "clamp"])
def test_a_split_from_a_nonzero_start_keeps_the_start(tail: str):
    module = parse_module("""
        func.func @f(%x: memref<20xi64>) {
          nest.for "i" %i = 3 to 20 step 2 {
            %v = nest.load %x[%i] : memref<20xi64>
            nest.accumulate "x" add %v, %x[%i] : memref<20xi64>
          }
          func.return
        }""")
    split(find_loop(module, "i"), 4, tail)  # type: ignore[arg-type]
    x = np.arange(20)
    expected = x.copy()
    expected[3::2] *= 2
    run(module, x)
    np.testing.assert_array_equal(x, expected)


SHIFTED_COPY = """
    func.func @f(%a: memref<9xf32>) {
      nest.for "i" %i = 0 to 8 {
        %v = nest.load %a[%i] : memref<9xf32>
        nest.store "a" %v, %a[%i + 1] : memref<9xf32>
      }
      func.return
    }"""


def test_one_statement_that_reads_what_the_iteration_before_wrote_is_carried():
    from nestor.analysis.nest.sets.dependence import analyse

    loop = find_loop(parse_module(SHIFTED_COPY), "i")
    assert [d.kind for d in analyse(loop).carried_by(loop)] == ["flow"]


@pytest.mark.parametrize(
    "mark",
    [
        lambda loop: vectorize(loop, 8),
        lambda loop: bind(loop, "thread.x"),
        lambda loop: bind(loop, "block.x"),
    ],
)
def test_a_carried_loop_becomes_neither_vectors_nor_threads(mark):
    loop = find_loop(parse_module(SHIFTED_COPY), "i")
    with pytest.raises(NestorError, match='a flow dependence on "a" is carried by the loop "i"'):
        mark(loop)
    assert loop.kind == "serial"


@pytest.mark.parametrize(
    ("update", "reason"),
    [
        (
            'nest.accumulate "s" add %v, %s[] order(sequential) : memref<f32>',
            "the reduction's order is sequential",
        ),
        (
            'nest.accumulate "s" custom %v, %s[] {\n^bb0(%old: f32, %new: f32):\n'
            "%d = arith.subf %old, %new : f32\n nest.yield %d : f32 } : memref<f32>",
            "not declared associative",
        ),
    ],
)
def test_rfactor_needs_a_reduction_that_may_run_in_any_order(update: str, reason: str):
    module = parse_module(f"""
        func.func @f(%x: memref<4x8xf32>, %s: memref<f32>) {{
          nest.for "i" %i = 0 to 4 {{
            nest.for "j" %j = 0 to 8 {{
              %v = nest.load %x[%i, %j] : memref<4x8xf32>
              {update}
            }}
          }}
          func.return
        }}""")
    before = str(module)
    with pytest.raises(NestorError, match=reason):
        rfactor(find_loop(module, "j"))
    assert str(module) == before


def test_loops_that_do_not_span_an_axis_are_not_flattened_as_if_they_did():
    module = parse_module("""
        func.func @f(%x: memref<4x8xf32>) {
          nest.for "i" %i = 0 to 4 {
            nest.for "j" %j = 0 to 7 {
              %v = nest.load %x[%i, %j] : memref<4x8xf32>
              nest.store "x" %v, %x[%i, %j] : memref<4x8xf32>
            }
          }
          func.return
        }""")
    flat = flatten(find_loop(module, "i"), find_loop(module, "j"))
    assert flat.constant_trip_count() == 28
    assert "%x[%i_j floordiv 7, %i_j mod 7]" in str(module)

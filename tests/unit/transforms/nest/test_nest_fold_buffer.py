"""nest-fold-buffer, nest-resize-buffer, nest-expand-buffer: each on each axis of each buffer, run before and after."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from buffer_programs import PROGRAMS, allocations, check, function_of, parsed
from nestor.analysis.nest.buffers import find_alloc
from nestor.analysis.nest.loop_structure import find_loop, loops_in
from nestor.dialects.diagnostic import NestorError
from nestor.runtime.interp.run import run_nest
from nestor.transforms.nest.loops.distribute import distribute
from nestor.transforms.nest.mapping.parallel import parallelize
from nestor.transforms.nest.memory.expand_buffer import expand_buffer
from nestor.transforms.nest.memory.fold_buffer import fold_buffer
from nestor.transforms.nest.memory.hoist_alloc import hoist_alloc
from nestor.transforms.nest.memory.resize_buffer import resize_buffer
from parsed import parse_module
from xdsl.dialects.builtin import DYNAMIC_INDEX, MemRefType

FOLDS = {
    "sliding": {("u", 0, 3), ("u", 0, 4), ("u", 0, 5)},
    "rows": {("t", 0, 2), ("t", 0, 3), ("t", 0, 4), ("t", 0, 5), ("t", 1, 5)},
    "carried": {("u", 0, k) for k in (1, 2, 3, 4, 5)},
}
"""The axes that can be folded, and to what. (Column 0 of "t" is written, before column 5, and never read.)"""


def shape_of(alloc) -> tuple[int, ...]:
    assert isinstance(alloc.memref.type, MemRefType)
    return tuple(alloc.memref.type.get_shape())


@pytest.mark.parametrize("name", PROGRAMS)
def test_fold_each_axis(name):
    accepted = set()
    for alloc in allocations(parsed(name)):
        for dimension, factor in product(range(len(shape_of(alloc))), range(1, 6)):
            module = parsed(name)
            before = str(module)
            try:
                folded = fold_buffer(find_alloc(module, alloc.label.data), factor, dimension)
            except NestorError as refusal:
                assert refusal.diagnostic.message.startswith("cannot fold")
                assert str(module) == before, "a refusal changes nothing"
                continue
            assert shape_of(folded)[dimension] == factor
            accepted.add((alloc.label.data, dimension, factor))
            check(name, module)
    assert accepted == FOLDS.get(name, set())


# Nobody reads "u": each of its rows, or columns, is written by one thread.
WRITTEN_BY_THREADS = """
func.func @f(%n: index, %x: memref<?xi32>, %y: memref<?xi32>) {
  %u = nest.alloc "u"(%n) : memref<?x3xi32>
  nest.for "i" %i = 0 to %n {
    nest.for "j" %j = 0 to 3 {
      %a = nest.load %x[%i] : memref<?xi32>
      nest.store "u" %a, %u[%i, %j] : memref<?x3xi32>
      nest.store "y" %a, %y[%i] : memref<?xi32>
    }
  }
  func.return
}"""


@pytest.mark.parametrize("name", [*PROGRAMS, "written by threads"])
def test_a_loop_in_parallel_allows_no_fold_after_which_it_could_not_be_parallel(name):
    text = parsed(name) if name in PROGRAMS else parse_module(WRITTEN_BY_THREADS)
    accepted = 0
    for alloc, loop in product(allocations(text), loops_in(text)):
        for dimension, factor in product(range(len(shape_of(alloc))), (1, 2)):
            folded, parallel = text.clone(), text.clone()
            try:
                parallelize(find_loop(parallel, loop.label))
                fold_buffer(find_alloc(parallel, alloc.label.data), factor, dimension)
            except NestorError:
                continue
            fold_buffer(find_alloc(folded, alloc.label.data), factor, dimension)
            parallelize(find_loop(folded, loop.label))
            accepted += 1
    assert accepted == {"rows": 3, "written by threads": 2}.get(name, 0)


@pytest.mark.parametrize("name", PROGRAMS)
def test_expand_each_buffer_over_each_loop(name):
    accepted = set()
    for alloc, loop in product(allocations(parsed(name)), loops_in(parsed(name))):
        module = parsed(name)
        before = str(module)
        try:
            expanded = expand_buffer(find_alloc(module, alloc.label.data), find_loop(module, loop.label))
        except NestorError as refusal:
            assert refusal.diagnostic.message.startswith("cannot expand")
            assert str(module) == before
            continue
        assert len(shape_of(expanded)) == len(shape_of(alloc)) + 1
        accepted.add((alloc.label.data, loop.label))
        check(name, module)
    assert accepted == {
        "inside": {("u", "i"), ("s", "i")},
        "outside": {("u", "o"), ("u", "i"), ("t", "o")},
        "carried": {("u", "i")},
        "masked": {("v", "i")},
        "rows": {("t", "i")},
    }.get(name, set())


def test_an_expanded_scalar_lets_the_loop_be_distributed_and_run_in_parallel():
    module = parsed("inside")
    for buffer in ("u", "s"):
        expand_buffer(find_alloc(module, buffer), find_loop(module, "i"))
    pieces = distribute(find_loop(module, "i"))
    assert len(pieces) > 1
    for piece in pieces:
        parallelize(piece)
    check("inside", module)


@pytest.mark.parametrize(
    ("size", "offset", "is_legal"),
    [(5, 0, True), (9, -3, True), (4, 0, False), (4, 1, False), (5, -1, False), (6, 0, True), (0, 0, False)],
)
def test_resize_to_a_given_window(size, offset, is_legal):
    module = parsed("outside")
    before = str(module)
    if not is_legal:
        with pytest.raises(NestorError, match="cannot resize"):
            resize_buffer(find_alloc(module, "u"), 0, size, offset)
        assert str(module) == before
        return
    assert shape_of(resize_buffer(find_alloc(module, "u"), 0, size, offset)) == (size,)
    check("outside", module)


def test_resize_to_what_an_iteration_uses():
    """Rows that an iteration makes and reads, out of a matrix made in it, and what was too long everywhere."""
    text = """
func.func @f(%n: index, %x: memref<?xi32>, %y: memref<?xi32>) {
  nest.for "o" %o = 0 to %n ceildiv 4 {
    %u = nest.alloc "u"(%n) : memref<?x9xi32>
    nest.for "i" %i = 4 * %o to min(%n, 4 * %o + 4) {
      nest.for "j" %j = 2 to 7 {
        %a = nest.load %x[%i + %j] : memref<?xi32>
        nest.store "u" %a, %u[%i, %j] : memref<?x9xi32>
      }
    }
    nest.for "k" %k = 4 * %o to min(%n, 4 * %o + 4) {
      nest.for "l" %l = 0 to 5 {
        %b = nest.load %u[%k, %l + 2] : memref<?x9xi32>
        nest.accumulate "y" add %b, %y[%k] : memref<?xi32>
      }
    }
  }
  func.return
}"""
    module = parse_module(text)
    assert shape_of(resize_buffer(find_alloc(module, "u"), 1)) == (DYNAMIC_INDEX, 5)
    assert shape_of(resize_buffer(find_alloc(module, "u"), 0)) == (4, 5)
    with pytest.raises(NestorError, match="no more than is used"):
        resize_buffer(find_alloc(module, "u"), 1)
    module.verify()
    for n in (0, 1, 3, 4, 9):
        x = np.arange(n + 8, dtype=np.int32) ** 2
        results = []
        for m in (parse_module(text), module):
            y = np.ones(n, np.int32)
            run_nest(function_of(m), [n, x, y], mode="shuffled", seed=n)
            results.append(y)
        np.testing.assert_array_equal(*results)


def test_hoisted_after_it_was_resized():
    """An extent of the iteration's own keeps a buffer in its loop; a constant one does not."""
    module = parsed("rows")
    folded = fold_buffer(find_alloc(module, "t"), 2)
    with pytest.raises(NestorError, match="not made inside"):
        hoist_alloc(folded, find_loop(module, "i"))
    check("rows", module)

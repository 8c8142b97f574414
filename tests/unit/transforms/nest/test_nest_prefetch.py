"""A prefetch changes no value: in the interpreter, on the CPU, behind the end of a buffer, and before other primitives."""

import tracemalloc

import numpy as np
import pytest
from cpu_kernels import Kernel
from nestor.analysis.nest.buffers import buffers_in
from nestor.analysis.nest.loop_structure import find_loop, functions
from nestor.analysis.nest.sets.accesses import accesses_of
from nestor.dialects.diagnostic import NestorError
from nestor.dialects.nest import PrefetchOp
from nestor.dialects.registry import make_context
from nestor.dialects.remarks import listening
from nestor.transforms.nest.cleanup.eliminate_dead import eliminate_dead
from nestor.transforms.nest.loops.split import split
from nestor.transforms.nest.loops.unroll import unroll
from nestor.transforms.nest.mapping.vectorize import vectorize
from nestor.transforms.nest.memory.prefetch import prefetch, why_not_prefetch
from nestor.transforms.registry import load_pass
from parsed import parse_module
from relabelled_nests import RELABELLED, assert_stays

COLUMN = """
func.func @f(%x: memref<?x?xi64>, %y: memref<?xi64> {nest.role = "out"}) {
  %c0 = arith.constant 0 : index
  %n = memref.dim %x, %c0 : memref<?x?xi64>
  nest.for "i" %i = 0 to %n {
    %a = nest.load %x[%i, 1] : memref<?x?xi64>
    %b = nest.load %y[%i] : memref<?xi64>
    %c = arith.addi %a, %b : i64
    nest.store "y" %c, %y[%i] : memref<?xi64>
  }
  func.return
}"""


def fetched(module) -> list[PrefetchOp]:
    return [op for op in module.walk() if isinstance(op, PrefetchOp)]


def of(module, number: int = 0):
    return buffers_in(functions(module)[0])[number]


def ahead(text: str = COLUMN, distance: int = 4):
    module = parse_module(text)
    prefetch(of(module), find_loop(module, "i"), distance)
    return module


def everything(loop) -> int:
    """Prefetch what can be; how many buffers that are."""
    function = functions(loop.get_toplevel_object())[0]
    able = [b for b in buffers_in(function) if why_not_prefetch(b, loop, 3) is None]
    for buffer in able:
        prefetch(buffer, loop, 3)
    return len(able)


def test_values_and_errors_stay():
    able = []
    for name in RELABELLED:
        assert_stays(name, lambda loop: able.append(everything(loop)))
    assert sum(map(bool, able)) > 5


def test_it_is_no_access():
    assert [accesses_of(op) for op in fetched(ahead())] == [[]]


def test_again_is_once():
    module = ahead()
    before = str(module)
    prefetch(of(module), find_loop(module, "i"), 4)
    assert str(module) == before
    prefetch(of(module), find_loop(module, "i"), 5)
    assert len(fetched(module)) == 2


def test_refused_is_unchanged():
    module = parse_module(COLUMN)
    before = str(module)
    for distance in (-1, 0, 1 << 21):
        with pytest.raises(NestorError, match="from 1 to"):
            prefetch(of(module), find_loop(module, "i"), distance)
    assert str(module) == before


def test_other_primitives_take_it_along():
    module = ahead()
    outer, inner, _ = split(find_loop(module, "i"), 4)
    eliminate_dead(functions(module)[0])
    unroll(inner)
    indices = [str(op.indices.exprs[0]) for op in fetched(module)]
    assert len(indices) > 4 and len(set(indices)) > 3
    assert outer.label in str(module)


def test_one_a_vector():
    module = ahead()
    vectorize(find_loop(module, "i"), 8)
    load_pass("convert-nest-to-scf")().apply(make_context(), module)
    body = str(module)
    assert body.count("memref.prefetch") == 2  # the vectors, and the rest


@pytest.mark.parametrize("rows", [0, 1, 5, 64, 1000])
@pytest.mark.parametrize("distance", [1, 7, 1 << 20])
def test_behind_the_end_is_harmless(rows, distance):
    module = ahead(distance=distance)
    load_pass("convert-nest-to-scf")().apply(make_context(), module)
    x = np.random.default_rng(rows).integers(-99, 99, (rows, 3))
    y = np.arange(rows)
    wanted = x[:, 1] + y
    assert Kernel(str(module))(x, y)[0] == 0
    np.testing.assert_array_equal(y, wanted)


def test_a_kernel_leaves_it_out_and_says_so():
    bound = COLUMN.replace("0 to %n {", '0 to 1024 bind "thread.x" {').replace('"i"', '"t"')
    bound = bound.replace('  nest.for "t"', '  nest.for "i" %o = 0 to %n {\n  nest.for "t"')
    bound = bound.replace("[%i, 1]", "[%i + %o, 1]").replace("  func.return", "  }\n  func.return")
    module = ahead(bound)
    assert fetched(module)
    heard = []
    with listening(heard.append):
        load_pass("convert-nest-to-gpu")().apply(make_context(), module)
    assert [d.message for d in heard] == [
        "this prefetch is left out: threads of a GPU wait for memory while others run"
    ]
    assert "prefetch" not in str(module)


def test_lanes_through_a_computed_index_are_refused():
    text = COLUMN.replace(
        "%a = nest.load %x[%i, 1]",
        "%k = nest.load %z[%i] : memref<?xindex>\n"
        "    nest.prefetch %x[%k, 1] : memref<?x?xi64>\n    %a = nest.load %x[%i, 1]",
    )
    text = text.replace("@f(", "@f(%z: memref<?xindex>, ")
    module = parse_module(text)
    with pytest.raises(NestorError, match="not straight-line code"):
        vectorize(find_loop(module, "i"), 8)
    marked = parse_module(text.replace("0 to %n {", "0 to 8 vectorized(8) {"))
    with pytest.raises(NestorError, match="a prefetch through indices computed in its iterations"):
        load_pass("convert-nest-to-scf")().apply(make_context(), marked)


def test_lines_of_a_large_window_are_not_spelled_out():
    """They are too many before they are named: a million of them would take a second and a hundred megabytes."""
    module = parse_module("""
    func.func @f(%x: memref<9x3000x3000xf64>, %y: memref<9x3000xf64> {nest.role = "out"}) {
      nest.for "i" %i = 0 to 9 {
        nest.for "j" %j = 0 to 3000 {
          nest.for "k" %k = 0 to 3000 {
            %a = nest.load %x[%i, %j, %k] : memref<9x3000x3000xf64>
            nest.store "y" %a, %y[%i, %j] : memref<9x3000xf64>
          }
        }
      }
      func.return
    }""")
    tracemalloc.start()
    refusal = why_not_prefetch(of(module), find_loop(module, "i"), 1, whole=True)
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert refusal is not None and "loads more than 64 lines" in refusal.diagnostic.message
    assert most < 5_000_000

"""What primitives say of arguments that only Python can give: passes take integers and words, and split first."""

import pytest
from nestor.analysis.nest.loop_structure import find_loop, functions
from nestor.dialects.affine import AffineList
from nestor.dialects.diagnostic import NestorError
from nestor.dialects.nest import LoadOp
from nestor.transforms.nest.loops.cut import cut
from nestor.transforms.nest.loops.peel import peel
from nestor.transforms.nest.loops.shift import shift
from nestor.transforms.nest.mapping.vectorize import why_not_vectorize
from nestor.transforms.nest.memory.cache_read import cache_read
from nestor.transforms.nest.memory.cache_write import cache_write
from nestor.transforms.nest.reductions.scatter_to_gather import scatter_to_gather
from parsed import parse_module

TEXT = """
func.func @f(%n: index, %x: memref<?xi64>, %y: memref<?xi64>) {
  nest.for "i" %i = 3 to %n {
    %a = nest.load %x[%i] : memref<?xi64>
    nest.store "y" %a, %y[%i] : memref<?xi64>
  }
  func.return
}
"""


@pytest.mark.parametrize("primitive", [cut, shift])
def test_a_point_is_one_index_that_is_known_before_the_loop(primitive):
    module = parse_module(TEXT)
    loop = find_loop(module, "i")
    load = next(op for op in loop.walk() if isinstance(op, LoadOp))
    before = str(module)
    refused = {
        "cut": 'cannot cut the loop "i": ',
        "shift": 'cannot shift the loop "i": ',
    }[primitive.__name__]
    for point, reason in (
        (load.result, 'the value "a" is not an index but i64'),
        (loop.iv, 'the value "i" is not known before it starts'),
        (AffineList.of(1, 2), "2 expressions given instead of one"),
    ):
        with pytest.raises(NestorError) as found:
            primitive(loop, point)
        assert found.value.diagnostic.message == refused + reason
    assert str(module) == before


def test_an_unrolled_loop_keeps_constant_bounds():
    module = parse_module(TEXT.replace("= 3 to %n {", "= 3 to 9 unrolled {"))
    loop, n = find_loop(module, "i"), functions(module)[0].body.block.args[0]
    with pytest.raises(NestorError) as found:
        shift(loop, n)
    assert found.value.diagnostic.message == 'cannot shift the loop "i": it is unrolled already'
    shift(loop, -3)
    assert (loop.lower.constants(), loop.upper.constants()) == ((0,), (6,))


def test_peel_at_neither_end():
    loop = find_loop(parse_module(TEXT), "i")
    with pytest.raises(NestorError) as found:
        peel(loop, where="middle")  # pyright: ignore[reportArgumentType]
    assert found.value.diagnostic.message == 'cannot peel the loop "i": "middle" is neither "head" nor "tail"'


def test_lanes_for_more_iterations_than_the_width():
    """`vectorize` splits such a loop; whoever asks before may not."""
    loop = find_loop(parse_module(TEXT.replace("%n {", "20 {")), "i")
    refusal = why_not_vectorize(loop, 16)
    assert refusal is not None
    message = 'cannot vectorize the loop "i": it may have more than 16 iterations'
    assert refusal.diagnostic.message == message
    assert why_not_vectorize(loop, 17) is None


def test_an_init_that_there_is_not():
    module = parse_module(TEXT)
    loop = find_loop(module, "i")
    before = str(module)
    with pytest.raises(NestorError, match='there is no init "zero"'):
        cache_write(functions(module)[0].body.block.args[2], loop, init="zero")
    assert str(module) == before


def test_a_memory_space_that_there_is_not():
    module = parse_module(TEXT)
    loop = find_loop(module, "i")
    before = str(module)
    with pytest.raises(NestorError, match='there is no memory space "fast"') as found:
        cache_read(functions(module)[0].body.block.args[1], loop, space="fast")
    assert found.value.diagnostic.hint == "spaces are global, shared, local"
    assert str(module) == before


SUMS = """
func.func @f(%c: memref<9xf32>, %x: memref<9xf32>) {
  nest.for "i" %i = 0 to 8 {
    %g = nest.load %c[%i] : memref<9xf32>
    nest.accumulate "x" add %g, %x[%i + 1] WHERE: memref<9xf32>
  }
  func.return
}
"""


def test_elements_are_stored_only_where_terms_are_added_in_each_iteration():
    module = parse_module(SUMS.replace("WHERE", "where (%i >= 2) "))
    x, before = functions(module)[0].body.block.args[1], str(module)
    with pytest.raises(NestorError) as found:
        scatter_to_gather(x, find_loop(module, "i"), fill=True)
    assert found.value.diagnostic.message == (
        'cannot gather what the loop "i" adds to "x": it does not go through all elements in a simple way'
    )
    assert str(module) == before
    module = parse_module(SUMS.replace("WHERE", ""))
    x = functions(module)[0].body.block.args[1]
    cores, borders, rest = scatter_to_gather(x, find_loop(module, "i"), fill=True)
    assert len(cores) == 1 and borders and not rest
    assert "nest.accumulate" not in str(cores[0])

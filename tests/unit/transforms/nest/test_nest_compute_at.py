"""nest-compute-at computes what the program computed, in the whole buffer or in a small one."""

from __future__ import annotations

import numpy as np
import pytest
from nestor.analysis.nest.loop_structure import find_loop, loops_in
from nestor.dialects.nest import AllocOp
from nestor.dialects.verifier import verify
from nestor.runtime.interp.run import run_nest
from nestor.transforms.nest.mapping.parallel import parallelize
from nestor.transforms.nest.producers.compute_at import compute_at
from parsed import parse_module
from producer_nests import PROGRAMS, blur, blurred, buffer_of


def loop_of(function, name: str):
    return next(loop for loop in loops_in(function) if loop.label == name)


@pytest.mark.parametrize("name", PROGRAMS)
@pytest.mark.parametrize("storage", ["root", "here"])
def test_same_results(name: str, storage):
    def change(function):
        loop = loop_of(function, "o")
        producer, first = compute_at(buffer_of(function), loop, storage)
        assert producer.parent_op() is loop
        assert first is None or first.parent_op() is loop
        assert (buffer_of(function).parent_op() is loop) == (storage == "here")

    PROGRAMS[name].agrees(change)


@pytest.mark.parametrize("name", ["tiled", "masked", "split", "shifted", "triangle", "steps"])
def test_inside_the_inner_loop(name: str):
    def change(function):
        compute_at(buffer_of(function), loops_in(loop_of(function, "o"))[1], "here")
        shape = buffer_of(function).memref.type.get_shape()  # type: ignore[attr-defined]
        assert all(extent <= 3 for extent in shape)

    PROGRAMS[name].agrees(change)


def test_only_what_is_needed_is_computed():
    def change(function):
        producer, _ = compute_at(buffer_of(function), loop_of(function, "o"))
        lower, upper = producer.lower, producer.upper  # type: ignore[attr-defined]
        assert (len(lower), len(upper)) == (2, 2)
        assert sum(loop.label == "i.at" for loop in loops_in(function)) == 1

    PROGRAMS["masked"].agrees(change)


def test_a_private_buffer_lets_the_loop_run_in_parallel():
    def change(function):
        loop = loop_of(function, "o")
        compute_at(buffer_of(function), loop, "here")
        parallelize(loop)

    PROGRAMS["tiled"].agrees(change)


@pytest.mark.parametrize("shape", [(1, 1), (5, 9), (8, 16)])
@pytest.mark.parametrize("storage", ["root", "here"])
@pytest.mark.parametrize("symbolic", [False, True])
@pytest.mark.parametrize("at", ["o", "p", "k", "l", "rows"])
def test_blur_at_a_loop(shape: tuple[int, int], storage, symbolic: bool, at: str):
    tile = None if at == "rows" else (4, 8)
    module = parse_module(blur("n", "m", tile) if symbolic else blur(*shape, tile))
    function = next(iter(module.ops))
    compute_at(buffer_of(function), find_loop(module, "o" if at == "rows" else at), storage)
    verify(module)
    if storage == "here" and at == "p":
        [alloc] = [op for op in function.walk() if isinstance(op, AllocOp)]
        assert list(alloc.memref.type.get_shape()) == [6, 8]  # type: ignore[attr-defined]
    x = np.random.default_rng(0).random((shape[0] + 2, shape[1] + 2), dtype=np.float32)
    out = np.zeros(shape, np.float32)
    run_nest(function, [x, out], mode="shuffled")  # type: ignore[arg-type]
    np.testing.assert_array_equal(out, blurred(x))


@pytest.mark.parametrize("tile", [None, (4, 8)])
def test_blur_breadth_first(tile):
    x = np.random.default_rng(0).random((7, 11), dtype=np.float32)
    for text in (blur(5, 9, tile), blur("n", "m", tile)):
        out = np.zeros((5, 9), np.float32)
        run_nest(next(iter(parse_module(text).ops)), [x, out])  # type: ignore[arg-type]
        np.testing.assert_array_equal(out, blurred(x))

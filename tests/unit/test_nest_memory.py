"""The memory primitives, on programs over integers: what is legal computes exactly the same, for every size."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from memory_programs import PROGRAMS, static_text
from nestor.dialects.diagnostic import NestorError
from nestor.dialects.nest import AllocOp
from nestor.dialects.parse import parse_module
from nestor.dialects.verifier import verify
from nestor.runtime.interp import run_nest
from nestor.transforms.nest.buffers import buffers_in
from nestor.transforms.nest.loops import loops_in
from nestor.transforms.nest.nest_cache_read import cache_read
from nestor.transforms.nest.nest_cache_write import cache_write
from nestor.transforms.nest.nest_parallel import parallelize
from nestor.transforms.nest.nest_split import split
from nestor.transforms.nest.nest_stage_mem import stage_mem
from nestor.transforms.nest.nest_transform_layout import transform_layout

SIZES = (2, 3, 5, 8, 13)

MEMORY = {
    "read": lambda buffer, loop: cache_read(buffer, loop),
    "read-swapped": lambda buffer, loop: cache_read(buffer, loop, axes=(1, 0)),
    "write": lambda buffer, loop: cache_write(buffer, loop),
    "write-identity": lambda buffer, loop: cache_write(buffer, loop, init="identity"),
    "stage": lambda buffer, loop: stage_mem(buffer, loop),
}

LAYOUTS = ("i -> i/4 i%4", "i -> 2*i+1", "i j -> j i", "i j -> j/3 i j%3", "i j -> i 3*j+j%2", "-> 0")


def function_of(module):
    return next(iter(module.ops))


def check(name: str, module, sizes=SIZES, modes=("program", "shuffled")) -> None:
    """The transformed program gives what the program as written gives."""
    verify(module)
    text, arguments_of = PROGRAMS[name]
    wanted_of, given_of = function_of(parse_module(text)), function_of(module)
    for size in sizes:
        wanted = arguments_of(size, np.random.default_rng(size))
        run_nest(wanted_of, wanted)
        for mode in modes:
            given = arguments_of(size, np.random.default_rng(size))
            run_nest(given_of, given, mode=mode, seed=size)
            for a, b in zip(wanted, given, strict=True):
                np.testing.assert_array_equal(a, b)


def parsed(name: str):
    return parse_module(PROGRAMS[name][0])


@pytest.mark.parametrize("primitive", MEMORY)
@pytest.mark.parametrize("name", PROGRAMS)
def test_each_buffer_in_each_loop(name: str, primitive: str):
    applied = 0
    for k in range(len(loops_in(parsed(name)))):
        for b in range(len(buffers_in(function_of(parsed(name))))):
            module = parsed(name)
            before = str(module)
            try:
                MEMORY[primitive](buffers_in(function_of(module))[b], loops_in(module)[k])
            except NestorError as refusal:
                assert refusal.diagnostic.message.startswith("cannot ")
                assert str(module) == before, "a refusal changes nothing"
                continue
            applied += 1
            check(name, module)
    if primitive == "stage":
        assert applied, "something is legal"


@settings(max_examples=120, deadline=None)
@given(
    st.sampled_from(tuple(PROGRAMS)),
    st.lists(
        st.tuples(
            st.sampled_from((*MEMORY, "split", "layout", "parallel")),
            st.integers(0, 9),
            st.integers(0, 9),
            st.sampled_from(("remainder", "mask", "clamp")),
        ),
        max_size=5,
    ),
)
def test_legal_sequences_compute_the_same(name: str, steps: list[tuple[str, int, int, str]]):
    module = parsed(name)
    for step, a, b, tail in steps:
        loops, buffers = loops_in(module), buffers_in(function_of(module))
        loop, buffer = loops[a % len(loops)], buffers[b % len(buffers)]
        before = str(module)
        try:
            if step == "split":
                split(loop, (2, 3, 4)[b % 3], tail)  # type: ignore[arg-type]
            elif step == "parallel":
                parallelize(loop)
            elif step == "layout":
                allocs = [op for op in module.walk() if isinstance(op, AllocOp)]
                if allocs:
                    transform_layout(allocs[b % len(allocs)], LAYOUTS[a % len(LAYOUTS)])
            else:
                MEMORY[step](buffer, loop)
        except NestorError as refusal:
            assert refusal.diagnostic.message.startswith(("cannot ", "bad layout"))
            assert str(module) == before
    check(name, module, sizes=(2, 5, 9))


@pytest.mark.parametrize("primitive", MEMORY)
@pytest.mark.parametrize("size", (0, 1))
@pytest.mark.parametrize("name", sorted(set(PROGRAMS) - {"matmul"}))
def test_static_extents_0_and_1(name: str, size: int, primitive: str):
    count = len(loops_in(parsed(name)))
    for k in range(count):
        for b in range(2):
            module = parse_module(static_text(name, size))
            try:
                MEMORY[primitive](buffers_in(function_of(module))[b], loops_in(module)[k])
            except NestorError:
                continue
            check(name, module, sizes=(size,))

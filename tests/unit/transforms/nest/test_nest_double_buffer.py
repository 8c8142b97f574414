"""nest-double-buffer: each buffer in the loop that makes it; caches of each loop; what is legal computes the same."""

from __future__ import annotations

import ctypes

import numpy as np
import pytest
from buffer_programs import PROGRAMS, allocations, check, parsed
from memory_programs import PROGRAMS as MEMORY
from nestor.analysis.nest.buffers import buffers_in, find_alloc
from nestor.analysis.nest.loop_structure import find_loop, loops_in, parent_loop
from nestor.dialects.diagnostic import NestorError
from nestor.dialects.registry import make_context
from nestor.dialects.verifier import verify
from nestor.lowering.llvm_ir.emit import emit_llvm_ir
from nestor.runtime.abi import ErrorRecord, Packer
from nestor.runtime.cpu.engine import compile_llvm_ir
from nestor.runtime.cuda_sim.engine import SimEngine
from nestor.runtime.interp.run import run_nest
from nestor.transforms.nest.loops.split import split
from nestor.transforms.nest.mapping.bind import bind
from nestor.transforms.nest.memory.cache_read import cache_read
from nestor.transforms.nest.memory.double_buffer import double_buffer
from nestor.transforms.nest.memory.sink_alloc import sink_alloc
from nestor.transforms.registry import load_pass
from parsed import parse_module

TILES = """
func.func @f(%x: memref<64x16xi32>, %y: memref<64x16xi32> {nest.role = "out"}) {
  nest.for "b" %b = 0 to 2 bind "block.x" {
    nest.for "i" %i = 0 to 32 {
      nest.for "t" %t = 0 to 16 bind "thread.x" {
        %a = nest.load %x[32 * %b + %i, 15 - %t] : memref<64x16xi32>
        nest.store "y" %a, %y[32 * %b + %i, %t] : memref<64x16xi32>
      }
    }
  }
  func.return
}"""


def function_of(module):
    return next(iter(module.ops))


@pytest.mark.parametrize("name", PROGRAMS)
def test_each_buffer_in_each_loop(name):
    """Buffers made before a loop are sunk into it first, where that is legal."""
    accepted = set()
    for alloc in allocations(parsed(name)):
        for loop in loops_in(parsed(name)):
            module = parsed(name)
            buffer, around = find_alloc(module, alloc.label.data), find_loop(module, loop.label)
            try:
                if parent_loop(buffer) is not around:  # pyright: ignore[reportArgumentType]
                    sink_alloc(buffer, around)
            except NestorError:
                continue
            before = str(module)
            try:
                halves, first, last = double_buffer(buffer, around)
            except NestorError as refusal:
                assert refusal.diagnostic.message.startswith("cannot double")
                assert str(module) == before, "a refusal changes nothing"
                continue
            assert halves.memref.type.get_shape()[0] == 2  # pyright: ignore[reportAttributeAccessIssue]
            assert (first.label, last.label) == (f"{loop.label}.first", f"{loop.label}.tail")
            accepted.add((alloc.label.data, loop.label))
            check(name, module, sizes=(0, 1, 2, 3, 4, 5, 6, 7, 12))
    assert accepted == {
        "inside": {("u", "i")},
        "carried": {("u", "i")},
        "rows": {("t", "i")},
    }.get(name, set())


@pytest.mark.parametrize("name", MEMORY)
def test_caches_of_each_loop(name):
    text, arguments_of = MEMORY[name]
    doubled = 0
    for k in range(len(loops_in(parse_module(text)))):
        for b in range(len(buffers_in(function_of(parse_module(text))))):
            module = parse_module(text)
            loop = loops_in(module)[k]
            try:
                cache, _ = cache_read(buffers_in(function_of(module))[b], loop)
                double_buffer(cache, loop)
            except NestorError:
                continue
            doubled += 1
            verify(module)
            for size in (2, 3, 8):
                results = []
                for one in (parse_module(text), module):
                    given = arguments_of(size, np.random.default_rng(size))
                    run_nest(function_of(one), given, mode="shuffled", seed=size)
                    results.append(given)
                for wanted, got in zip(*results, strict=True):
                    np.testing.assert_array_equal(wanted, got)
    assert doubled or name not in ("matmul", "stencil", "triangle")


def panels_of_a_product():
    module = parse_module(MEMORY["matmul"][0])
    panels, _ = split(find_loop(module, "k"), 4, "clamp")
    cache, _ = cache_read(buffers_in(function_of(module))[1], panels)
    double_buffer(cache, panels)
    return module


def test_panels_of_a_matrix_product():
    module = panels_of_a_product()
    verify(module)
    for size in (2, 4, 7, 9):
        x, w, y = MEMORY["matmul"][1](size, np.random.default_rng(size))
        run_nest(function_of(module), [x, w, y], mode="shuffled", seed=size)
        np.testing.assert_array_equal(y, x @ w)


def test_as_machine_code():
    module = panels_of_a_product()
    x, w, y = MEMORY["matmul"][1](17, np.random.default_rng(3))
    packer = Packer.for_function(function_of(module))
    for name in ("convert-nest-to-scf", "canonicalize", "cse", "expand-math", "convert-to-llvm"):
        load_pass(name)().apply(make_context(), module)
    code = compile_llvm_ir(emit_llvm_ir(module))
    assert code.entry("f")(packer(x, w, y), ctypes.addressof(ErrorRecord())) == 0
    np.testing.assert_array_equal(y, x @ w)


def test_shared_memory_of_a_block():
    module = parse_module(TILES)
    cache, copy = cache_read(buffers_in(function_of(module))[0], find_loop(module, "i"), space="shared")
    assert copy is not None
    bind(copy, "thread.x")
    halves, _, _ = double_buffer(cache, find_loop(module, "i"))
    verify(module)
    assert "memref<2x16xi32, 3 : i64>" in str(halves.memref.type)
    x = np.arange(64 * 16, dtype=np.int32).reshape(64, 16)
    y = np.zeros_like(x)
    load_pass("convert-nest-to-gpu")().apply(make_context(), module)
    SimEngine(module)(x, y)
    np.testing.assert_array_equal(y, x[:, ::-1])

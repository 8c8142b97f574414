"""The memory primitives, on programs over integers: what is legal computes exactly the same, for every size."""

from __future__ import annotations

import ctypes
import functools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from memory_programs import PROGRAMS, static_text
from nestor.analysis.nest.buffers import buffers_in, find_alloc, find_buffer
from nestor.analysis.nest.loop_structure import find_loop, loops_in
from nestor.dialects.diagnostic import NestorError
from nestor.dialects.nest import AllocOp
from nestor.dialects.registry import make_context
from nestor.dialects.verifier import verify
from nestor.lowering.cuda_c.emit import emit_cuda
from nestor.lowering.llvm_ir.emit import emit_llvm_ir
from nestor.runtime.abi import ErrorRecord, Packer
from nestor.runtime.cpu.engine import compile_llvm_ir
from nestor.runtime.cuda_sim.engine import SimEngine
from nestor.runtime.interp.run import compile_nest, run_nest
from nestor.transforms.nest.loops.reorder import reorder
from nestor.transforms.nest.loops.split import split
from nestor.transforms.nest.mapping.bind import bind
from nestor.transforms.nest.mapping.parallel import parallelize
from nestor.transforms.nest.memory.cache_read import cache_read, why_not_cache_read
from nestor.transforms.nest.memory.cache_write import cache_write
from nestor.transforms.nest.memory.set_memory import set_memory
from nestor.transforms.nest.memory.stage_mem import stage_mem
from nestor.transforms.nest.memory.transform_layout import transform_layout
from nestor.transforms.registry import load_pass
from parsed import parse_module
from sampling import seeds
from xdsl.dialects.builtin import ModuleOp

pytestmark = pytest.mark.one_of(3)

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
    compiled = [compile_nest(function_of(module), mode=mode) for mode in modes]
    for size in sizes:
        wanted = as_written(name, size)
        for kernel in compiled:
            given = PROGRAMS[name][1](size, np.random.default_rng(size))
            kernel(*given, seed=size)
            for a, b in zip(wanted, given, strict=True):
                np.testing.assert_array_equal(a, b)


@functools.cache
def as_written(name: str, size: int) -> list:
    """What the program as written leaves in its arguments."""
    text, arguments_of = PROGRAMS[name]
    arguments = arguments_of(size, np.random.default_rng(size))
    compile_nest(function_of(parse_module(text)))(*arguments)
    return arguments


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


@settings(max_examples=len(seeds(60)), deadline=None)
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


def test_a_refusal_for_what_is_no_buffer():
    module = parsed("stencil")
    refusal = why_not_cache_read(function_of(module).args[0], find_loop(module, "i"))
    assert refusal is not None and "it is not a buffer" in refusal.diagnostic.message


def packed_matmul() -> ModuleOp:
    """Panels of 8 columns of %w, packed in blocks of 2 rows; rows of %y in a buffer of their own."""
    module = parsed("matmul")
    columns, _ = split(find_loop(module, "j"), 8, "clamp")
    rows = find_loop(module, "i")
    reorder([columns, rows])
    panel, _ = cache_read(find_buffer(module, "w"), columns)
    transform_layout(panel, "k j -> k/2 j k%2", pad=(0, 1, 0))
    row, load, back = cache_write(find_buffer(module, "y"), rows)
    assert load is None and back is not None, "each element is stored before it is updated"
    set_memory(row, "local")
    return module


def test_packed_matmul_is_the_same():
    check("matmul", packed_matmul(), sizes=(2, 6, 7, 17))


def test_packed_matmul_as_machine_code():
    module = packed_matmul()
    x, w, y = PROGRAMS["matmul"][1](17, np.random.default_rng(3))
    packer = Packer.for_function(function_of(module))
    for name in ("convert-nest-to-scf", "canonicalize", "cse", "expand-math", "convert-to-llvm"):
        load_pass(name)().apply(make_context(), module)
    code = compile_llvm_ir(emit_llvm_ir(module))
    assert code.entry("f")(packer(x, w, y), ctypes.addressof(ErrorRecord())) == 0
    np.testing.assert_array_equal(y, x @ w)


REVERSED_BLOCKS = """
func.func @f(%x: memref<64xf32>, %y: memref<64xf32> {nest.role = "out"}) {
  nest.for "b" %b = 0 to 4 {
    nest.for "t" %t = 0 to 16 {
      %a = nest.load %x[16 * %b + 15 - %t] : memref<64xf32>
      nest.store "y" %a, %y[16 * %b + %t] : memref<64xf32>
    }
  }
  func.return
}"""


def test_shared_memory_that_threads_fill_together():
    module = parse_module(REVERSED_BLOCKS)
    _, copy = cache_read(find_buffer(module, "x"), find_loop(module, "b"), space="shared")
    assert copy is not None
    bind(find_loop(module, "b"), "block.x")
    bind(find_loop(module, "t"), "thread.x")
    bind(copy, "thread.x")
    verify(module)
    x = np.arange(64, dtype=np.float32)
    wanted = x.reshape(4, 16)[:, ::-1]
    for seed in range(3):
        y = np.zeros(64, np.float32)
        run_nest(function_of(module), [x, y], mode="shuffled", seed=seed)
        np.testing.assert_array_equal(y.reshape(4, 16), wanted)
    load_pass("convert-nest-to-gpu")().apply(make_context(), module)
    text = emit_cuda(module)
    assert "__shared__ float x_shared[16]" in text and text.count("__syncthreads()") == 1
    y = np.zeros(64, np.float32)
    SimEngine(module)(x, y)
    np.testing.assert_array_equal(y.reshape(4, 16), wanted)


@pytest.mark.parametrize(
    ("layout", "extents"),
    [
        ("i j -> j i", (7, 5)),
        ("i j -> 7*i+j", (35,)),
        ("i j -> i/2 j i%2", (3, 7, 2)),
        ("i j -> i (2*i+j)%9", (5, 9)),
        ("i j -> i j 3", (5, 7, 4)),
    ],
)
def test_layouts_of_a_static_buffer(layout: str, extents: tuple[int, ...]):
    text = """
func.func @f(%x: memref<5x7xi32>, %y: memref<5x7xi32> {nest.role = "out"}) {
  %u = nest.alloc "u" : memref<5x7xi32>
  nest.for "i" %i = 0 to 5 {
    nest.for "j" %j = 0 to 7 {
      %a = nest.load %x[%i, %j] : memref<5x7xi32>
      nest.store "u" %a, %u[%i, 6 - %j] : memref<5x7xi32>
    }
  }
  nest.for "k" %k = 0 to 5 {
    nest.for "l" %l = 0 to 7 {
      %a = nest.load %u[4 - %k, %l] : memref<5x7xi32>
      nest.store "y" %a, %y[%k, %l] : memref<5x7xi32>
    }
  }
  func.return
}"""
    module = parse_module(text)
    alloc = transform_layout(find_alloc(module, "u"), layout)
    assert tuple(alloc.memref.type.get_shape()) == extents  # pyright: ignore[reportAttributeAccessIssue]
    verify(module)
    x = np.arange(35, dtype=np.int32).reshape(5, 7)
    y = np.zeros_like(x)
    run_nest(function_of(module), [x, y], mode="shuffled")
    np.testing.assert_array_equal(y, x[::-1, ::-1])

"""nest-tensorize: calls of intrinsics compute what the nests did, in the interpreter and as machine code."""

from __future__ import annotations

import ctypes
import random
import re
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from mlir_judge import custom, mlir_opt, mlir_translate, needs_mlir_opt, needs_mlir_translate
from nestor.analysis.nest.loop_structure import find_loop
from nestor.dialects.diagnostic import LoweringError, NestorError
from nestor.dialects.nest import AccumulateOp
from nestor.dialects.registry import make_context
from nestor.dialects.verifier import verify
from nestor.lowering.llvm_ir.emit import emit_llvm_ir
from nestor.runtime.abi import ErrorRecord, Packer
from nestor.runtime.cpu.engine import compile_llvm_ir
from nestor.runtime.errors import KernelError
from nestor.runtime.interp.run import TrapError, compile_nest, run_nest
from nestor.transforms.nest.loops.reorder import reorder
from nestor.transforms.nest.loops.split import split
from nestor.transforms.nest.loops.tile import tile
from nestor.transforms.nest.mapping.parallel import parallelize
from nestor.transforms.nest.mapping.tensorize import tensorize, why_not_tensorize
from nestor.transforms.nest.mapping.vectorize import vectorize
from nestor.transforms.registry import load_pass
from parsed import parse_module
from sampling import seeds
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import CallOp, FuncOp

A = "memref<16x?xi32, strided<[?, 1], offset: ?>>"
B = "memref<?x16xi32, strided<[?, 1], offset: ?>>"
C = "memref<16x16xi32, strided<[?, 1], offset: ?>>"

GEMM = f"""
func.func private @gemm(%a: {A}, %b: {B}, %c: {C}) attributes {{nest.intrinsic}} {{
  %c1 = arith.constant 1 : index
  %k = memref.dim %a, %c1 : {A}
  nest.for "r" %i = 0 to 16 {{
    nest.for "c" %j = 0 to 16 {{
      nest.for "d" %l = 0 to %k {{
        %x = nest.load %a[%i, %l] : {A}
        %y = nest.load %b[%l, %j] : {B}
        %p = arith.muli %x, %y : i32
        nest.accumulate add %p, %c[%i, %j] : {C}
      }}
    }}
  }}
  func.return
}}
func.func @f(%A: memref<?x?xi32> {{nest.dims = ["n", "q"]}}, %B: memref<?x?xi32> {{nest.dims = ["q", "m"]}},
             %C: memref<?x?xi32> {{nest.role = "inout", nest.dims = ["n", "m"]}}) {{
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %n = memref.dim %A, %c0 : memref<?x?xi32>
  %m = memref.dim %C, %c1 : memref<?x?xi32>
  %q = memref.dim %A, %c1 : memref<?x?xi32>
  nest.for "i" %i = 0 to %n {{
    nest.for "j" %j = 0 to %m {{
      nest.for "k" %k = 0 to %q {{
        %x = nest.load %A[%i, %k] : memref<?x?xi32>
        %y = nest.load %B[%k, %j] : memref<?x?xi32>
        %p = arith.muli %x, %y : i32
        nest.accumulate "C" add %p, %C[%i, %j] : memref<?x?xi32>
      }}
    }}
  }}
  func.return
}}"""

ROW = "memref<4xi32, strided<[?], offset: ?>>"

AXPY = f"""
func.func private @t(%a: i32, %x: {ROW}, %y: {ROW}) attributes {{nest.intrinsic}} {{
  nest.for "l" %l = 0 to 4 {{
    %u = nest.load %x[%l] : {ROW}
    %v = arith.muli %a, %u : i32
    nest.accumulate add %v, %y[%l] : {ROW}
  }}
  func.return
}}"""


def axpy(
    head: str, index: str, tail: str = "", buffers: str = "%x: memref<?x?xi32>, %y: memref<?x?xi32>"
) -> str:
    """`y += 3 * x` in a nest of its own form."""
    return f"""{AXPY}
func.func @f({buffers}) {{
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %a = arith.constant 3 : i32
  %n = memref.dim %x, %c0 : memref<?x?xi32>
  %m = memref.dim %x, %c1 : memref<?x?xi32>
  {head}
      %u = nest.load %x[{index}] : memref<?x?xi32>
      %v = arith.muli %a, %u : i32
      nest.accumulate "y" add %v, %y[{index}] : memref<?x?xi32>
    }}
  {tail}}}
  func.return
}}"""


PROGRAMS = {
    # four iterations at a time of the loop "i" are the intrinsic @t
    "rows": axpy('nest.for "o" %o = 0 to %n {\nnest.for "i" %i = 0 to %m {', "%o, %i"),
    "columns": axpy('nest.for "o" %o = 0 to %m {\nnest.for "i" %i = 0 to %n {', "%i, %o"),
    "lower bound": axpy('nest.for "o" %o = 1 to %n {\nnest.for "i" %i = 2 to %m {', "%o - 1, %i - 1"),
    "triangle": axpy('nest.for "o" %o = 0 to %n {\nnest.for "i" %i = 0 to %o + 1 {', "%o, %i"),
    "upper triangle": axpy('nest.for "o" %o = 0 to %n {\nnest.for "i" %i = %o to %m {', "%o, %i"),
    "steps outside": axpy('nest.for "o" %o = 0 to %n step 3 {\nnest.for "i" %i = 0 to %m {', "%o, %i"),
    "no rows": axpy('nest.for "o" %o = 0 to 0 {\nnest.for "i" %i = 0 to %m {', "%o, %i"),
    "one row": axpy('nest.for "o" %o = 1 to 2 {\nnest.for "i" %i = 0 to %m {', "%o, %i"),
    "mirrored rows": axpy('nest.for "o" %o = 0 to %n {\nnest.for "i" %i = 0 to %m {', "%n - 1 - %o, %i"),
}

SHAPES = ((2, 0), (2, 1), (2, 3), (5, 4), (4, 9), (13, 8), (7, 17))


def function_of(module: ModuleOp, name: str = "f") -> FuncOp:
    return next(op for op in module.ops if isinstance(op, FuncOp) and op.sym_name.data == name)


def machine_code(module: ModuleOp, level: int | None = 1) -> tuple[Packer, Any]:
    """The function @f as machine code, and what packs its arguments; LLVM's vectorizer (None) takes most of the time."""
    packer = Packer.for_function(function_of(module))
    for name in ("convert-nest-to-scf", "canonicalize", "cse", "expand-math", "convert-to-llvm"):
        load_pass(name)().apply(make_context(), module)
    return packer, compile_llvm_ir(emit_llvm_ir(module), opt_level=level).entry("f")


def integers(*shape: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).integers(-9, 9, shape).astype(np.int32)


def check(
    text: str, module: ModuleOp, arguments: Sequence[Sequence[np.ndarray]], level: int | None = 1
) -> None:
    """The module computes what the text does, in the interpreter and as machine code."""
    verify(module)
    reference = compile_nest(function_of(parse_module(text)))
    kernels = [compile_nest(function_of(module), mode=mode) for mode in ("program", "shuffled")]
    wanted = [[a.copy() for a in given] for given in arguments]
    for expected, given in zip(wanted, arguments, strict=True):
        reference(*expected)
        for kernel in kernels:
            found = [a.copy() for a in given]
            kernel(*found, seed=1)
            for e, f in zip(expected, found, strict=True):
                np.testing.assert_array_equal(e, f)
    packer, entry = machine_code(module, level)
    for expected, given in zip(wanted, arguments, strict=True):
        found = [a.copy() for a in given]
        assert entry(packer(*found), ctypes.addressof(ErrorRecord())) == 0
        for e, f in zip(expected, found, strict=True):
            np.testing.assert_array_equal(e, f)


def tiled_matmul() -> ModuleOp:
    """Tiles of 16x16 are calls, the edges stay loops."""
    module = parse_module(GEMM)
    tile([find_loop(module, "i"), find_loop(module, "j")], (16, 16))
    tensorize(find_loop(module, "i.i"), "gemm")
    return module


def matmul_arguments(n: int, m: int, q: int) -> list[np.ndarray]:
    return [integers(n, q, seed=1), integers(q, m, seed=2), integers(n, m, seed=3)]


SIZES = ((2, 2, 2), (16, 16, 2), (16, 17, 5), (33, 31, 7), (48, 35, 16))


def test_tiles_of_a_matmul():
    module = tiled_matmul()
    assert sum(isinstance(op, CallOp) for op in module.walk()) == 1
    check(GEMM, module, [matmul_arguments(*sizes) for sizes in SIZES])


ANY = "memref<?x?xi32, strided<[?, 1], offset: ?>>"

GEMM_OF_ANY_SIZE = f"""
func.func private @gemm_any(%a: {ANY}, %b: {ANY}, %c: {ANY}) attributes {{nest.intrinsic}} {{
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %n = memref.dim %c, %c0 : {ANY}
  %m = memref.dim %c, %c1 : {ANY}
  %k = memref.dim %b, %c0 : {ANY}
  nest.for "rr" %i = 0 to %n {{
    nest.for "cc" %j = 0 to %m {{
      nest.for "dd" %l = 0 to %k {{
        %x = nest.load %a[%i, %l] : {ANY}
        %y = nest.load %b[%l, %j] : {ANY}
        %p = arith.muli %x, %y : i32
        nest.accumulate add %p, %c[%i, %j] : {ANY}
      }}
    }}
  }}
  func.return
}}"""


def test_edges_are_calls_of_an_intrinsic_of_any_size():
    module = parse_module(GEMM_OF_ANY_SIZE + GEMM)
    tile([find_loop(module, "i"), find_loop(module, "j")], (16, 16))
    tensorize(find_loop(module, "i.i"), "gemm")
    for name in ("i.i.1", "i.i.2", "i.i.1.1"):
        tensorize(find_loop(module, name), "gemm_any")
    assert not any(isinstance(op, AccumulateOp) for op in function_of(module).walk())
    check(GEMM, module, [matmul_arguments(*sizes) for sizes in SIZES])


def test_the_intrinsic_has_a_schedule_of_its_own():
    module = tiled_matmul()
    reorder([find_loop(module, "d"), find_loop(module, "c")])
    vectorize(find_loop(module, "c"), 16)
    check(GEMM, module, [matmul_arguments(*sizes) for sizes in SIZES])


def test_calls_by_several_threads():
    module = parse_module(GEMM)
    tile([find_loop(module, "i"), find_loop(module, "j")], (16, 16))
    parallelize(find_loop(module, "i.o"))
    tensorize(find_loop(module, "i.i"), "gemm")
    check(GEMM, module, [matmul_arguments(*sizes) for sizes in SIZES])


@needs_mlir_opt
def test_mlir_accepts_windows_and_calls():
    module = tiled_matmul()
    load_pass("convert-nest-to-scf")().apply(make_context(), module)
    mlir_opt(custom(module))


@needs_mlir_translate
def test_mlir_translates_calls_of_kernels():
    module = tiled_matmul()
    machine_code(module)
    assert "call i32 @gemm.kernel(" in mlir_translate(module)


@pytest.mark.parametrize("name", PROGRAMS)
def test_four_iterations_at_a_time(name: str):
    text = PROGRAMS[name]
    module = parse_module(text)
    loop = find_loop(module, "i")
    split(loop, 4)
    tensorize(find_loop(module, "i.i"), "t")
    shapes = [shape for shape in SHAPES if name != "triangle" or shape[0] <= shape[1]]
    check(text, module, [(integers(*shape), integers(*shape, seed=5)) for shape in shapes], level=None)


V = "memref<?xi32, strided<[?], offset: ?>>"
S = "memref<i32, strided<[], offset: ?>>"

NORMALISE = """
func.func private @t(%x: {V}, %top: {S}, %limit: i32, %n: index) attributes {nest.intrinsic} {
  nest.for "once" %q = 0 to 1 {
    %u = nest.alloc "u"(%n) : memref<?xi32>
    nest.for "a" %a = 0 to %n {
      %v = nest.load %x[%a] : {V}
      %k = arith.index_cast %a : index to i32
      %w = arith.muli %v, %k : i32
      nest.store "u" %w, %u[%n - 1 - %a] : memref<?xi32>
      %large = arith.cmpi sgt, %w, %limit : i32
      nest.if %large {
        nest.store "x" %limit, %x[%a] : {V}
      } else {
        nest.store "x" %w, %x[%a] : {V}
      }
    }
    nest.for "b" %b = 0 to %n {
      %v = nest.load %u[%b] : memref<?xi32>
      nest.accumulate "top" custom %v, %top[] {
      ^bb0(%old: i32, %new: i32):
        %larger = arith.maxsi %old, %new : i32
        nest.yield %larger : i32
      } : {S}
    }
  }
  func.return
}
func.func @f(%x: memref<?x?xi32>, %top: memref<?xi32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %n = memref.dim %x, %c0 : memref<?x?xi32>
  %m = memref.dim %x, %c1 : memref<?x?xi32>
  %limit = arith.constant 4 : i32
  nest.for "o" %o = 0 to %n {
    nest.for "i" %i = 0 to 1 {
      %u = nest.alloc "u"(%m) : memref<?xi32>
      nest.for "a" %a = 0 to %m {
        %v = nest.load %x[%o, %a] : memref<?x?xi32>
        %k = arith.index_cast %a : index to i32
        %w = arith.muli %v, %k : i32
        nest.store "u" %w, %u[%m - 1 - %a] : memref<?xi32>
        %large = arith.cmpi sgt, %w, %limit : i32
        nest.if %large {
          nest.store "x" %limit, %x[%o, %a] : memref<?x?xi32>
        } else {
          nest.store "x" %w, %x[%o, %a] : memref<?x?xi32>
        }
      }
      nest.for "b" %b = 0 to %m {
        %v = nest.load %u[%b] : memref<?xi32>
        nest.accumulate "top" custom %v, %top[%o] {
        ^bb0(%old: i32, %new: i32):
          %larger = arith.maxsi %old, %new : i32
          nest.yield %larger : i32
        } : memref<?xi32>
      }
    }
  }
  func.return
}""".replace("{V}", V).replace("{S}", S)


def test_buffers_branches_and_reductions_of_the_intrinsic():
    text = NORMALISE.replace("%top: memref<?xi32>)", '%top: memref<?xi32> {nest.dims = ["n"]})')
    text = text.replace("%x: memref<?x?xi32>,", '%x: memref<?x?xi32> {nest.dims = ["n", "m"]},')
    module = parse_module(text)
    tensorize(find_loop(module, "i"), "t")
    check(text, module, [(integers(*shape), integers(shape[0], seed=5)) for shape in SHAPES])


SHIFT = f"""
func.func private @t(%x: {ROW}, %y: {ROW} ATTRIBUTES) attributes {{nest.intrinsic}} {{
  nest.for "l" %l = 0 to 4 {{
    %u = nest.load %x[%l] : {ROW}
    nest.store "y" %u, %y[%l] : {ROW}
  }}
  func.return
}}
func.func @f(%x: memref<20xi32>) {{
  nest.for "o" %o = 0 to 3 {{
    nest.for "i" %i = 0 to 4 {{
      %u = nest.load %x[2 * %o + %i] : memref<20xi32>
      nest.store "x" %u, %x[2 * %o + %i + DISTANCE] : memref<20xi32>
    }}
  }}
  func.return
}}"""

MAY_OVERLAP = "{nest.alias_set = 1 : i64}"


@pytest.mark.parametrize("distance", (1, 3, 4, 9))
def test_windows_of_one_buffer(distance: int):
    text = SHIFT.replace("DISTANCE", str(distance))
    apart = text.replace("ATTRIBUTES", "")
    refusal = why_not_tensorize(find_loop(parse_module(apart), "i"), "t")
    assert (refusal is None) == (distance >= 4)
    allowed = text.replace("ATTRIBUTES", MAY_OVERLAP).replace(
        "%x: memref<4xi32, strided<[?], offset: ?>>",
        f"%x: memref<4xi32, strided<[?], offset: ?>> {MAY_OVERLAP}",
    )
    for permitted in (allowed, apart) if refusal is None else (allowed,):
        module = parse_module(permitted)
        tensorize(find_loop(module, "i"), "t")
        check(permitted, module, [[integers(20)]])


@pytest.mark.parametrize(("extent", "is_legal"), [(12, False), (20, True), (24, True)])
def test_extents_of_one_name_are_one_extent(extent: int, is_legal: bool):
    row = "memref<?xi32, strided<[1], offset: ?>>"
    text = f"""
func.func private @t(%x: {row} {{nest.dims = ["n"]}}, %y: {row} {{nest.dims = ["n"]}}) attributes {{nest.intrinsic}} {{
  nest.for "l" %l = 0 to 4 {{
    %u = nest.load %x[%l] : {row}
    nest.store %u, %y[%l] : {row}
  }}
  func.return
}}
func.func @f(%x: memref<20xi32>, %y: memref<{extent}xi32>) {{
  nest.for "i" %i = 0 to 4 {{
    %u = nest.load %x[%i] : memref<20xi32>
    nest.store "y" %u, %y[%i] : memref<{extent}xi32>
  }}
  func.return
}}"""
    module = parse_module(text)
    assert (why_not_tensorize(find_loop(module, "i"), "t") is None) == is_legal
    if is_legal:
        tensorize(find_loop(module, "i"), "t")
        check(text, module, [[integers(20), integers(extent, seed=1)]])


UNRELATED = re.sub(r" {nest.dims = [^}]*}|, nest.dims = [^}]*", "", GEMM)
"""The matmul of matrices of which nobody says that their extents are equal."""


@pytest.mark.parametrize(
    ("text", "loop", "message"),
    [(GEMM, "i", "have different extents"), (UNRELATED, "i.i", '"b" is not proved to be inside its buffer')],
)
def test_a_refusal_changes_nothing(text: str, loop: str, message: str):
    module = parse_module(text)
    tile([find_loop(module, "i"), find_loop(module, "j")], (16, 16))
    find_loop(module, "i.t").set_label("i")
    before = str(module)
    with pytest.raises(NestorError, match=message):
        tensorize(find_loop(module, loop), "gemm")
    assert str(module) == before


# ---- calls, where they run --------------------------------------------------------------------------

CALLS = """
func.func private @g(%x: memref<?xi32, strided<[?], offset: ?>>, %k: index) {
  %c0 = arith.constant 0 : index
  %n = memref.dim %x, %c0 : memref<?xi32, strided<[?], offset: ?>>
  %one = arith.constant 1 : i32
  %at = nest.index %k of %n axis 0 of "x"
  nest.store "x" %one, %x[%at] : memref<?xi32, strided<[?], offset: ?>>
  func.return
}
func.func @f(%x: memref<?xi32>, %k: index) {
  %c0 = arith.constant 0 : index
  %n = memref.dim %x, %c0 : memref<?xi32>
  nest.for "i" %i = 0 to %n MARK {
    %w = memref.subview %x[0] [%i] [1] : memref<?xi32> to memref<?xi32, strided<[1]>>
    %v = "memref.cast"(%w) : (memref<?xi32, strided<[1]>>) -> memref<?xi32, strided<[?], offset: ?>>
    func.call @g(%v, %k) : (memref<?xi32, strided<[?], offset: ?>>, index) -> ()
  }
  func.return
}"""


def test_a_check_that_fails_in_a_call_stops_the_caller():
    text = CALLS.replace("MARK", "")
    with pytest.raises(KernelError) as stopped:
        run_nest(function_of(parse_module(text)), [integers(9), 3])
    packer, entry = machine_code(parse_module(text))
    record = ErrorRecord()
    assert entry(packer(integers(9), 3), ctypes.addressof(record)) == 1
    assert (stopped.value.code, stopped.value.value, stopped.value.extent) == (1, 3, 0)
    assert (record[0], record[2], record[3]) == (1, 3, 0)


def test_checks_in_calls_by_threads_are_refused():
    with pytest.raises(LoweringError, match="@g has run-time checks"):
        machine_code(parse_module(CALLS.replace("MARK", "parallel")))


def test_kernels_call_no_functions():
    with pytest.raises(LoweringError, match="calls @gemm, and a kernel calls no function on buffers"):
        load_pass("convert-nest-to-gpu")().apply(make_context(), tiled_matmul())


VIEW = """
func.func private @g(%x: memref<3xi32, strided<[1], offset: ?>>) {
  nest.for "l" %l = 0 to 3 {
    %u = nest.load %x[%l] : memref<3xi32, strided<[1], offset: ?>>
    nest.store %u, %x[2 - %l] : memref<3xi32, strided<[1], offset: ?>>
  }
  func.return
}
func.func @f(%x: memref<?xi32> {nest.role = "out"}, %k: index) {
  %v = memref.subview %x[%k] [3] [1] : memref<?xi32> to memref<3xi32, strided<[1], offset: ?>>
  func.call @CALLED(%v) : (memref<3xi32, strided<[1], offset: ?>>) -> ()
  func.return
}"""


def test_the_interpreter_traps_where_a_window_leaves_its_buffer():
    function = function_of(parse_module(VIEW.replace("CALLED", "g")))
    run_nest(function, [integers(9), 6])
    with pytest.raises(TrapError, match=r"'memref.subview' at \[7\] is out of bounds"):
        run_nest(function, [integers(9), 7])


def test_the_interpreter_knows_what_is_written_behind_a_window():
    function = function_of(parse_module(VIEW.replace("CALLED", "g")))
    with pytest.raises(TrapError, match="reads what was never written"):
        run_nest(function, [integers(9), 6], mode="shuffled")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (VIEW.replace("CALLED", "h"), "calls @h, which is not a function of this module"),
        ("func.func @f() {\nfunc.call @f() : () -> ()\nfunc.return\n}", "@f calls itself"),
        (
            "func.func private @g(i64)\nfunc.func @f(%k: i64) {\nfunc.call @g(%k) : (i64) -> ()\nfunc.return\n}",
            "calls @g, which is not one block without results",
        ),
    ],
)
def test_the_interpreter_refuses_calls_it_cannot_follow(text: str, message: str):
    with pytest.raises(LoweringError, match=message):
        compile_nest(function_of(parse_module(text)))


# ---- random nests and random intrinsics -------------------------------------------------------------

PLACES = (
    ("%i", "%l"),
    ("%i + %o", "%l"),
    ("2 * %o + %i", "%l + 1"),
    ("%i + 3", "%l"),
    ("%i - 1", "%l"),
    ("9 - %i", "4 - %l"),
    ("%o + 11 - %i", "4 - %l"),
    ("2 * %i", "2 * %l"),
    ("%o", "0"),
    ("20", "0"),
    ("%i + 2", "%l + %s"),
)
"""Indices in a nest and in an intrinsic that differ by what is fixed."""

OPERATIONS = ("arith.addi", "arith.subi", "arith.subi")
LAST = ("store", "accumulate add", "accumulate add", "accumulate maxsi")


def random_pair(rng: random.Random) -> str:
    """An intrinsic and a nest with the same form, and with differences here and there."""

    def perhaps(value: Any, others: Sequence[Any]) -> Any:
        return rng.choice(others) if rng.random() < 0.05 else value

    extent, low, step = rng.choice((2, 3, 5)), rng.choice((0, 1, 1)), rng.choice((1, 1, 2))
    operation, last = rng.choice(OPERATIONS), rng.choice(LAST)
    buffers = [perhaps(name, "pqr") for name in "pqr"]
    places = [rng.choice(PLACES) for _ in "xyz"]

    def body(names: Sequence[str], indices: Sequence[str], type_: str, constant: int) -> str:
        update = f"nest.{last} %w, %{names[2]}[{indices[2]}] : {type_}"
        mine = perhaps(operation, OPERATIONS)
        return f"""
      %c = arith.constant {constant} : i32
      %u = nest.load %{names[0]}[{indices[0]}] : {type_}
      %v = nest.load %{names[1]}[{indices[1]}] : {type_}
      %d = {mine} %u, {perhaps("%v", ("%c", "%u"))} : i32
      %w = arith.muli %d, %c : i32
      {perhaps(update, [update.replace(last, other) for other in LAST])}"""

    window = f"memref<{rng.choice((5, 9, 12))}xi32, strided<[1], offset: ?>>"
    start = perhaps(0, (1, 2))
    inner = body("xyz", [perhaps(inner, ("%l", "0")) for _, inner in places], window, 2)
    outer = body(buffers, [outer for outer, _ in places], "memref<40xi32>", perhaps(2, (3,)))
    again = perhaps(extent, (2, 3, 5))
    arguments = ", ".join(f"%{name}: {window}" for name in "xyz") + (", %s: index" if "%s" in inner else "")
    return f"""
func.func private @t({arguments}) attributes {{nest.intrinsic}} {{
  nest.for "l" %l = {start} to {start + again * step} step {step} {{{inner}
  }}
  func.return
}}
func.func @f(%p: memref<40xi32>, %q: memref<40xi32>, %r: memref<40xi32>) {{
  nest.for "o" %o = 0 to 6 {{
    nest.for "i" %i = {low} to {low + extent * step} step {step} {{{outer}
    }}
  }}
  func.return
}}"""


def test_random_pairs_are_refused_or_compute_the_same():
    legal = 0
    for seed in seeds(250):
        text = random_pair(random.Random(seed))
        module = parse_module(text)
        arguments = [integers(40, seed=seed + k) for k in range(3)]
        if why_not_tensorize(find_loop(module, "i"), "t") is not None:
            continue
        try:
            run_nest(function_of(module), [a.copy() for a in arguments])
        except TrapError:
            continue  # the program leaves its buffers
        tensorize(find_loop(module, "i"), "t")
        legal += 1
        if legal % 8 == 0:
            check(text, module, [arguments])
            continue
        wanted = [a.copy() for a in arguments]
        run_nest(function_of(parse_module(text)), wanted)
        run_nest(function_of(module), arguments)
        for expected, found in zip(wanted, arguments, strict=True):
            np.testing.assert_array_equal(expected, found, err_msg=text)
    assert legal > 20

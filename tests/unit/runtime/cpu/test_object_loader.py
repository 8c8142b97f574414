"""Objects loaded without LLVM: code, constants, variables, calls to and fro; and objects that are damaged."""

from __future__ import annotations

import ctypes
import random

import llvmlite.binding as llvm
import pytest
from nestor.runtime.cpu import object_loader
from nestor.runtime.cpu.object_loader import LoadError, load

pytestmark = pytest.mark.skipif(not object_loader.can_load(), reason="objects are loaded on x86-64 Linux")

TEXT = """
@table = internal constant [4 x double] [double 1.5, double 2.5, double 3.5, double 4.5]
@pointers = internal constant [2 x ptr] [ptr @twice, ptr @thrice]
@count = internal global i64 40
@zeros = internal global [600 x i64] zeroinitializer
@given = external global i32
declare double @far(double)
declare extern_weak void @nowhere()

define internal i64 @twice(i64 %x) noinline { %r = mul i64 %x, 2 ret i64 %r }
define internal i64 @thrice(i64 %x) noinline { %r = mul i64 %x, 3 ret i64 %r }
define double @constant(i64 %k) {
  %p = getelementptr double, ptr @table, i64 %k
  %v = load double, ptr %p
  ret double %v
}
define i64 @by_pointer(i64 %which, i64 %x) {
  %p = getelementptr ptr, ptr @pointers, i64 %which
  %f = load volatile ptr, ptr %p
  %r = call i64 %f(i64 %x)
  ret i64 %r
}
define i64 @next() {
  %old = load i64, ptr @count
  %new = add i64 %old, 1
  store i64 %new, ptr @count
  ret i64 %new
}
define i64 @zero(i64 %k) {
  %p = getelementptr i64, ptr @zeros, i64 %k
  %v = load i64, ptr %p
  store i64 7, ptr %p
  ret i64 %v
}
define double @calls(double %x) {
  %y = call double @far(double %x)
  %z = fadd double %y, 0x3FF8000000000000
  ret double %z
}
define i32 @reads() {
  %v = load i32, ptr @given
  ret i32 %v
}
define i1 @is_nowhere() {
  %r = icmp eq ptr @nowhere, null
  ret i1 %r
}
define i64 @choose(i64 %k) {
  switch i64 %k, label %other [i64 0, label %a i64 1, label %b i64 2, label %c i64 3, label %d i64 4, label %e]
a: ret i64 17
b: ret i64 4
c: ret i64 1001
d: ret i64 -3
e: ret i64 88
other: ret i64 0
}
"""

GIVEN = ctypes.c_int32(77)
FAR = ctypes.CFUNCTYPE(ctypes.c_double, ctypes.c_double)(lambda x: x * 10)
ADDRESSES = {"given": ctypes.addressof(GIVEN), "far": ctypes.cast(FAR, ctypes.c_void_p).value}


def compiled(model: str, level: int = 1) -> bytes:
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    machine = llvm.Target.from_default_triple().create_target_machine(
        opt=level, reloc="pic", codemodel=model, jit=True
    )
    module = llvm.parse_assembly(TEXT)
    module.triple = machine.triple
    return machine.emit_object(module)


@pytest.fixture(scope="module", params=["small", "medium", "large"])
def code(request):
    return load(compiled(request.param), ADDRESSES.__getitem__)


def function(code, name, result, *arguments):
    return ctypes.CFUNCTYPE(result, *arguments)(code.address(name))


I, D = ctypes.c_int64, ctypes.c_double


def test_constants_and_tables_of_functions(code):
    assert [function(code, "constant", D, I)(k) for k in range(4)] == [1.5, 2.5, 3.5, 4.5]
    assert [function(code, "by_pointer", I, I, I)(k, 7) for k in (0, 1)] == [14, 21]
    assert [function(code, "choose", I, I)(k) for k in range(-1, 6)] == [0, 17, 4, 1001, -3, 88, 0]


def test_variables_are_written_and_begin_with_zeros(code):
    following = function(code, "next", I)
    first = following()
    assert first >= 41 and following() == first + 1
    zero = function(code, "zero", I, I)
    assert [zero(599), zero(599)] in ([0, 7], [7, 7])


def test_what_is_elsewhere(code):
    assert function(code, "calls", D, D)(2.0) == 21.5
    assert function(code, "reads", ctypes.c_int32)() == 77
    assert function(code, "is_nowhere", ctypes.c_bool)()


def test_names(code):
    with pytest.raises(KeyError):
        code.address("absent")
    with pytest.raises(KeyError):
        code.address("twice")  # its own


def test_a_symbol_that_nobody_has():
    with pytest.raises(LoadError, match="'far' is not known"):
        load(compiled("small"), {"given": ADDRESSES["given"]}.__getitem__)


def test_code_cannot_be_written():
    code = load(compiled("small"), ADDRESSES.__getitem__)
    page = code.address("next") // 4096 * 4096
    with open("/proc/self/maps") as maps:
        rights = [line.split()[1] for line in maps if int(line.split("-")[0], 16) == page]
    assert rights == ["r-xp"]


def test_objects_that_are_damaged_are_refused_or_loaded_but_crash_nothing():
    whole = compiled("small")
    for data in (b"", b"ELF", whole[:100], whole[: len(whole) // 2], whole[:-1]):
        with pytest.raises(LoadError):
            load(data, ADDRESSES.__getitem__)
    other = bytearray(whole)
    other[18] = 0xB7  # an object for AArch64
    with pytest.raises(LoadError, match="not a relocatable"):
        load(bytes(other), ADDRESSES.__getitem__)
    rng = random.Random(1)
    refused = 0
    for _ in range(300):
        data = bytearray(whole)
        for _ in range(4):
            data[rng.randrange(64, len(data))] = rng.randrange(256)
        try:
            load(bytes(data), ADDRESSES.__getitem__)
        except LoadError:
            refused += 1
    assert refused > 0


def test_memory_goes_with_the_code():
    data = compiled("small")
    before = _mapped()
    for _ in range(200):
        load(data, ADDRESSES.__getitem__)
    assert _mapped() - before < 20


def _mapped() -> int:
    with open("/proc/self/maps") as maps:
        return len(maps.readlines())

"""Code of the user's in a program (`runtime/cpu/native_code.py`): what it is for a machine, what of it others see."""

import re
import subprocess

import pytest
from nestor.analysis.machine import cpu
from nestor.lowering.nest_common.custom_calls import declaration
from nestor.runtime.cpu.engine import compile_llvm_ir, compile_object
from nestor.runtime.cpu.native_code import CodeError, native_code, together
from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, MemRefType, StringAttr, f64

C = "static double k = 3;\ndouble times(double x) { return k * x; }\nvoid f(const double *x, double *y) { *y = times(*x); }"
LLVM = """
@k = constant double 2.0
define double @times(double %x) {
  %k = load double, ptr @k
  %y = fmul double %x, %k
  ret double %y
}
define void @f(ptr %x, ptr %y) {
  %a = load double, ptr %x
  %b = call double @times(double %a)
  store double %b, ptr %y
  ret void
}
"""


def declared(language, source):
    facts = {"language": language, "entry": "f", "source": source}
    arguments = {name: StringAttr(text) for name, text in facts.items()}
    arguments["kinds"] = ArrayAttr([StringAttr("array")])
    number = MemRefType(f64, [])
    return declaration("prog.f", DictionaryAttr(arguments), [number, number], [f64, f64], 1)


def kernel(*symbols):
    """A program that calls functions one after the other on two numbers: `run(slots, error)`."""
    names = [f'@"{one}"' for one in symbols]
    declares = "\n".join([f"declare i32 {one}(ptr)" for one in names])
    calls = "\n".join([f"  %r{k} = call i32 {one}(ptr %slots)" for k, one in enumerate(names)])
    return f"{declares}\ndefine i32 @run(ptr %slots, ptr %error) {{\n{calls}\n  ret i32 %r0\n}}\n"


@pytest.mark.parametrize(
    "texts", [[("c", C)], [("llvm", LLVM)], [("c", C), ("llvm", LLVM)], [("llvm", LLVM), ("c", C)]]
)
def test_a_program_has_the_code_and_others_see_no_name_of_it(texts, tmp_path):
    import ctypes

    functions = [declared(*one) for one in texts]
    native = together([native_code(one, None) for one in functions])
    assert sorted(native.symbols) == sorted(one.sym_name.data for one in functions)
    text = kernel(*[one.sym_name.data for one in functions])
    x, y = ctypes.c_double(5.0), ctypes.c_double(0.0)
    slots = (ctypes.c_void_p * 2)(ctypes.addressof(x), ctypes.addressof(y))
    module = compile_llvm_ir(text, native=native)
    assert module.entry("run")(slots, None) == 0
    assert y.value == (15.0 if texts[-1][0] == "c" else 10.0)
    (tmp_path / "whole.o").write_bytes(compile_object(text, native=native))
    seen = subprocess.run(
        ["nm", "-g", "--defined-only", "whole.o"], cwd=tmp_path, capture_output=True, text=True, check=True
    ).stdout
    assert [line.split()[-1] for line in seen.splitlines()] == ["run"]


def test_another_text_has_another_symbol():
    assert declared("c", C).sym_name.data != declared("c", C.replace("3", "4")).sym_name.data


def test_c_for_another_kind_of_processor():
    arm = cpu("x86-64")._replace(name="some-arm", triple="sparc64-unknown-linux-gnu")
    with pytest.raises(CodeError, match=r"for this machine only .*not for some-arm"):
        native_code(declared("c", C), arm)


@pytest.mark.parametrize(
    ("language", "source", "said"),
    [
        ("c", "__thread int n;\nvoid f(const double *x, double *y) { *y = n++; }", "not loaded"),
        ("c", "void g(void);\nvoid f(const double *x, double *y) { g(); }", "symbol 'g' is not known"),
        ("c", '  #  include "a.h"\nvoid f(const double *x, double *y) { }', "includes the file"),
        (
            "llvm",
            "declare void @g()\ndefine void @f(ptr %x, ptr %y) {\n  call void @g()\n  ret void\n}",
            "symbol 'g'",
        ),
    ],
)
def test_what_a_program_cannot_have(language, source, said):
    with pytest.raises(CodeError, match=re.escape(said)) as caught:
        native_code(declared(language, source), None)
    assert caught.value.hint

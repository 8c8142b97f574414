"""Code of the user's that a program calls (`nt.custom_op` with C text or LLVM IR): what stands between it and the kernel.

    func.func private @prog.scaled.5e1c92b0(memref<?xf64>, memref<f64>, memref<?xf64>) attributes {nestor.custom_call = ...}
  becomes, in the object code of the program,
    int32_t prog.scaled.5e1c92b0(const int64_t *slots)        // as of a call of Python: address, extents, strides of each
      { scaled((const double *)slots[0], slots[1], *(const double *)slots[3], (double *)slots[4], slots[5]); return 0; }

C is compiled by the machine's compiler, with the text before it in one unit, so that types are compared by the compiler;
LLVM IR by LLVM. Only that symbol is seen outside. docs/custom-ops.md says what the functions of the user look like.
"""

from __future__ import annotations

import functools
import os
import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from ...analysis.machine import Cpu
from ...dialects.custom_call_names import ELEMENTWISE, ENTRY, LANGUAGE, SOURCE
from . import object_loader
from .process_symbols import of_process

if TYPE_CHECKING:
    import llvmlite.binding as llvm
    from xdsl.dialects.func import FuncOp

    from ...lowering.nest_common.own_code import Operand


class CodeError(Exception):
    """Why code of the user's cannot be part of a program, and what to do."""

    def __init__(self, message: str, hint: str | None = None):
        super().__init__(message)
        self.hint = hint


class NativeCode(NamedTuple):
    """What is added to the code of a program: LLVM IR and object code, each with the symbol that it defines."""

    llvm: tuple[tuple[str, str], ...] = ()
    objects: tuple[tuple[str, bytes], ...] = ()

    @property
    def symbols(self) -> tuple[str, ...]:
        """The functions that the kernel calls."""
        return tuple([symbol for symbol, _ in (*self.llvm, *self.objects)])

    def linked(self, module: llvm.ModuleRef, optimized: Any) -> None:
        """Add what is LLVM IR to a module; `optimized` makes one of a text."""
        for symbol, text in self.llvm:
            try:
                module.link_in(optimized(text))
            except RuntimeError as error:
                raise CodeError(f"LLVM cannot link the code of {symbol}: {str(error).strip()}") from None
            module.get_function(symbol).linkage = "internal"

    def joined(self, code: bytes) -> bytes:
        """The object code of a program with that of C. Raises CodeError."""
        if not self.objects:
            return code
        from .toolchain import Toolchain, ToolError

        try:
            return Toolchain().merged([code, *[one for _, one in self.objects]], [s for s, _ in self.objects])
        except ToolError as error:
            raise CodeError(
                f"the object code of the program and of C cannot be linked: {error}", _HINT
            ) from None


NO_CODE = NativeCode()
_OWN_HEADER = re.compile(r'^[ \t]*#[ \t]*include[ \t]*("[^"\n]*")', re.MULTILINE)
_KNOWN = "it may call what it defines itself, the C library and libm; it has no variables of a thread"
_HINT = "install a C compiler and binutils (gcc), or give the operation llvm= or a decomposition"


def native_code(declared: FuncOp, machine: Cpu | None) -> NativeCode:
    """The code that a declared function is, for a machine. Raises CodeError."""
    call = _Call(declared)
    if call.language == "c" and (included := _OWN_HEADER.search(call.source)):
        raise CodeError(
            f"the text includes the file {included.group(1)}, which may change while the text does not",
            "put what it needs into the text; headers of the system are included in <>",
        )
    if call.language == "llvm":
        return NativeCode(llvm=((call.symbol, _with_llvm_entry(call)),))
    code = _compiled_c(
        _c_unit(call), call.symbol, _architecture(machine), _prototype(call), os.environ.get("CC")
    )
    if object_loader.can_load():
        try:
            object_loader.load(code, of_process)
        except object_loader.LoadError as error:
            raise CodeError(str(error), _KNOWN) from None
    return NativeCode(objects=((call.symbol, code),))


def together(parts: Sequence[NativeCode]) -> NativeCode:
    """The code of several functions."""
    return NativeCode(
        tuple([one for part in parts for one in part.llvm]),
        tuple([one for part in parts for one in part.objects]),
    )


class _Call:
    """A declared function, taken apart."""

    def __init__(self, declared: FuncOp):
        from ...lowering.nest_common.own_code import Declared
        from ..custom_calls import python_value

        said = Declared.of(declared)
        arguments = {key: python_value(value) for key, value in said.arguments.items()}
        self.symbol = declared.sym_name.data
        self.language: str = arguments[LANGUAGE]
        self.entry: str = arguments[ENTRY]
        self.source: str = arguments[SOURCE]
        self.elementwise: bool = arguments.get(ELEMENTWISE, False)
        self.operands, self.results = said.operands()


# ---- C ----------------------------------------------------------------------------------------------

_C_TYPES = {
    "bool": "_Bool",
    **{f"{sign}int{width}": f"{sign}int{width}_t" for sign in ("", "u") for width in (8, 16, 32, 64)},
    "float32": "float",
    "float64": "double",
    "complex64": "float _Complex",
    "complex128": "double _Complex",
}


def _c_unit(call: _Call) -> str:
    """The text of the user, and the function that the kernel calls."""
    names = [f"NT_T{k}" for k in range(len(call.operands))] + [f"NT_R{k}" for k in range(len(call.results))]
    pairs = list(zip(names, [*call.operands, *call.results], strict=True))
    defined = "".join([f"#define {name} {_C_TYPES[one.dtype]}\n" for name, one in pairs])
    arguments = (_c_elements if call.elementwise else _c_arguments)(call)
    called = f"{call.entry}({', '.join(arguments)})"
    kind = _C_TYPES[call.results[0].dtype] if call.elementwise else "void"
    body = f"  {called};\n"
    if call.elementwise:
        body = (
            f"  {kind} *restrict nestor_result = {_c_pointer(call.results[0], kind)};\n"
            f"  for (int64_t nestor_i = 0; nestor_i < {_count(call)}; nestor_i++) nestor_result[nestor_i] = {called};\n"
        )
    message = f"{call.entry} returns {kind}"
    return (
        f'#include <stdint.h>\n{defined}#line 1 "{call.entry}.c"\n{call.source}\n#line 1 "call of {call.entry}"\n'
        '#pragma GCC diagnostic error "-Wconversion"\n#pragma GCC diagnostic ignored "-Wsign-conversion"\n'
        f'int32_t nestor_entry(const int64_t *nestor_slots) __asm__("{call.symbol}");\n'
        f"int32_t nestor_entry(const int64_t *nestor_slots) {{\n{_c_locals(call)}"
        f"{_c_check(called, kind, message, call.elementwise)}{body}  return 0;\n}}\n"
    )


def _prototype(call: _Call) -> str:
    """What the function of the user is to look like."""
    found: list[str] = []
    for one in call.operands:
        kind = _C_TYPES[one.dtype]
        plain = one.is_number or call.elementwise
        found += [kind] if plain else [f"const {kind} *", *["int64_t"] * one.rank]
    for one in () if call.elementwise else call.results:
        found += [f"{_C_TYPES[one.dtype]} *", *["int64_t"] * one.rank]
    kind = _C_TYPES[call.results[0].dtype] if call.elementwise else "void"
    return f"{kind} {call.entry}({', '.join(found) or 'void'})"


def _c_check(called: str, kind: str, message: str, elementwise: bool) -> str:
    text = called.replace("[nestor_i]", "[0]") if elementwise else called
    return f'  _Static_assert(__builtin_types_compatible_p(__typeof__({text}), {kind}), "{message}");\n'


def _c_pointer(one: Operand, kind: str) -> str:
    return f"({kind} *)(intptr_t)nestor_slots[{one.slot}]"


def _c_locals(call: _Call) -> str:
    """The operands as variables."""
    lines = []
    for k, one in enumerate(call.operands):
        kind = f"const {_C_TYPES[one.dtype]}"
        pointer = _c_pointer(one, kind)
        lines.append(
            f"  {kind} nestor_x{k} = *{pointer};\n"
            if one.is_number
            else f"  {kind} *nestor_x{k} = {pointer};\n"
        )
    return "".join(lines)


def _c_arguments(call: _Call) -> list[str]:
    found = []
    for k, one in enumerate(call.operands):
        found += [f"nestor_x{k}"] if one.is_number else [f"nestor_x{k}", *_extents(one)]
    for one in call.results:
        found += [_c_pointer(one, _C_TYPES[one.dtype]), *_extents(one)]
    return found


def _c_elements(call: _Call) -> list[str]:
    return [
        f"nestor_x{k}" if one.is_number else f"nestor_x{k}[nestor_i]" for k, one in enumerate(call.operands)
    ]


def _extents(one: Operand) -> list[str]:
    return [f"nestor_slots[{one.slot + 1 + axis}]" for axis in range(one.rank)]


def _count(call: _Call) -> str:
    return " * ".join(_extents(call.results[0])) or "1"


_FLAGS = (
    "-std=gnu11",
    "-O3",
    "-fPIC",
    "-fvisibility=hidden",
    "-ffp-contract=off",
    "-fno-math-errno",
    "-fno-common",
    "-fno-asynchronous-unwind-tables",
    "-Werror=implicit-function-declaration",
    "-Werror=incompatible-pointer-types",
    "-Werror=discarded-qualifiers",
    "-Werror=int-conversion",
    "-Werror=strict-prototypes",
)


def _architecture(machine: Cpu | None) -> str:
    """The processor to compile for, as C compilers name it; "" for any. Raises CodeError."""
    import platform

    here = platform.machine()
    if machine is not None and not machine.triple.startswith(
        {"AMD64": "x86_64", "arm64": "aarch64"}.get(here, here)
    ):
        raise CodeError(f"C text is compiled for this machine only ({here}), not for {machine.name}", _HINT)
    if here not in ("x86_64", "AMD64"):
        return ""
    return "native" if machine is None else machine.llvm


@functools.lru_cache(maxsize=128)
def _compiled_c(unit: str, symbol: str, architecture: str, prototype: str, cc: str | None) -> bytes:
    """Object code of C text that has one symbol for others, by the compiler `cc`. Raises CodeError."""
    from .toolchain import Toolchain, ToolError

    flags = [*_FLAGS, *([f"-march={architecture}"] if architecture else [])]
    try:
        tools = Toolchain(cc)
    except ToolError as error:
        raise CodeError(str(error), _HINT) from None
    try:
        return tools.object_of(unit, flags, symbol)
    except ToolError as error:
        raise CodeError(str(error), f"these operands and results want: {prototype}") from None


# ---- LLVM IR ----------------------------------------------------------------------------------------

_LLVM_TYPES = {
    "bool": "i8",
    **{f"{sign}int{width}": f"i{width}" for sign in ("", "u") for width in (8, 16, 32, 64)},
    "float32": "float",
    "float64": "double",
}


def _with_llvm_entry(call: _Call) -> str:
    """The text of the user, checked, with the function that the kernel calls. Raises CodeError."""
    from .llvm_machine import binding, lock

    with lock:
        llvm = binding()
        _check_llvm(llvm, call)
        text = f"{call.source}\n{_llvm_entry(call)}"
        try:
            module = llvm.parse_assembly(text)
            module.verify()
        except RuntimeError as error:
            raise CodeError(f"LLVM does not take it: {str(error).strip()}") from None
        for one in (*module.functions, *module.global_variables):
            if not one.is_declaration and one.name != call.symbol:
                one.linkage = "internal"
        return str(module)


def _check_llvm(llvm: Any, call: _Call) -> None:
    """Raise where the text has no function of the right type."""
    try:
        module = llvm.parse_assembly(call.source)
        module.verify()
    except RuntimeError as error:
        raise CodeError(f"LLVM does not take it: {str(error).strip()}") from None
    known = [f.name for f in module.functions if not f.is_declaration]
    if call.entry not in known:
        raise CodeError(
            f"the text defines no function '{call.entry}'",
            f"it defines: {', '.join(known) or 'none'}; entry= names the function",
        )
    for one in module.functions:
        if one.is_declaration and not one.name.startswith("llvm."):
            try:
                of_process(one.name)
            except LookupError:
                raise CodeError(f"the symbol '{one.name}' is not known", _KNOWN) from None
    found = str(module.get_function(call.entry).global_value_type)
    wanted = f"{_llvm_result(call)} ({', '.join(_llvm_types(call))})"
    if found != wanted:
        raise CodeError(f"'{call.entry}' has the type {found}, and these operands and results want {wanted}")


def _llvm_result(call: _Call) -> str:
    return _LLVM_TYPES[call.results[0].dtype] if call.elementwise else "void"


def _llvm_types(call: _Call) -> list[str]:
    found: list[str] = []
    for one in (*call.operands, *(() if call.elementwise else call.results)):
        if one.is_number or call.elementwise:
            found.append(_LLVM_TYPES[one.dtype])
        else:
            found += ["ptr", *["i64"] * one.rank]
    return found


def _llvm_entry(call: _Call) -> str:
    lines: list[str] = []
    values = [_llvm_operand(lines, k, one) for k, one in enumerate((*call.operands, *call.results))]
    head = f'define i32 @"{call.symbol}"(ptr %slots) {{\nentry:\n'
    if not call.elementwise:
        arguments = []
        for one, value in zip((*call.operands, *call.results), values, strict=True):
            kind = _LLVM_TYPES[one.dtype] if one.is_number else "ptr"
            extents = [] if one.is_number else _llvm_extents(lines, one)
            arguments += [f"{kind} {value}", *[f"i64 {e}" for e in extents]]
        call_text = f"  call void @{call.entry}({', '.join(arguments)})\n"
        return f"{head}{''.join(lines)}{call_text}  ret i32 0\n}}\n"
    count = "1"
    for extent in _llvm_extents(lines, call.results[0]):
        lines.append(f"  %n.{extent[1:]} = mul i64 {count}, {extent}\n")
        count = f"%n.{extent[1:]}"
    body: list[str] = []
    arguments = []
    for k, (one, value) in enumerate(zip(call.operands, values, strict=False)):
        kind, element = _LLVM_TYPES[one.dtype], value
        if not one.is_number:
            body.append(
                f"  %p{k} = getelementptr {kind}, ptr {value}, i64 %i\n  %e{k} = load {kind}, ptr %p{k}\n"
            )
            element = f"%e{k}"
        arguments.append(f"{kind} {element}")
    kind = _llvm_result(call)
    return (
        f"{head}{''.join(lines)}  %some = icmp sgt i64 {count}, 0\n  br i1 %some, label %loop, label %done\nloop:\n"
        f"  %i = phi i64 [0, %entry], [%next, %loop]\n{''.join(body)}"
        f"  %y = call {kind} @{call.entry}({', '.join(arguments)})\n"
        f"  %at = getelementptr {kind}, ptr {values[-1]}, i64 %i\n  store {kind} %y, ptr %at\n"
        f"  %next = add i64 %i, 1\n  %more = icmp slt i64 %next, {count}\n  br i1 %more, label %loop, label %done\n"
        "done:\n  ret i32 0\n}\n"
    )


def _llvm_operand(lines: list[str], position: int, one: Operand) -> str:
    """A buffer's address, or the number in it."""
    name = f"%x{position}"
    lines.append(f"  {name}.at = getelementptr ptr, ptr %slots, i64 {one.slot}\n")
    lines.append(f"  {name}.p = load ptr, ptr {name}.at\n")
    if not one.is_number:
        return f"{name}.p"
    lines.append(f"  {name} = load {_LLVM_TYPES[one.dtype]}, ptr {name}.p\n")
    return name


def _llvm_extents(lines: list[str], one: Operand) -> list[str]:
    found = []
    for axis in range(one.rank):
        slot = one.slot + 1 + axis
        lines.append(
            f"  %s{slot}.at = getelementptr i64, ptr %slots, i64 {slot}\n  %s{slot} = load i64, ptr %s{slot}.at\n"
        )
        found.append(f"%s{slot}")
    return found

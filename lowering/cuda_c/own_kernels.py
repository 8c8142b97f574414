"""Kernels whose text is the user's (`nt.custom_op` with `cuda=`): what stands between one and its launch.

    __global__ void scaled(const double *x, int n, double by, double *y, int m) { ... }      // what the user writes
  becomes
    extern "C" __global__ void __launch_bounds__(256) scaled_5e1c92b0(
        const double *x, int n, const double *by, double *y, int m);
    namespace nt_scaled_5e1c92b0 {
    __device__ void scaled(const double *x, int n, double by, double *y, int m) { ... }
    }
    extern "C" __global__ void __launch_bounds__(256) scaled_5e1c92b0(
        const double *x, int n, const double *by, double *y, int m) {
      nt_scaled_5e1c92b0::scaled(x, n, *by, y, m);
    }

so that two texts may use the same names, and a number may be one that an earlier kernel computes. The types of parameters
are read here and compared with those of the call: a compiler would convert without a word. Lines of the user keep their
columns. docs/custom-ops.md says what such a text may hold.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from math import prod
from typing import Any, NamedTuple

from ...dialects.custom_call_names import BLOCK, CUDA, ELEMENTWISE, ENTRY, GRID, SOURCE
from ..abi.kernel_signature import KernelParameter, KernelSignature, OwnText
from ..nest_common.own_code import Declared, Operand


class TextError(Exception):
    """Why a text cannot be a kernel, and what to do."""

    def __init__(self, message: str, hint: str | None = None):
        super().__init__(message)
        self.hint = hint


_TYPES = {
    "bool": "bool",
    "int8": "signed char",
    "int16": "short",
    "int32": "int",
    "int64": "long long",
    "uint8": "unsigned char",
    "uint16": "unsigned short",
    "uint32": "unsigned int",
    "uint64": "unsigned long long",
    "float32": "float",
    "float64": "double",
    "complex64": "float2",
    "complex128": "double2",
}
"""What elements are in a kernel, by the name of their dtype."""

_FIXED = {f"{sign}int{width}_t": f"{sign}int{width}" for sign in ("", "u") for width in (8, 16, 32, 64)}
_SPELLED = {
    **{written: name for name, written in _TYPES.items()},
    **_FIXED,
    "long long int": "int64",
    "signed": "int32",
    "signed int": "int32",
    "short int": "int16",
    "unsigned": "uint32",
    "unsigned short int": "uint16",
    "unsigned long long int": "uint64",
}
"""What the user may write for them."""

EXTENTS = {"int32": "int", "int64": "long long"}
"""Types that an extent may have."""

_HIDDEN = re.compile(r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'', re.DOTALL)
_BOUNDS = re.compile(r"__launch_bounds__\s*\([^()]*\)")
_LINKAGE = re.compile(r'extern\s*"C"(?=\s*(?:__\w+__\s*(?:\([^()]*\)\s*)?)*__global__)')
_MACRO = re.compile(r"^[ \t]*#[ \t]*define[ \t]+(\w+)", re.MULTILINE)
_REFUSED = (
    (
        re.compile(r"^[ \t]*#[ \t]*include\b", re.MULTILINE),
        "the text includes a header",
        "put what it needs into the text; functions of CUDA and int64_t and its like need no header",
    ),
    (
        re.compile(r"\bextern\s+__shared__\b"),
        "the text has shared memory of a size that the launch gives",
        "give the array a size: __shared__ float part[256];",
    ),
    (
        re.compile(r"<<<"),
        "the text launches a kernel",
        "make operations of both kernels, and call one after the other in Python",
    ),
)


class _Parameter(NamedTuple):
    """A parameter as the user writes it: its type without `const`, what else it is, its name, and where it stands."""

    type: str
    is_pointer: bool
    is_const: bool
    name: str
    at: int


@dataclass
class OwnKernel:
    """A kernel of the user's, for one call. Raises TextError where the text is not one for its operands."""

    declared: Declared
    parameters: list[_Parameter] = field(init=False, default_factory=list)

    def __post_init__(self):
        data = self.declared.arguments
        cuda = data[CUDA].data
        self.entry: str = cuda[ENTRY].data
        self.source: str = cuda[SOURCE].data
        self.grid: list[str] = [one.data for one in cuda[GRID].data]
        self.block: list[int] = [one.value.data for one in cuda[BLOCK].data]
        self.is_elementwise = ELEMENTWISE in data
        self.operands, self.results = self.declared.operands()
        self.symbol = f"{self.entry}_{self.declared.symbol.rpartition('.')[2]}"
        self._visible = _HIDDEN.sub(lambda found: re.sub(r"[^\n]", " ", found[0]), self.source)
        self._check()

    # ---- what the text has to be ----------------------------------------------------------------------

    def _check(self) -> None:
        for pattern, what, hint in _REFUSED:
            if found := pattern.search(self._visible):
                raise self._wrong(found.end() - len(found[0].lstrip()), what, hint)
        if (at := _unpaired(self._visible)) is not None:
            raise self._wrong(at, f"'{self._visible[at]}' has no partner")
        start, specifiers, inside = self._definition()
        self.parameters = list(self._read(*inside))
        self._check_specifiers(start, specifiers)
        wanted = list(self._wanted())
        if len(self.parameters) != len(wanted):
            what = f"'{self.entry}' has {len(self.parameters)} parameters, and these operands and results want {len(wanted)}"
            raise self._wrong(start, what, self._prototype())
        for given, (dtype, form) in zip(self.parameters, wanted, strict=True):
            self._check_parameter(given, dtype, form)

    def _definition(self) -> tuple[int, str, tuple[int, int]]:
        """Where the function is named, what stands before its name, and what is between its parentheses."""
        for found in re.finditer(rf"\b{self.entry}\s*\(", self._visible):
            end = _closed(self._visible, found.end())
            if end is None or not self._visible[end + 1 :].lstrip().startswith("{"):
                continue
            before = self._visible[: found.start()]
            begins = max(before.rfind(mark) for mark in ";{}")
            lines = before[begins + 1 :].split("\n")
            while any(line.lstrip().startswith("#") for line in lines):
                lines.pop(0)
            return found.start(), "\n".join(lines), (found.end(), end)
        kernels = re.findall(r"__global__[^;{}()]*?(?:\([^()]*\)[^;{}()]*?)?(\w+)\s*\(", self._visible)
        raise TextError(
            f"the text defines no function '{self.entry}'",
            f"its kernels: {', '.join(kernels) or 'none'}; entry= names the function",
        )

    def _check_specifiers(self, start: int, text: str) -> None:
        words = re.findall(r"\w+", _BOUNDS.sub("", text))
        if "template" in words:
            raise self._wrong(
                start,
                f"'{self.entry}' is a template",
                "write NT_T0, NT_R0, ... for the types of operands and results",
            )
        kind = "__device__" if self.is_elementwise else "__global__"
        rest = [
            w for w in words if w not in ("extern", "static", "inline", "__forceinline__", "__host__", kind)
        ]
        returned = self.results[0].dtype if self.is_elementwise else None
        fits = rest == ["void"] if returned is None else self._dtype(" ".join(rest)) == returned
        if kind not in words or not fits:
            what = f"'{self.entry}' is not a {'device function of an element' if self.is_elementwise else 'kernel'}"
            raise self._wrong(start, what, self._prototype())

    def _read(self, start: int, end: int) -> Iterator[_Parameter]:
        """The parameters between two places of the text."""
        at = start
        inside = self._visible[start:end]
        for piece in inside.split(",") if inside.strip() not in ("", "void") else ():
            words = re.findall(r"\w+|[*&]|\S", piece)
            kept = [w for w in words if w not in ("const", "__restrict__", "__restrict", "restrict")]
            named = kept[-1] if len(kept) > 1 and _is_name(kept[-1]) and not self._is_type(kept) else ""
            kind = kept[:-1] if named else kept
            yield _Parameter(
                " ".join(w for w in kind if w != "*"),
                kind.count("*") == 1,
                "const" in words,
                named,
                at + len(piece) - len(piece.lstrip()),
            )
            at += len(piece) + 1

    def _is_type(self, words: Sequence[str]) -> bool:
        return self._dtype(" ".join(words)) is not None

    def _wanted(self) -> Iterator[tuple[str, str]]:
        """The dtype of each parameter, and what it is: "read", "written", "extent" or "number"."""
        for one in self.operands:
            plain = one.is_number or self.is_elementwise
            yield one.dtype, "number" if plain else "read"
            yield from [] if plain else [("int64", "extent")] * one.rank
        for one in () if self.is_elementwise else self.results:
            yield one.dtype, "written"
            yield from [("int64", "extent")] * one.rank

    def _check_parameter(self, given: _Parameter, dtype: str, form: str) -> None:
        found = self._dtype(given.type)
        is_pointer = form in ("read", "written")
        known = EXTENTS if form == "extent" else (dtype,)
        fits = given.is_const == (form == "read") or not is_pointer
        if found in known and given.is_pointer == is_pointer and fits:
            return
        wanted = {
            "read": f"const {_TYPES[dtype]} *",
            "written": f"{_TYPES[dtype]} *",
            "number": _TYPES[dtype],
            "extent": "int or int64_t",
        }[form]
        what = f"a parameter of '{self.entry}' is to be {wanted}"
        if found is None:
            what = f"the type '{given.type}' of a parameter of '{self.entry}' is not known, which is to be {wanted}"
        raise self._wrong(given.at, what, self._prototype())

    def _dtype(self, written: str) -> str | None:
        """What a type of the text is."""
        if found := re.fullmatch(r"NT_([TR])(\d+)", written):
            among = self.operands if found[1] == "T" else self.results
            return among[int(found[2])].dtype if int(found[2]) < len(among) else None
        return _SPELLED.get(written)

    def _prototype(self) -> str:
        """What the function of the user is to look like."""
        forms = {"read": "const {} *", "written": "{} *", "number": "{}", "extent": "int64_t"}
        parameters = ", ".join([forms[form].format(_TYPES[dtype]) for dtype, form in self._wanted()])
        head = f"__device__ {_TYPES[self.results[0].dtype]}" if self.is_elementwise else "__global__ void"
        return f"these operands and results want: {head} {self.entry}({parameters})"

    def _wrong(self, at: int, what: str, hint: str | None = None) -> TextError:
        line = self.source.count("\n", 0, at)
        return TextError(
            f"{what}\n{shown(self.source, line + 1, at - self.source.rfind(chr(10), 0, at))}", hint
        )

    # ---- what it becomes ------------------------------------------------------------------------------

    def text(self, where: tuple[str, int] | None = None) -> tuple[str, OwnText]:
        """What defines the kernel, and which lines of that are the user's. `where` is the Python line of the call."""
        used = {*re.findall(r"\w+", self._visible)}
        both = [
            *[(f"NT_T{k}", one) for k, one in enumerate(self.operands)],
            *[(f"NT_R{k}", one) for k, one in enumerate(self.results)],
        ]
        names = [(name, one) for name, one in both if name in used]
        defined = [f"#define {name} {_TYPES[one.dtype]}" for name, one in names]
        fixed = [f"typedef {_TYPES[dtype]} {name};" for name, dtype in _FIXED.items() if name in used]
        head, call = self._head(), self._body()
        before = [*f"{head};".split("\n"), *defined, f"namespace nt_{self.symbol} {{", *fixed]
        macros = dict.fromkeys([*_MACRO.findall(self._visible), *[name for name, _ in names]])
        after = ["}", f"{head} {{", *call, "}", *[f"#undef {name}" for name in macros]]
        own = self._as_device().split("\n")
        user = OwnText(self.entry, self.source, len(before) + 1, where)
        return "\n".join([*before, *own, *after]), user

    def _as_device(self) -> str:
        """The text with kernels as functions of the device, each character where it was."""
        blank = [*self.source]
        for pattern in (_BOUNDS, _LINKAGE):
            for found in pattern.finditer(self.source):
                if self._visible[found.start()] != " ":
                    blank[found.start() : found.end()] = re.sub(r"[^\n]", " ", found[0])
        for found in re.finditer(r"\b__global__\b", self._visible):
            blank[found.start() : found.end()] = "__device__"
        return "".join(blank)

    def _head(self) -> str:
        joined = ",\n    ".join(
            [f"{kind}{'' if kind[-1] == '*' else ' '}{name}" for kind, name in self._passed()]
        )
        return (
            f'extern "C" __global__ void __launch_bounds__({prod(self.block)}) {self.symbol}(\n    {joined})'
        )

    def _passed(self) -> list[tuple[str, str]]:
        """The parameters of what is launched: a number is passed by its place."""
        if self.is_elementwise:
            both = enumerate([*self.operands, *self.results])
            kinds = [f"{'' if k == len(self.operands) else 'const '}{_TYPES[o.dtype]} *" for k, o in both]
            return [*[(kind, f"x{k}") for k, kind in enumerate(kinds)], ("long long", "count")]
        found = []
        for k, (given, (dtype, form)) in enumerate(zip(self.parameters, self._wanted(), strict=True)):
            kind = {
                "read": f"const {_TYPES[dtype]} *__restrict__",
                "number": f"const {_TYPES[dtype]} *__restrict__",
                "written": f"{_TYPES[dtype]} *__restrict__",
                "extent": EXTENTS.get(self._dtype(given.type) or "", ""),
            }[form]
            found.append((kind, f"x{k}_{given.name}" if given.name else f"x{k}"))
        return found

    def _body(self) -> list[str]:
        called = f"nt_{self.symbol}::{self.entry}"
        names = [name for _, name in self._passed()]
        separator = ",\n      "
        if not self.is_elementwise:
            forms = [form for _, form in self._wanted()]
            given = [f"*{n}" if form == "number" else n for n, form in zip(names, forms, strict=True)]
            return [f"  {called}(\n      {separator.join(given)});"]
        given = [
            f"*{n}" if one.is_number else f"{n}[i]" for n, one in zip(names, self.operands, strict=False)
        ]
        return [
            "  const long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;",
            f"  if (i >= count) return;\n  {names[-2]}[i] = {called}(\n      {separator.join(given)});",
        ]

    def signature(self) -> KernelSignature:
        """The parameters of the kernel, in terms of the operands of its launch: the buffers, then the number of elements."""
        if self.is_elementwise:
            both = [*self.operands, *self.results]
            pointers = [
                KernelParameter(f"x{k}", _TYPES[one.dtype], "pointer", k) for k, one in enumerate(both)
            ]
            count = KernelParameter("count", "long long", "scalar", len(both))
            return KernelSignature(self.symbol, (*pointers, count), is_own=True)
        places = list(_places([*self.operands, *self.results]))
        found = []
        for (kind, name), (operand, axis) in zip(self._passed(), places, strict=True):
            form = "pointer" if axis < 0 else "extent"
            found.append(KernelParameter(name, kind, form, operand, axis))
        return KernelSignature(self.symbol, tuple(found), is_own=True)


def own_kernel(declared: Any) -> OwnKernel:
    """The kernel that an attribute OWN_KERNEL says. Raises TextError."""
    return OwnKernel(Declared.from_attribute(declared))


def shown(source: str, line: int, column: int) -> str:
    """A line of a text, and a caret under a column of it (both count from 1; a column of 0 is not known)."""
    lines = source.split("\n")
    text = lines[line - 1] if 0 < line <= len(lines) else ""
    caret = "".join("\t" if c == "\t" else " " for c in text[: column - 1]) + "^" if column else ""
    head = f"  line {line}: "
    return f"{head}{text}" + (f"\n{' ' * len(head)}{caret}" if caret else "")


def _places(buffers: Sequence[Operand]) -> Iterator[tuple[int, int]]:
    """For each parameter the buffer it is of, and the axis; -1 for the buffer itself."""
    for k, one in enumerate(buffers):
        yield k, -1
        yield from [] if one.is_number else [(k, axis) for axis in range(one.rank)]


def _closed(text: str, start: int) -> int | None:
    """Where the parenthesis closes that has been opened before `start`."""
    depth = 1
    for at in range(start, len(text)):
        depth += {"(": 1, ")": -1}.get(text[at], 0)
        if not depth:
            return at
    return None


def _unpaired(text: str) -> int | None:
    """Where a bracket stands without its partner."""
    open_at: list[int] = []
    for found in re.finditer(r"[(){}]", text):
        if found[0] in "({":
            open_at.append(found.start())
        elif not open_at or text[open_at.pop()] + found[0] not in ("()", "{}"):
            return found.start()
    return open_at[-1] if open_at else None


def _is_name(word: str) -> bool:
    return word.isidentifier()

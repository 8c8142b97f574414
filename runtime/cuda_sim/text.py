"""What the text of kernels says about them: parameters, shared arrays, the Python line of a line."""

from __future__ import annotations

import linecache
import math
import os
import re
from collections.abc import Sequence
from dataclasses import dataclass, field

_HEAD = re.compile(
    r"__global__\s+void\s+(?:__launch_bounds__\(\s*(?P<bound>\d+)?[^)]*\)\s*)?(?P<name>\w+)\s*\((?P<parameters>[^)]*)\)"
)
_SHARED = re.compile(
    r"(?<!extern )__shared__\s+(?:__align__\(\s*\d+\s*\)\s*)?([\w ]+?)\s+(\w+)((?:\s*\[[^\]]*\])*)\s*;"
)
_COMMENT = re.compile(r"^(\s*)// (\S+\.pyi?):(\d+)(?:: ?(.*))?$")
_SIZES = {
    "bool": 1, "char": 1, "signed char": 1, "unsigned char": 1, "short": 2, "unsigned short": 2, "int": 4,
    "unsigned": 4, "unsigned int": 4, "long long": 8, "unsigned long long": 8, "float": 4, "double": 8,
}  # fmt: skip
_VECTOR_ELEMENTS = {
    "char": 1, "uchar": 1, "short": 2, "ushort": 2, "int": 4, "uint": 4, "float": 4, "longlong": 8, "ulonglong": 8,
    "double": 8,
}  # fmt: skip


@dataclass(frozen=True)
class Parameter:
    """One parameter of a kernel."""

    name: str
    is_const_pointer: bool


@dataclass(frozen=True)
class SharedArray:
    """A `__shared__` array; `extents` is empty for a scalar."""

    kernel: str
    name: str
    element_bytes: int
    extents: tuple[int, ...]


@dataclass(frozen=True)
class PythonLine:
    """Where a statement of a kernel comes from, as the comments of the text say."""

    file: str
    line: int
    text: str

    def __str__(self) -> str:
        return f"{self.file}:{self.line}: {self.text}".rstrip(": ")


@dataclass
class KernelText:
    """The text of a module of kernels."""

    source: str
    places: Sequence[tuple[str, int] | None] = ()
    """The Python file and line of each line, where the emitter has told them (`CudaModule.places`)."""
    lines: list[str] = field(init=False)
    parameters: dict[str, list[Parameter]] = field(init=False, default_factory=dict)
    shared: dict[tuple[str, str], SharedArray] = field(init=False, default_factory=dict)
    most_threads: dict[str, int] = field(init=False, default_factory=dict)
    """The threads of a block that a kernel was compiled for (`__launch_bounds__`)."""

    def __post_init__(self):
        self.lines = self.source.split("\n")
        heads = list(_HEAD.finditer(self.source))
        self._starts = [(self.source.count("\n", 0, head.start()) + 1, head["name"]) for head in heads]
        for head in heads:
            pieces = [piece.strip() for piece in head["parameters"].split(",") if piece.strip()]
            self.parameters[head["name"]] = [_parameter(piece) for piece in pieces]
            if head["bound"] is not None:
                self.most_threads[head["name"]] = int(head["bound"])
        for found in _SHARED.finditer(self.source):
            kernel = self.kernel_at(self.source.count("\n", 0, found.start()) + 1)
            extents = tuple(int(e) for e in re.findall(r"\[\s*(\d+)\s*\]", found[3]))
            self.shared[kernel, found[2]] = SharedArray(kernel, found[2], size_of(found[1]), extents)

    def kernel_at(self, line: int) -> str:
        """The kernel that a line is in (the last one that starts above it)."""
        names = [name for start, name in self._starts if start <= line]
        return names[-1] if names else ""

    def line_of(self, kernel: str) -> int:
        """The line at which a kernel starts, 0 for one that is not here."""
        return next((line for line, name in self._starts if name == kernel), 0)

    def bytes_shared(self, kernel: str) -> int:
        """The bytes of the `__shared__` arrays that a kernel declares."""
        own = [array for array in self.shared.values() if array.kernel == kernel]
        return sum(array.element_bytes * math.prod(array.extents) for array in own)

    def at(self, line: int) -> str:
        """A line, without its indentation."""
        return self.lines[line - 1].strip() if 0 < line <= len(self.lines) else ""

    def python_line(self, line: int) -> PythonLine | None:
        """The Python line of a line: as the emitter says, or else that of the nearest comment in a block around it."""
        if not 0 < line <= len(self.lines):
            return None
        if line <= len(self.places) and (place := self.places[line - 1]) is not None:
            file, number = place
            return PythonLine(os.path.basename(file), number, linecache.getline(file, number).strip())
        indent = len(self.lines[line - 1])
        first = max((start for start, _ in self._starts if start <= line), default=1)
        for k in range(line, first - 1, -1):
            text = self.lines[k - 1]
            indent = min(indent, len(text) - len(text.lstrip())) if text.strip() else indent
            found = _COMMENT.match(text)
            if found and len(found[1]) == indent:
                return PythonLine(found[2], int(found[3]), found[4] or "")
        return None


def size_of(c_type: str) -> int:
    """Bytes of an element of a C type, vectors included; 1 for a type that is not known."""
    name = c_type.removeprefix("const ").strip()
    if name in _SIZES:
        return _SIZES[name]
    element = _VECTOR_ELEMENTS.get(name[:-1])
    return element * int(name[-1]) if element and name[-1] in "1234" else 1


def _parameter(text: str) -> Parameter:
    return Parameter(re.findall(r"\w+", text)[-1], "*" in text and text.startswith("const "))

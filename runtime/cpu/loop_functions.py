"""Which functions of a module LLVM is to vectorize: those with scalar loops, apart from those with vectors.

    define internal void @f.parallel0.body(...) #1 { ... vectors ... }
    define internal void @f.parallel1.body(...) #2 { ... a scalar loop ... }       // #2 = { "nestor-loops"="scalar" }
  are two texts, each with a declaration of what the other one defines:
    define void @f.parallel0.body(...) #1 { ... }                  declare void @f.parallel0.body(...)
    declare void @f.parallel1.body(...)                            define void @f.parallel1.body(...) #2 { ... }

LLVM's whole pipeline takes several times as long as what vectors need. It works on modules, so that its share is one, and
the two are linked afterwards.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

SCALAR = '"nestor-loops"="scalar"'
"""The attribute of functions with scalar loops (`lowering/to_llvm/types.py`)."""

WORTH_PARTING = 200_000
"""Minimum number of characters of the functions without scalar loops: what LLVM would take half a second for."""

_FUNCTION = re.compile(r"^define [^\n]*\{\n.*?^\}\n", re.MULTILINE | re.DOTALL)
_HEAD = re.compile(r"define (internal )?(.*?)(@[\w.$-]+|@\"[^\"]*\")(\(.*\))([^()]*)\{$")
_GROUP = re.compile(r"^attributes (#\d+) = \{(.*)\}", re.MULTILINE)
_VARIABLE = re.compile(r"^@\S+ = (?!.*\bconstant\b)(?!external)", re.MULTILINE)


@dataclass(frozen=True)
class Parted:
    """The two texts of a module, and the functions that are internal to it."""

    vectors: str
    loops: str
    internal: tuple[str, ...]


def parted(text: str) -> Parted | None:
    """The functions of a text with scalar loops apart from the others; None where that is of no use, or not possible."""
    scalar = {name for name, said in _GROUP.findall(text) if SCALAR in said}
    if not scalar:
        return None
    functions = _FUNCTION.findall(text)
    loops, vectors, internal, declared = [], [], [], ([], [])
    for function in functions:
        first, _, rest = function.partition("\n")
        head = _HEAD.match(first)
        if head is None:
            return None
        inside, kind, name, parameters, attributes = head.groups()
        if inside:
            internal.append(name[1:].strip('"'))
        is_loop = bool(scalar.intersection(attributes.split()))
        own, other = (loops, 1) if is_loop else (vectors, 0)
        own.append(f"define {kind}{name}{parameters}{attributes}{{\n{rest}")
        declared[other].append(f"declare {kind}{name}{parameters}\n")
    outside = _FUNCTION.sub("", text)
    if sum(map(len, vectors)) < WORTH_PARTING or _VARIABLE.search(outside):
        return None
    return Parted(
        "".join([*vectors, *declared[1], outside]), "".join([*loops, *declared[0], outside]), tuple(internal)
    )

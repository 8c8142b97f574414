"""Parsing textual IR so that every operation knows its place in the text, as `mlir-opt` does.

xDSL's parser leaves `loc(unknown)` on operations without a written location; here they get
`loc("file":line:column)` of the operation's name. All errors come out as one kind of exception, with a place.

    >>> from nestor.dialects.parse import parse_module
    >>> module = parse_module("func.func private @f()", "a.mlir")
    >>> print(next(iter(module.ops)).location)
    loc("a.mlir":1:1)
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from difflib import get_close_matches
from typing import TYPE_CHECKING, NoReturn

from xdsl.dialects.builtin import FileLineColLoc, IntAttr, LocationAttr, ModuleOp, StringAttr
from xdsl.ir import UNKNOWN_LOC_SENTINEL as _  # type: ignore[attr-defined]  # noqa: F401

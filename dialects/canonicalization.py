"""Where xDSL's `canonicalize` gets the rules of a dialect of ours: `transforms/registry.py` says, and a trait asks.

Rules rewrite, so they are transforms; but xDSL asks the operations for them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from xdsl.pattern_rewriter import RewritePattern

_PATTERNS: dict[str, Callable[[], tuple[RewritePattern, ...]]] = {}


def register_patterns(dialect: str, load: Callable[[], tuple[RewritePattern, ...]]) -> None:
    """Let `load` give the rules of a dialect, the first time that they are asked for."""
    _PATTERNS[dialect] = load


def patterns_of(dialect: str) -> tuple[RewritePattern, ...]:
    """The rules of a dialect. Where nobody registered any, `canonicalize` would silently do nothing: an error."""
    load = _PATTERNS.get(dialect)
    if load is None:
        raise RuntimeError(
            f"cannot canonicalize operations of {dialect}: their rules are not loaded; "
            "import nestor.transforms.registry before running the pass"
        )
    return load()

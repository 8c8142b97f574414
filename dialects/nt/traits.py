"""The trait by which xDSL's `canonicalize` finds the rules of `nt`."""

from __future__ import annotations

from xdsl.pattern_rewriter import RewritePattern
from xdsl.traits import HasCanonicalizationPatternsTrait


class Canonicalized(HasCanonicalizationPatternsTrait):
    """The rules are in `canonicalize.py`; loaded on first use, for they name the operations."""

    @classmethod
    def get_canonicalization_patterns(cls) -> tuple[RewritePattern, ...]:
        from .canonicalize import PATTERNS

        return PATTERNS

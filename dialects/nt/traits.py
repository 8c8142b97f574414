"""The trait by which xDSL's `canonicalize` finds the rules of `nt`."""

from __future__ import annotations

from xdsl.pattern_rewriter import RewritePattern
from xdsl.traits import HasCanonicalizationPatternsTrait

from ..canonicalization import patterns_of


class Canonicalized(HasCanonicalizationPatternsTrait):
    """The rules are in `transforms/tensor/canonicalize.py`."""

    @classmethod
    def get_canonicalization_patterns(cls) -> tuple[RewritePattern, ...]:
        return patterns_of("nt")

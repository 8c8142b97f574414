"""Checks of what users define: `nt.testing.check_op`, `nt.testing.check_reduction`."""

from .check_op import check_op as check_op
from .check_reduction import check_reduction as check_reduction

__all__ = ["check_op", "check_reduction"]

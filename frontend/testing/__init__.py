"""Checks of what users define: `nt.testing.check_op`."""

from .check_op import check_op as check_op

__all__ = ["check_op"]

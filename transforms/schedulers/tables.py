"""The strategies of the automatic schedules by target, in the order in which they are tried."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from .strategies import Strategy


class Table(NamedTuple):
    """Rows that are tried one after the other."""

    of: str
    """What they are tried for."""
    each: bool
    """Whether all that apply are done; else the first."""
    rows: Sequence[Strategy]


def tables_of_cpu() -> list[Table]:
    from .cpu import dispatch, schedule_cpu, whole_functions

    return [
        Table("a function with sums or temporary arrays", True, whole_functions.WHOLE),
        Table("a nest of sums, in 'sums over several loops'", False, whole_functions.SUMS),
        Table("a nest of products, in 'products'", False, dispatch.PRODUCTS),
        Table("each nest that is left", False, schedule_cpu.PLAIN),
        Table("another nest, with its loops as they are written", False, dispatch.AS_WRITTEN),
        Table("another nest, with its loops in the order of memory", False, dispatch.NESTS),
        Table("a function, at the end", True, schedule_cpu.SWEEPS),
    ]


def tables_of_cuda() -> list[Table]:
    from .cuda import schedule_cuda, whole_functions

    return [
        Table("a function", True, whole_functions.WHOLE),
        Table("a nest, in 'sums'", False, whole_functions.SUMS),
        Table("a nest that is left, whose outermost loop is independent", False, schedule_cuda.INDEPENDENT),
        Table("another nest", False, schedule_cuda.DEPENDENT),
        Table("a band of independent loops", False, schedule_cuda.BANDS),
    ]


TABLES = {"cpu": tables_of_cpu, "cuda": tables_of_cuda}
"""What gives the tables of a target."""

"""`nt.strategies`: what the automatic schedules can do to a program, in order."""

from __future__ import annotations

from typing import NamedTuple

from ....dialects.tracebacks import boundary
from ...interface.errors import UnsupportedError


class StrategyRow(NamedTuple):
    """A strategy of an automatic schedule."""

    name: str
    takes: str
    """What it is for."""
    tried_for: str
    """Which table it is in: what its rows are tried for, in their order."""
    each: bool
    """Whether every row of the table that applies is done; else the first."""


class Strategies(list[StrategyRow]):
    """All rows of a target; printed as text."""

    def __str__(self) -> str:
        lines: list[str] = []
        table = None
        for row in self:
            if row.tried_for != table:
                table = row.tried_for
                lines.append(f"{table} ({'each that applies' if row.each else 'the first that applies'}):")
            lines.append(f"  {row.name}: for {row.takes}")
        return "\n".join(lines)


@boundary
def strategies(target: str = "cpu") -> Strategies:
    """The strategies of the automatic schedule of a target ("cpu", or "cuda"), in the order in which they are tried.

        print(nt.strategies("cuda"))
        [row.name for row in nt.strategies() if row.tried_for.startswith("each nest")]        # ["plain loop"]

    `f.explain(..., strategies=True)` says which of them a program met, which were done, and why the others were not.
    Raises UnsupportedError for another target.
    """
    from ....transforms.schedulers.tables import TABLES

    if target not in TABLES:
        raise UnsupportedError(
            f"no automatic schedule is made for the target {target!r}", hint=f"targets: {', '.join(TABLES)}"
        )
    return Strategies(
        StrategyRow(row.name, row.takes, table.of, table.each)
        for table in TABLES[target]()
        for row in table.rows
    )

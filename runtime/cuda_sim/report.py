"""What the simulator measured of a program: plain data, a table to read, and JSON.

    kernel scale: 1 launch of 4 blocks x 256 threads
      line  access   bytes  requests  lanes  sectors  ideal  ways
         5  load x       4        32   32.0     4.00   4.00     -  const float x_i = x[i];  # prog.py:3
    ...

A *request* is one access instruction executed by one warp, `lanes` of its 32 threads taking part on average.
It costs *sectors* (32 bytes of global memory each); `ideal` is what the same bytes would need if they lay side
by side. In shared memory it costs passes over the banks: `ways` is how many for each that is needed, so 1 is
free of conflicts. Accesses are counted as the text makes them; what a GPU serves from caches, merges between warps or
serialises (atomics on one address) is not modelled.

Of a whole program, *requested* is what all requests bring through L1 (their sectors), *moved* what a launch
touches once (its distinct sectors, as if nothing were fetched twice), and *compulsory* the bytes that any
implementation reads of its arguments and writes to its results.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal

SECTOR_BYTES = 32
LANES = 32


@dataclass(frozen=True)
class LineProfile:
    """What one line of a kernel does to one array."""

    kernel: str
    line: int
    """In the text of the kernels, from 1."""
    text: str
    place: str
    """The Python line it computes, as `file.py:3`; empty where the text does not say."""
    array: str
    space: Literal["global", "shared"]
    kind: Literal["load", "store", "atomic"]
    size: int
    """Bytes that a lane accesses at once."""
    requests: int
    lanes: int
    """Active lanes of all requests."""
    cost: int
    """Of all requests: sectors in global memory, passes over the banks in shared memory."""
    ideal: int
    """What the same bytes cost at best."""

    @property
    def lanes_per_request(self) -> float:
        """Active lanes of a request on average, of 32."""
        return self.lanes / self.requests

    @property
    def cost_per_request(self) -> float:
        """Sectors (global memory) or passes (shared memory) a request."""
        return self.cost / self.requests

    @property
    def ideal_per_request(self) -> float:
        """The same at best."""
        return self.ideal / self.requests

    @property
    def ways(self) -> float:
        """Passes over the banks for each that is needed: 1 is free of conflicts."""
        return self.cost / self.ideal


@dataclass(frozen=True)
class KernelProfile:
    """All launches of a kernel."""

    name: str
    grid: tuple[int, int, int]
    """Of the first launch."""
    block: tuple[int, int, int]
    launches: int
    lines: tuple[LineProfile, ...]

    @property
    def lane_efficiency(self) -> float:
        """Active lanes of its requests, from 0 to 1."""
        requests = sum(line.requests for line in self.lines)
        return sum(line.lanes for line in self.lines) / (LANES * requests) if requests else 1.0


@dataclass(frozen=True)
class ArrayProfile:
    """What a program does to an array in global memory; all in bytes."""

    name: str
    is_temporary: bool
    bytes: int
    requested_read: int
    requested_written: int
    moved: int
    needed: int
    """Distinct bytes read before the program wrote them, and distinct bytes written; 0 for a temporary."""


@dataclass(frozen=True)
class ProfileReport:
    """A program, run once."""

    name: str
    kernels: tuple[KernelProfile, ...] = ()
    arrays: tuple[ArrayProfile, ...] = ()

    @property
    def lines(self) -> list[LineProfile]:
        """Of all kernels."""
        return [line for kernel in self.kernels for line in kernel.lines]

    @property
    def launches(self) -> int:
        """Of all kernels."""
        return sum(kernel.launches for kernel in self.kernels)

    @property
    def requested(self) -> int:
        """Bytes of the sectors of all requests."""
        return sum(array.requested_read + array.requested_written for array in self.arrays)

    @property
    def moved(self) -> int:
        """Bytes of the distinct sectors of every launch."""
        return sum(array.moved for array in self.arrays)

    @property
    def compulsory(self) -> int:
        """Bytes that any implementation moves."""
        return sum(array.needed for array in self.arrays)

    @property
    def ways(self) -> float:
        """Of the line with the worst bank conflicts; 1 where there is no shared memory."""
        return max((line.ways for line in self.lines if line.space == "shared"), default=1.0)

    @property
    def sectors_over_ideal(self) -> float:
        """Sectors of all requests to global memory, for each that their bytes need."""
        lines = [line for line in self.lines if line.space == "global"]
        ideal = sum(line.ideal for line in lines)
        return sum(line.cost for line in lines) / ideal if ideal else 1.0

    def array(self, name: str) -> ArrayProfile:
        """The array of that name. Raises KeyError."""
        for array in self.arrays:
            if array.name == name:
                return array
        raise KeyError(f"no array {name!r}; there are {', '.join(a.name for a in self.arrays)}")

    def as_plain(self) -> dict[str, Any]:
        """All of it, with the totals, as dictionaries, lists, numbers and strings."""
        totals = {
            "requested": self.requested,
            "moved": self.moved,
            "compulsory": self.compulsory,
            "ways": self.ways,
            "launches": self.launches,
        }
        return {**asdict(self), "totals": totals}

    def to_json(self) -> str:
        """The same as a text."""
        return json.dumps(self.as_plain(), indent=2) + "\n"

    def __str__(self) -> str:
        parts = [_kernel_table(kernel) for kernel in self.kernels]
        if self.arrays:
            parts.append(_array_table(self.arrays))
        parts.append(self._summary())
        return "\n".join(parts)

    def _summary(self) -> str:
        if not self.compulsory:
            return f"{self.name}: {_count(self.launches, 'launch', 'launches')}, no global memory touched\n"
        requested, moved = self.requested / self.compulsory, self.moved / self.compulsory
        return (
            f"{self.name}: {_count(self.launches, 'launch', 'launches')}; "
            f"compulsory {format_bytes(self.compulsory)}, moved {moved:.2f}x, requested {requested:.2f}x; "
            f"sectors {self.sectors_over_ideal:.2f}x ideal; shared memory {self.ways:.2f}-way\n"
        )


def format_bytes(count: int) -> str:
    """A number of bytes for people: `512 B`, `4.10 kB`, `80.0 MB`."""
    for unit, size in (("GB", 10**9), ("MB", 10**6), ("kB", 10**3)):
        if count >= size:
            number = count / size
            return f"{number:.{2 if number < 10 else 1 if number < 100 else 0}f} {unit}"
    return f"{count} B"


def _count(number: int, one: str, many: str) -> str:
    return f"{number} {one if number == 1 else many}"


def _extents(extents: tuple[int, int, int]) -> str:
    used = max((k for k in range(3) if extents[k] != 1), default=0) + 1
    return "x".join(str(extent) for extent in extents[:used])


def _kernel_table(kernel: KernelProfile) -> str:
    head = (
        f"kernel {kernel.name}: {_count(kernel.launches, 'launch', 'launches')} of "
        f"{_extents(kernel.grid)} blocks x {_extents(kernel.block)} threads, "
        f"{kernel.lane_efficiency:.0%} of lanes active"
    )
    titles = ["line", "access", "bytes", "requests", "lanes", "sectors", "ideal", "ways", ""]
    return _table(head, titles, [_line_row(line) for line in kernel.lines])


def _line_row(line: LineProfile) -> list[str]:
    in_shared = line.space == "shared"
    text = line.text if len(line.text) <= _LONGEST_TEXT else line.text[: _LONGEST_TEXT - 3] + "..."
    text = f"{text}  # {line.place}" if line.place else text
    return [
        str(line.line),
        f"{line.kind} {line.array}",
        str(line.size),
        str(line.requests),
        f"{line.lanes_per_request:.1f}",
        "-" if in_shared else f"{line.cost_per_request:.2f}",
        "-" if in_shared else f"{line.ideal_per_request:.2f}",
        f"{line.ways:.2f}" if in_shared else "-",
        text,
    ]


def _array_table(arrays: Sequence[ArrayProfile]) -> str:
    titles = ["array", "size", "read", "written", "moved", "compulsory"]
    rows = [
        [
            array.name,
            format_bytes(array.bytes),
            _times(array.requested_read, array.bytes),
            _times(array.requested_written, array.bytes),
            format_bytes(array.moved),
            "temporary" if array.is_temporary else format_bytes(array.needed),
        ]
        for array in arrays
    ]
    return _table("global memory (requested, in sizes of the array)", titles, rows)


def _times(requested: int, size: int) -> str:
    return f"{requested / size:.2f}x" if requested and size else "-"


_LONGEST_TEXT = 90
_LEFT = {"access", "array", ""}


def _table(head: str, titles: list[str], rows: list[list[str]]) -> str:
    """Columns two spaces apart; texts to the left, numbers to the right."""
    widths = [max(len(row[k]) for row in [titles, *rows]) for k in range(len(titles))]

    def shown(row: list[str]) -> str:
        cells = [
            cell.ljust(width) if title in _LEFT else cell.rjust(width)
            for title, cell, width in zip(titles, row, widths, strict=True)
        ]
        return ("  " + "  ".join(cells)).rstrip()

    return "\n".join([head, shown(titles), *(shown(row) for row in rows), ""])

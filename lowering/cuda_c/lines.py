"""Lines of CUDA C that are not too long: a statement goes on below where it binds least.

sums[u][u_1] = fmaf(a_tile[u][tz * 16 + ty * 8 + u_1], b_tile[u][tx * 4 + u_2], sums[u][u_1]);
    becomes, where there is less room,
sums[u][u_1] = fmaf(
    a_tile[u][tz * 16 + ty * 8 + u_1], b_tile[u][tx * 4 + u_2], sums[u][u_1]);
"""

from __future__ import annotations

import re
from collections.abc import Iterator

LINE_LIMIT = 100
_INDENT = "    "
_OPERATORS = r"\?|:|&&|\|\||\||\^|&|==|!=|<=|>=|<|>|<<|>>|\+|-|\*|/|%"
_BREAKS = re.compile(rf"(?P<after>, |; | [-+*/]?= )|(?P<call>[\w>]\((?=[^)]))|(?P<before> (?:{_OPERATORS}) )")
_BINDING = {
    "?": 1, ":": 1, "||": 2, "&&": 3, "|": 4, "^": 5, "&": 6, "==": 7, "!=": 7, "+": 10, "-": 10, "*": 11, "/": 11, "%": 11
}  # fmt: skip
_ASSIGNMENT, _CALL = 20, 21


def wrapped(text: str, indent: str) -> list[str]:
    """A statement, or the head of one, as lines of at most `LINE_LIMIT` characters if it can be broken so."""
    code, slashes, comment = text.partition("  // ")
    if len(indent) + len(text) <= LINE_LIMIT or text.startswith("#"):
        return [indent + text]
    if text.startswith("//"):
        return [f"{(indent + text)[: LINE_LIMIT - 4].rstrip()} ..."]
    lines, start = [], indent
    while len(start) + len(code) > LINE_LIMIT:
        at = _best(code, LINE_LIMIT - len(start), LINE_LIMIT - len(indent + _INDENT))
        if at is None:
            break
        lines.append(start + code[:at].rstrip())
        code, start = code[at:].lstrip(), indent + _INDENT
    return [*lines, start + code + slashes + comment]


def _best(code: str, room: int, below: int) -> int | None:
    """Where to go on below: at the outermost place, there where least binds, and as far to the right as there is room.

    After `=` only where all that is left has room in the next line.
    """
    places = [
        (depth, binding, -at)
        for depth, binding, at in _places(code)
        if 0 < at <= room and (binding != _ASSIGNMENT or len(code) - at <= below)
    ]
    return -min(places)[2] if places else None


def _places(code: str) -> Iterator[tuple[int, int, int]]:
    """Where a text may be broken: how deep in brackets, how much binds there, the position."""
    depths, depth, before = [], 0, " "
    for character in code:
        closes = character in ")]}" or (character == ">" and before not in " ->")
        depth -= closes
        depths.append(depth)
        depth += character in "([{" or (character == "<" and before not in " <")
        before = character
    for match in _BREAKS.finditer(code):
        if match["after"]:
            binding = 0 if match["after"] in (", ", "; ") else _ASSIGNMENT
            yield depths[match.start()], binding, match.end()
        elif match["call"]:
            yield depths[match.end() - 1], _CALL, match.end()
        else:
            yield depths[match.start()], _BINDING.get(match["before"].strip(), 8), match.start()

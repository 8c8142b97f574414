"""Styles of pictures in plain colours: for viewers that know neither variables nor media queries, and for those that do.

.row{fill:var(--row)}      ->      .row{fill:#f6f8fa}  @media (prefers-color-scheme:dark){.row{fill:#161b22}}
"""

from __future__ import annotations

import re
from collections.abc import Mapping


def in_both(rules: str, light: Mapping[str, str], dark: Mapping[str, str]) -> str:
    """Rules in which `var(--name)` stands for colours: for white, then for black where the viewer asks for it."""

    def with_colours(colours: Mapping[str, str]) -> str:
        return re.sub(r"var\(--([\w-]+)\)", lambda found: colours[found[1]], rules)

    return f"{with_colours(light)}\n@media (prefers-color-scheme:dark){{{with_colours(dark)}}}"

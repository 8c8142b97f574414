"""Names of Python in ASCII, as the IR and C need them."""

from __future__ import annotations

import functools
import re


@functools.lru_cache(maxsize=4096)
def ir_name(name: str) -> str:
    """A Python name in ASCII, as the IR and C need it: `α` is `alpha`, `naïve` is `naive`."""
    if name.isascii():
        return name
    import unicodedata

    plain = [c if c.isascii() else _letter(c) for c in unicodedata.normalize("NFKD", name)]
    return "".join(plain) or "v"


def _letter(character: str) -> str:
    import unicodedata

    if unicodedata.combining(character):
        return ""
    words = re.findall(r"[A-Za-z0-9]+", unicodedata.name(character, "v"))
    return words[-1].lower()

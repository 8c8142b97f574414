"""Names of Python: in ASCII, as the IR and C need them, and as messages show them."""

from __future__ import annotations

import functools
import re


@functools.lru_cache(maxsize=4096)
def ir_name(name: str) -> str:
    """A Python name in ASCII, as the IR and C need it: `α` is `alpha`, `naïve` is `naive`."""
    if not name.isascii():
        import unicodedata

        plain = [c if c.isascii() else _letter(c) for c in unicodedata.normalize("NFKD", name)]
        name = "".join(plain) or "v"
    if name.isidentifier() or _PLAIN.fullmatch(name):
        return name
    # What has no name in Python is described ("argument 1"), and an item of a dict is named as its key is ("+", "2nd").
    name = _NOT_PLAIN.sub("_", name)
    return name if _PLAIN.fullmatch(name) else f"v{name.strip('_-')}"


_PLAIN = re.compile(r"(?:[_$.-]*[A-Za-z][A-Za-z0-9_$.-]*)?")
_NOT_PLAIN = re.compile(r"[^A-Za-z0-9_$.-]")


_OWN = {
    ".result": "the result",
    ".total": "the sum",
    ".object": "this list or object",
    ".match": "what is matched",
    ".chosen": "this expression",
    ".items": "what is added up",
}
"""What variables of the compiler stand for, by what their names begin with."""


def shown(name: str) -> str:
    """A variable in a message: `'x'`, or in words what one of the compiler's own stands for."""
    if name and not name.startswith("."):
        return f"'{name}'"
    return next((words for start, words in _OWN.items() if name.startswith(start)), "this value")


def written(name: str) -> str:
    """A variable as a hint writes it: `x` for one of the compiler's own."""
    return name if name and not name.startswith(".") else "x"


def _letter(character: str) -> str:
    import unicodedata

    if unicodedata.combining(character):
        return ""
    words = re.findall(r"[A-Za-z0-9]+", unicodedata.name(character, "v"))
    return words[-1].lower()

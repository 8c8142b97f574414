"""What a misspelled name may have meant."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any


def did_you_mean(name: str, known: Iterable[str]) -> str | None:
    """`did you mean 'scale'?`, where a known name is close; else None."""
    from difflib import get_close_matches

    found = get_close_matches(name, [one for one in known if not one.startswith("_")], n=1, cutoff=0.6)
    return f"did you mean '{found[0]}'?" if found else None


def way_out(raised: Exception) -> str | None:
    """What to do about an exception that Python raised for an attribute that is not there."""
    if not isinstance(raised, AttributeError):
        return None
    owner: Any = getattr(raised, "obj", None)
    if owner is None or not raised.name:
        return None
    return did_you_mean(raised.name, dir(owner)) or "give it a value before, or read another attribute"

"""Which arguments are arrays of Dask. Dask is not imported to find out."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ...interface.errors import UnsupportedError


def is_dask(value: Any) -> bool:
    """Whether a value is an array of Dask; Dask is not imported for it."""
    module = sys.modules.get("dask.array.core")
    return module is not None and isinstance(value, module.Array)


def has_dask(args: Sequence[Any], kwargs: Mapping[str, Any]) -> bool:
    """Whether a call has arrays of Dask, in tuples and lists and dicts too."""
    return "dask.array.core" in sys.modules and any(map(is_dask, leaves(args, kwargs)))


def leaves(args: Sequence[Any], kwargs: Mapping[str, Any]) -> Iterator[Any]:
    """What a call's arguments are made of, tuples, lists and dicts taken apart; of one that contains itself, each once."""
    pending, seen = [*args, *kwargs.values()][::-1], set[int]()
    while pending:
        value = pending.pop()
        if not isinstance(value, tuple | list | dict):
            yield value
        elif id(value) not in seen:
            seen.add(id(value))
            pending += value.values() if isinstance(value, dict) else value


def refuse_cycles(args: Sequence[Any], kwargs: Mapping[str, Any]) -> None:
    """Raise UnsupportedError for a tuple, list or dict that contains itself."""
    complete, around = set[int](), set[int]()
    pending: list[tuple[Any, bool]] = [(value, False) for value in (*args, *kwargs.values())]
    while pending:
        value, is_complete = pending.pop()
        if not isinstance(value, tuple | list | dict) or (not is_complete and id(value) in complete):
            continue
        if is_complete:
            around.discard(id(value))
            complete.add(id(value))
        elif id(value) in around:
            raise UnsupportedError(
                f"a {type(value).__name__} that contains itself cannot be passed to compiled code"
            )
        else:
            around.add(id(value))
            pending.append((value, True))
            pending += [(item, False) for item in (value.values() if isinstance(value, dict) else value)]

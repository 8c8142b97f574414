"""What `schedule=` of `nt.custom_op` is: schedules as texts, by target.

schedule=nt.schedule(low)                        what nt.schedule makes, for the CPU
schedule="blur.mlir"                             a file, read where the operation is defined
schedule="schedule.sequence @cuda { ... }"       a text; one that is called @cuda is for GPUs
schedule={"cpu": ..., "cuda": ...}               one of these for each target
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ...dialects.diagnostic import FileError, text_of_file
from .errors import DTypeError

Schedules = tuple[tuple[str, str], ...]
"""Targets ("cpu", "cuda") and the texts for them."""

TARGETS = ("cpu", "cuda")
_SEQUENCE = "schedule.sequence"


def schedules_of(given: Any) -> Schedules:
    """The texts. Raises DTypeError for what is no schedule, FileError for a file that cannot be read."""
    if given is None:
        return ()
    if isinstance(given, Mapping):
        unknown = [target for target in given if target not in TARGETS]
        if unknown:
            raise DTypeError(f"schedule= has {unknown[0]!r}", hint=f"targets: {', '.join(TARGETS)}")
        return tuple([(target, _text(given[target])) for target in TARGETS if target in given])
    text = _text(given)
    is_for_gpu = re.search(rf"{re.escape(_SEQUENCE)}\s+@cuda\b", text)
    return (("cuda" if is_for_gpu else "cpu", text),)


def _text(given: Any) -> str:
    sequences = getattr(given, "sequences", None)
    if sequences is not None:
        return "\n".join(map(str, sequences))
    if isinstance(given, str) and _SEQUENCE in given:
        return given
    if not isinstance(given, str | Path):
        raise DTypeError(
            f"schedule={given!r} is no schedule",
            hint="give what nt.schedule makes, the path of a file, or a text",
        )
    hint = "s.save(path) of a schedule writes one; text with a schedule.sequence is taken as it is"
    text = text_of_file(given, "the schedule", hint)
    if _SEQUENCE not in text:
        raise FileError(f"'{given}' has no schedule.sequence", hint="s.save(path) of a schedule writes one")
    return text

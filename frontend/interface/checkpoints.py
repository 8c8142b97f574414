"""What nt.checkpoint may be told."""

from __future__ import annotations

import operator
from dataclasses import dataclass
from typing import Any

from ...dialects.checkpoint_policies import POLICIES, SAVE_NOTHING
from .errors import DTypeError, UnsupportedError


@dataclass(frozen=True)
class Settings:
    """What is kept: as a policy says, or snapshots of loops within a bound."""

    policy: str | None
    snapshots: int | None
    bytes: int | None


def settings_of(label: str, policy: Any = None, snapshots: Any = None, bytes: Any = None) -> Settings:
    """The settings, checked. Raises DTypeError for what is none, UnsupportedError for two bounds."""
    what = f"nt.checkpoint of {label}"
    if policy is not None and policy not in POLICIES:
        raise DTypeError(f"{what}: policy={policy!r}", hint=f"one of {', '.join(map(repr, POLICIES))}")
    for name, value in (("snapshots", snapshots), ("bytes", bytes)):
        if value is None:
            continue
        if isinstance(value, bool) or not hasattr(value, "__index__") or operator.index(value) < 1:
            raise DTypeError(f"{what}: {name}={value!r}", hint="an integer, 1 or more")
    if snapshots is not None and bytes is not None:
        raise UnsupportedError(f"{what} is given both snapshots and bytes", hint="one bound is enough")
    if policy is None and snapshots is None and bytes is None:
        policy = SAVE_NOTHING
    return Settings(
        policy,
        None if snapshots is None else operator.index(snapshots),
        None if bytes is None else operator.index(bytes),
    )

"""First calls: how long a fresh process takes from having imported a peer to having a first result."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class First:
    """The first call of the program of `row`; nothing is taken from caches on the disk."""

    name: str
    title: str
    row: str


FIRST_CALLS = {
    first.name: first
    for first in (
        First("first-iou", "first call of IoU, 8 x (100, 1000), in a fresh process", "iou-small"),
        First("first-lstm", "first call of the LSTM cell in a fresh process", "lstm-cell"),
    )
}

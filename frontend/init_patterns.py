"""The `__init__` of dataclasses of common shapes, compiled with this file instead of in each process.

Fields are called `_0`, `_1` ... here; `quick_inits.py` gives the code the names of a class. The bodies are those that
`dataclasses` writes: a frozen object is assigned to with `object.__setattr__`.
"""

# What is not annotated here is a field of any type.
# pyright: basic

from __future__ import annotations

from collections.abc import Callable
from typing import Any


def _patterns(assign: Any) -> dict[tuple[bool, bool, int], Callable[..., None]]:
    """By whether a class is frozen, whether it has a `__post_init__`, and how many fields it has."""

    def frozen_1(self, _0):
        assign(self, "_0", _0)

    def frozen_2(self, _0, _1):
        assign(self, "_0", _0)
        assign(self, "_1", _1)

    def frozen_3(self, _0, _1, _2):
        assign(self, "_0", _0)
        assign(self, "_1", _1)
        assign(self, "_2", _2)

    def frozen_4(self, _0, _1, _2, _3):
        assign(self, "_0", _0)
        assign(self, "_1", _1)
        assign(self, "_2", _2)
        assign(self, "_3", _3)

    def frozen_5(self, _0, _1, _2, _3, _4):
        assign(self, "_0", _0)
        assign(self, "_1", _1)
        assign(self, "_2", _2)
        assign(self, "_3", _3)
        assign(self, "_4", _4)

    def frozen_6(self, _0, _1, _2, _3, _4, _5):
        assign(self, "_0", _0)
        assign(self, "_1", _1)
        assign(self, "_2", _2)
        assign(self, "_3", _3)
        assign(self, "_4", _4)
        assign(self, "_5", _5)

    def frozen_7(self, _0, _1, _2, _3, _4, _5, _6):
        assign(self, "_0", _0)
        assign(self, "_1", _1)
        assign(self, "_2", _2)
        assign(self, "_3", _3)
        assign(self, "_4", _4)
        assign(self, "_5", _5)
        assign(self, "_6", _6)

    def frozen_checked_0(self):
        self.__post_init__()

    def frozen_checked_1(self, _0):
        assign(self, "_0", _0)
        self.__post_init__()

    def frozen_checked_2(self, _0, _1):
        assign(self, "_0", _0)
        assign(self, "_1", _1)
        self.__post_init__()

    def plain_1(self, _0):
        self._0 = _0

    def plain_2(self, _0, _1):
        self._0 = _0
        self._1 = _1

    def plain_3(self, _0, _1, _2):
        self._0 = _0
        self._1 = _1
        self._2 = _2

    def plain_4(self, _0, _1, _2, _3):
        self._0 = _0
        self._1 = _1
        self._2 = _2
        self._3 = _3

    def plain_5(self, _0, _1, _2, _3, _4):
        self._0 = _0
        self._1 = _1
        self._2 = _2
        self._3 = _3
        self._4 = _4

    return {
        (True, False, 1): frozen_1,
        (True, False, 2): frozen_2,
        (True, False, 3): frozen_3,
        (True, False, 4): frozen_4,
        (True, False, 5): frozen_5,
        (True, False, 6): frozen_6,
        (True, False, 7): frozen_7,
        (True, True, 0): frozen_checked_0,
        (True, True, 1): frozen_checked_1,
        (True, True, 2): frozen_checked_2,
        (False, False, 1): plain_1,
        (False, False, 2): plain_2,
        (False, False, 3): plain_3,
        (False, False, 4): plain_4,
        (False, False, 5): plain_5,
    }


PATTERNS = _patterns(object.__setattr__)

"""Results whose extents only the run knows: compiled code allocates them, and hands them over to its caller.

func.call @nestor_hand_over.f64.2(%t, %out, %n, %m)      // %out: memref<3xi64>, {address, n, m}

The first n * m elements of %t are copied to memory from `aligned_alloc`; the caller frees it (`runtime/handed_over.py`),
also where the program fails afterwards. Words that are zero before the call say that nothing was handed over.
"""

from __future__ import annotations

HAND_OVER = "nestor_hand_over."
"""How the name of such a function begins; the element type in memory and the rank follow."""


def hand_over_name(element: str, rank: int) -> str:
    """The name of the function for arrays of `rank` axes."""
    return f"{HAND_OVER}{element}.{rank}"


def words(rank: int) -> int:
    """How many words describe an array that is handed over: its address, then its extents."""
    return 1 + rank

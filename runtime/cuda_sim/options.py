"""How the simulator runs kernels: `cuda-sim`, `cuda-sim:checked`, `cuda-sim:checked,random=3`, `cuda-sim:reverse`."""

from __future__ import annotations

import os
from dataclasses import dataclass

from ...dialects.diagnostic import NestorError

MODES = ("plain", "checked", "profile")
ORDERS = ("forward", "reverse", "random")


@dataclass(frozen=True)
class SimOptions:
    """`mode` is what is looked at, `order` that of threads between barriers and of blocks; `seed` fixes "random"."""

    mode: str = "plain"
    order: str = "forward"
    seed: int = 0


def parse_options(text: str | None) -> SimOptions:
    """The options after `cuda-sim:`, separated by commas; without any (None), those of `$NESTOR_CUDA_SIM`.

    >>> parse_options("checked,random=3")
    SimOptions(mode='checked', order='random', seed=3)
    """
    words = (os.environ.get("NESTOR_CUDA_SIM", "") if text is None else text).split(",")
    mode, order, seed = "plain", "forward", "0"
    for word in filter(None, map(str.strip, words)):
        if word in MODES:
            mode = word
        elif word in ORDERS:
            order = word
        elif word.startswith("random=") and word[7:].isdigit():
            order, seed = "random", word[7:]
        else:
            raise NestorError(
                f"target cuda-sim has no option {word!r}",
                hint=f"a mode ({', '.join(MODES)}) and an order (forward, reverse, random, random=<seed>)",
            )
    return SimOptions(mode, order, int(seed))

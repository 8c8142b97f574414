"""nt.checkpoint, as Python calls it: a jitted function of a text that says the same (`derivatives.py`)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ...dialects.tracebacks import boundary
from ..interface.checkpoints import settings_of
from ..interface.forwarders import label_of
from ..interface.inside import inside
from .derivatives import transformed


@boundary
@inside("checkpoint")
def checkpoint(
    fun: Callable[..., Any] | None = None,
    *,
    policy: str | None = None,
    snapshots: int | None = None,
    bytes: int | None = None,
) -> Any:
    """The same function, with a say in what its derivative in reverse mode keeps: memory against time.

        layer = nt.checkpoint(layer)                             # keeps its arguments, and is computed again
        layer = nt.checkpoint(layer, policy="save-products")
        run = nt.checkpoint(run, snapshots=10)                   # of the loops in it
        run = nt.checkpoint(run, bytes=2**25)

        @nt.checkpoint(policy="save-all")
        def layer(x, w): ...

    `policy` says what is kept of values in the function: with "save-nothing" (what holds where nothing is given) only what
    it uses from outside, with "save-products" also the results of products, convolutions, reductions, scans, loops,
    branches and calls; with "save-all" all that its derivative needs, and nothing is computed again. Without
    nt.checkpoint the compiler weighs bytes against time.
    `snapshots` and `bytes` bound the states that a loop on arrays in the function keeps, at most so many, or as many as fit
    into so many bytes: parts of it run again from them (binomial checkpointing). The bound is for each of the outermost
    loops. With a policy as well, the function is also computed again as that says.

    Values and gradients are the same. What it prints or draws happens once. Forward mode keeps nothing, and is as without.
    By itself it is compiled as `nt.jit` compiles, with the options of `fun` where that is a jitted function.

    Raises TypeError for what is no policy and no number; nt.UnsupportedError where both bounds are given; in compiled code
    an error where the function returns an array from outside, or a view of one.
    """
    settings_of("a function" if fun is None else label_of(fun), policy, snapshots, bytes)
    settings = {"policy": policy, "snapshots": snapshots, "bytes": bytes}
    if fun is None:
        return lambda fun: checkpoint(fun, **settings)
    return transformed("checkpoint", checkpoint, fun, opens=False, **settings)

"""Many launches as one: what a plan queues is captured as a CUDA graph, and replayed for the same arrays and numbers.

    planned(device, x, out)                          launch('step', ...); launch('step', ...); ... 200 of them
  for the second call with the same addresses becomes
    stream.begin_capture(); planned(device, x, out); graph = stream.end_capture()
  and for those after it
    graph.launch()

A launch from Python takes some microseconds, and one from a graph about one: steps in time, and the diagonals of a sweep,
are launches of little work. Where `$NESTOR_CUDA_GRAPHS` is `1`, for plans of `FEWEST` launches and more, on devices whose
CuPy captures streams. A graph knows addresses, not arrays: it is found by those of the call, and it keeps the temporaries
that its kernels use. Launches of one graph wait for each other. Anything that fails while capturing turns it off for the
plan, whose launches are then queued one by one. Not timed: no GPU was there; tests run it with a stand-in for CuPy.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

FEWEST = 8
"""Minimum number of launches that are worth a graph."""

MOST = 4
"""Maximum number of graphs of a plan: of a program that is called with its own results there are two."""

MOST_SEEN = 64
"""Maximum number of calls, by their addresses, that a plan remembers to have seen once."""


def is_wanted() -> bool:
    """Whether the environment asks for graphs."""
    return os.environ.get("NESTOR_CUDA_GRAPHS") == "1"


class GraphedPlan:
    """A plan, called with the arguments of the host function: CuPy arrays and numbers."""

    def __init__(self, cupy: Any, planned: Callable[..., None], device: Any):
        self._cupy = cupy
        self._planned = planned
        self._device = device
        self._seen: dict[Any, None] = {}
        self._graphs: dict[Any, tuple[Any, Sequence[Any]]] = {}
        """Graphs by what they were captured for, with the temporaries of each; what was used last comes last."""
        self._is_off = not hasattr(cupy.cuda, "Graph")

    def __call__(self, *arguments: Any) -> None:
        """Queue the kernels on the current stream."""
        stream = self._cupy.cuda.get_current_stream()
        key = None if self._is_off else self._key(arguments)
        if key is None or stream.is_capturing():
            self._planned(self._device, *arguments)
            return
        found = self._graphs.pop(key, None)
        if found is None and key in self._seen:
            del self._seen[key]
            found = self._captured(arguments)
        if found is None:
            self._planned(self._device, *arguments)
            self._seen[key] = None
            if len(self._seen) > MOST_SEEN:
                del self._seen[next(iter(self._seen))]
            return
        self._graphs[key] = found
        if len(self._graphs) > MOST:
            del self._graphs[next(iter(self._graphs))]
        found[0].launch(stream)

    def _key(self, arguments: Sequence[Any]) -> Any:
        """The addresses and the bits of numbers: equal ones are the same launches."""
        array, parts = self._cupy.ndarray, []
        for argument in arguments:
            if isinstance(argument, array):
                parts.append(argument.data.ptr)
            elif isinstance(argument, bool | int | float | np.generic):
                parts.append((type(argument), np.asarray(argument).tobytes()))
            else:
                return None
        return tuple(parts)

    def _captured(self, arguments: Sequence[Any]) -> tuple[Any, Sequence[Any]] | None:
        """A graph of what the plan queues, and its temporaries, which are allocated before; None where that fails."""
        failures = (self._cupy.cuda.runtime.CUDARuntimeError, self._cupy.cuda.driver.CUDADriverError)
        prepared = _Preparing(self._device)
        self._planned(prepared, *arguments)
        stream = self._cupy.cuda.Stream(non_blocking=True)
        try:
            with stream:
                stream.begin_capture()
                try:
                    self._planned(_Repeating(self._device, prepared.allocated), *arguments)
                finally:
                    graph = stream.end_capture()
        except (*failures, RuntimeError):
            self._is_off = True
            self._graphs.clear()
            return None
        return graph, prepared.allocated


class _Preparing:
    """A device that allocates, and launches nothing."""

    def __init__(self, device: Any):
        self._device = device
        self.view = device.view
        self.allocated: list[Any] = []

    def allocate(self, shape: tuple[int, ...], dtype: np.dtype) -> Any:
        self.allocated.append(self._device.allocate(shape, dtype))
        return self.allocated[-1]

    def launch(self, *_: Any) -> None:
        pass


class _Repeating:
    """A device that launches, and gives what was allocated before in the same order."""

    def __init__(self, device: Any, allocated: Sequence[Any]):
        self.view = device.view
        self.launch = device.launch
        self._allocated = iter(allocated)

    def allocate(self, shape: tuple[int, ...], dtype: np.dtype) -> Any:
        return next(self._allocated)

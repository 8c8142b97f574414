"""`nt.quant.calibrate`: a function runs over data, and the operands of its products are observed.

Its program is lowered as for any call; nt-observe puts calls of `_seen` before the products, which hand the operands to
the recorder of the run.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from hashlib import blake2b
from importlib.util import find_spec
from itertools import count
from typing import Any

import numpy as np

from ...dialects.tracebacks import boundary
from ...runtime.custom_calls import name_of
from ..interface.calibrations import Calibration, Parameters, Site, line_of
from ..interface.errors import UnsupportedError
from ..jit.driver.jit_function import JitFunction
from .observers import MinMax, Observer

_RUNS: dict[int, tuple[_Run, list[str]]] = {}
"""The runs whose programs run now, and the sites of these, by the handle that a program has."""

_HANDLES = count(1)


@boundary
def calibrate(
    f: Callable[..., Any],
    batches: Iterable[Any],
    observer: Callable[[], Observer] = MinMax,
    progress: bool = True,
) -> Calibration:
    """Run `f` over `batches`, observe the operands of its products and convolutions, and give their scales.

        calibration = nt.quant.calibrate(net, [(x,) for x in some_data])
        fast = nt.jit(net, quantise=calibration)

    A batch is a tuple of arguments, or one argument. `f` is a function or a jitted one, whose options stay. An operand that
    is the same in all batches (two at least) is weights: the program computes a scale for each output from them, for int8
    with the zero point 0. Any other is observed by what `observer` makes, for uint8 on the left and int8 on the right:
    `MinMax`, `MovingAverage`, `Percentile`, a functools.partial of these, or what has their methods. Products in
    derivatives, in nt.nn.attention, and in loops over elements are not observed.

    With `rich` installed and a terminal there is a progress bar, unless `progress` is False. Raises ValueError for fewer
    than two batches, for batches that are all the same, and for operands that are not finite; and what `f` raises.
    """
    function = _plain(f)
    run = _Run(function, observer)
    for batch in _shown(batches, progress):
        run.add(batch if isinstance(batch, tuple) else (batch,))
    if run.batches < 2:
        raise ValueError("nt.quant.calibrate: two batches at least, to tell weights from other operands")
    return run.calibration()


def _plain(f: Callable[..., Any]) -> JitFunction:
    """The function to be lowered: without roundings, on the CPU."""
    if not isinstance(f, JitFunction):
        return JitFunction(f)
    return f.again(target="cpu", quantise=None, fallback=None, profile=False, hot_sizes=False)


def _shown(batches: Iterable[Any], progress: bool) -> Iterator[Any]:
    """The batches, with a bar that says how many were seen."""
    if not progress or not sys.stderr.isatty() or find_spec("rich") is None:
        return iter(batches)
    from rich.console import Console
    from rich.progress import track

    return iter(track(batches, "calibrating", console=Console(stderr=True)))


@dataclass(eq=False)
class _Operand:
    """An operand of a product: what was seen of it, and whether that was the same all the time."""

    observer: Observer
    dtype: str
    digest: bytes | None = None
    is_same: bool = True

    def see(self, x: np.ndarray) -> None:
        """Look at what it is now."""
        digest = blake2b(np.ascontiguousarray(x).data, digest_size=16, usedforsecurity=False).digest()
        if digest == self.digest:
            return
        self.is_same = self.digest is None
        self.digest = digest
        self.observer.observe(x)

    def parameters(self) -> Parameters | None:
        """Its scales and zero points; None of weights."""
        return None if self.is_same else self.observer.parameters(self.dtype)


@dataclass(eq=False)
class _Product:
    text: str
    terms: str
    operands: dict[int, _Operand] = field(default_factory=dict)


class _Run:
    """The products of a function that runs over batches, and the programs for the types of these."""

    def __init__(self, function: JitFunction, observer: Callable[[], Observer]):
        self._function, self._observer = function, observer
        self.batches = 0
        self._products: dict[str, _Product] = {}
        self._programs: dict[Any, tuple[int, Any, list[str]]] = {}

    def add(self, args: tuple[Any, ...]) -> None:
        """Run one batch."""
        self.batches += 1
        key = _kind(args)
        if key not in self._programs:
            self._programs[key] = self._compiled(args)
        handle, compiled, places = self._programs[key]
        _RUNS[handle] = self, places
        try:
            compiled(*args)
        finally:
            del _RUNS[handle]

    def _compiled(self, args: tuple[Any, ...]) -> tuple[int, Any, list[str]]:
        """The program for the types of a batch, with calls of `_seen` in it, and its sites."""
        from ...transforms.tensor.nt_observe import observe, observed_products
        from ...transforms.tensor.product_sites import terms_of

        lowered = self._function.lower(*args)
        module = lowered.program.module
        products = observed_products(module)
        for place, op in products.items():
            found = self._products.setdefault(place, _Product(line_of(op), terms_of(op)))
            if found.terms != terms_of(op):
                raise UnsupportedError(
                    f"nt.quant.calibrate: {place} is {found.terms} in one batch, and {terms_of(op)} in another",
                    hint="calibrate with batches of one rank",
                )
        handle = next(_HANDLES)
        observe(module, name_of(_seen), handle)
        return handle, lowered.compile(), list(products)

    def see(self, place: str, side: int, x: np.ndarray) -> None:
        """Look at an operand of a product."""
        operands = self._products[place].operands
        if side not in operands:
            operands[side] = _Operand(self._observer(), ("uint8", "int8")[side])
        operands[side].see(x)

    def calibration(self) -> Calibration:
        """What was found."""
        seen = {place: one for place, one in self._products.items() if one.operands}
        if seen and all(operand.is_same for one in seen.values() for operand in one.operands.values()):
            raise ValueError("nt.quant.calibrate: the operands of all products are the same in all batches")
        return Calibration(
            tuple(
                [
                    Site(place, one.text, one.terms, *[one.operands[side].parameters() for side in (0, 1)])
                    for place, one in seen.items()
                ]
            )
        )


def _seen(x: np.ndarray, facts: np.ndarray) -> None:
    """What a program calls with an operand of a product: see nt-observe."""
    handle, number, side = facts.tolist()
    run, places = _RUNS[handle]
    run.see(places[number], side, x)


def _kind(value: Any) -> Any:
    """What a program depends on, of an argument."""
    if hasattr(value, "shape") and hasattr(value, "dtype"):
        return tuple(value.shape), str(value.dtype), getattr(value, "strides", None)
    if isinstance(value, tuple | list):
        return type(value), tuple(map(_kind, value))
    if isinstance(value, dict):
        return tuple([(key, _kind(one)) for key, one in value.items()])
    return repr(value)

"""Calls with arrays of xarray: the function gets their arrays, of NumPy or Dask, and results get dimensions and coordinates.

    f = nt.jit(lambda x: x - x.mean(0))
    f(ds.t2m)                   # a DataArray with the dimensions and the coordinates of ds.t2m

A function of NumPy knows axes by their places. Which axis of a result is which dimension is read off the program, as chunks
are (`analysis/nest/sets/chunking.py`): it is the one that moves with it. Coordinates stay where each element of a result
belongs to one element of the argument, or to those around it; they are cut where it begins later.

    x[1:-1]                 dimension and coordinates, cut            x[1:] - x[:-1]      the dimension, no coordinates
    x[::-1], np.sort(x)     neither: elements are elsewhere           x.mean(0)           those of the other dimensions
"""

from __future__ import annotations

import sys
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ...interface.errors import NestorError, ShapeError, UnsupportedError
from ...interface.spec import spec
from ...interface.structures import with_items
from ..specialise.stages import lowered_copy, print_module
from .detection import is_dask, leaves, refuse_cycles

if TYPE_CHECKING:
    from ....analysis.nest.sets.chunking import AxisReach

MOST_KNOWN = 256
_KNOWN: OrderedDict[str, list[list[Moves]]] = OrderedDict()
"""What results move along, by the text of the program: calls find out the same again."""

Moves = list[tuple[int, int, tuple[str, int]]]
"""For an axis of a result: the argument, its axis, and where of it an element is from (as `_reach_of` says)."""

CUT, AROUND, ELSEWHERE = "cut", "around", "elsewhere"


def has_labels(args: Sequence[Any], kwargs: Mapping[str, Any]) -> bool:
    """Whether a call has arrays of xarray, in tuples, lists and dicts too; xarray is not imported to find out."""
    module = sys.modules.get("xarray")
    if module is None:
        return False
    names = ("DataArray", "Dataset", "Variable")
    kinds = tuple(getattr(module, one) for one in names if hasattr(module, one))
    return len(kinds) == len(names) and any(isinstance(one, kinds) for one in leaves(args, kwargs))


def without_labels(args: tuple, kwargs: dict[str, Any]) -> tuple[tuple, dict[str, Any]]:
    """The arguments of a call with the arrays of NumPy or Dask that DataArrays have.

    Raises UnsupportedError for what is several arrays or contains itself, and ShapeError for coordinates that differ."""
    return _Labels().call(args, kwargs)


def labelled_call(function: Any, args: tuple, kwargs: dict[str, Any]) -> Any:
    """The results of a call with DataArrays, as DataArrays.

    Raises UnsupportedError and ShapeError where arguments do not belong together, and what the call raises."""
    if "out" in kwargs and not function._has_out:
        raise UnsupportedError("out= is for arrays of NumPy", hint="assign the result: x[...] = f(x)")
    labels = _Labels()
    plain_args, plain_kwargs = labels.call(args, kwargs)
    return labels.results(function, plain_args, plain_kwargs)


class _Labels:
    """The DataArrays of one call."""

    def __init__(self) -> None:
        self._xarray: Any = sys.modules["xarray"]
        self._arrays: dict[int, tuple[Any, Any]] = {}
        """The array that the function gets and its DataArray, by the identity of the first."""

    def call(self, args: tuple, kwargs: dict[str, Any]) -> tuple[tuple, dict[str, Any]]:
        refuse_cycles(args, kwargs)
        plain = tuple([self._plain(one) for one in args]), {k: self._plain(v) for k, v in kwargs.items()}
        self._check_coordinates()
        return plain

    def _plain(self, value: Any) -> Any:
        if isinstance(value, self._xarray.DataArray):
            data = value.variable.data
            if id(data) in self._arrays and self._arrays[id(data)][1] is not value:
                data = data.map_blocks(_itself, meta=data._meta) if is_dask(data) else data.view()
            self._arrays[id(data)] = data, value
            return data
        if isinstance(value, self._xarray.Dataset):
            raise UnsupportedError(
                "a Dataset is several arrays", hint="ds.map(f) calls it for each; or pass some: f(ds.t2m)"
            )
        if isinstance(value, self._xarray.Variable):
            raise UnsupportedError("a Variable of xarray has no coordinates", hint="pass x.data")
        if type(value) in (tuple, list, dict):
            return with_items(value, self._plain)
        return value

    def _check_coordinates(self) -> None:
        """Elements of arguments meet by their places: their labels are to be the same."""
        arrays = [array for _, array in self._arrays.values()]
        for k, one in enumerate(arrays):
            for other in arrays[:k]:
                for name in set(one.indexes) & set(other.indexes):
                    same = one.indexes[name].equals(other.indexes[name])
                    if not same and one.sizes[name] == other.sizes[name]:
                        raise ShapeError(
                            f"two arguments have other coordinates along '{name}'",
                            hint="align them: x, y = xr.align(x, y)",
                        )

    def results(self, function: Any, args: tuple, kwargs: dict[str, Any]) -> Any:
        """Call the function on plain arrays, and label its results."""
        moves, sources = self._moves(function, args, kwargs)
        value = function(*args, **kwargs)
        rest = iter(moves)

        def label(one: Any) -> Any:
            if type(one) in (tuple, list, dict):
                return with_items(one, label)
            if one is None:
                return one
            known = next(rest, None)
            if known is None or len(known) != np.ndim(one):
                raise UnsupportedError(
                    f"'{function.__name__}' gives other results than its program", hint="pass x.data"
                )
            return self._labelled(one, known, sources)

        found = label(value)
        if next(rest, None) is not None:
            raise UnsupportedError(f"results of '{function.__name__}' are no arrays", hint="pass x.data")
        return found

    def _moves(
        self, function: Any, args: tuple, kwargs: dict[str, Any]
    ) -> tuple[list[list[Moves]], dict[int, Any]]:
        """What the axes of results move along, and the DataArray of each argument of the program.

        Of any extents, where the function takes these: one that is 1 is followed too where nothing is broadcast along it."""
        try:
            return self._moves_for(function, args, kwargs, 0)
        except NestorError:
            return self._moves_for(function, args, kwargs, 2)

    def _moves_for(
        self, function: Any, args: tuple, kwargs: dict[str, Any], least: int
    ) -> tuple[list[list[Moves]], dict[int, Any]]:
        """The same; extents of at least `least` are any."""
        described: dict[int, Any] = {}
        kept = []

        def describe(value: Any) -> Any:
            if type(value) in (tuple, list, dict):
                return with_items(value, describe)
            if id(value) not in self._arrays:
                return value
            made = spec(tuple(int(n) if n < least else f"n{int(n)}" for n in value.shape), value.dtype)
            kept.append(made)
            described[id(made)] = self._arrays[id(value)][1]
            return made

        given = tuple(map(describe, args)), {name: describe(one) for name, one in kwargs.items()}
        program = function.lower(*given[0], **given[1]).program
        leaves = function._leaves(*given)
        if program.inputs:
            leaves = function._with_inputs(leaves, program.inputs)
        places = [k for k, one in enumerate(program.arguments) if one.kind not in ("static", "same")]
        sources = {
            k: described[id(leaves[1][leaf])]
            for k, leaf in enumerate(places)
            if id(leaves[1][leaf]) in described
        }
        module = lowered_copy(program.module, ("to-loops-for-chunks",), machine=function.machine)
        key = print_module(module)
        if key not in _KNOWN:
            _KNOWN[key] = _moves_of(program, module, [program.arguments[leaf].order for leaf in places])
            while len(_KNOWN) > MOST_KNOWN:
                _KNOWN.popitem(last=False)
        return _KNOWN[key], sources

    def _labelled(self, value: Any, axes: list[Moves], sources: dict[int, Any]) -> Any:
        names: list[str] = []
        parts: list[dict[str, slice | None]] = [{} for _ in sources]
        order = list(sources)
        for axis, moves in enumerate(axes):
            extent, name = value.shape[axis], None
            for k, of, reach in moves:
                if k not in sources:
                    continue
                other = sources[k].dims[of]
                if name is not None and other != name:
                    raise UnsupportedError(
                        f"axis {axis} of a result is '{name}' of one argument and '{other}' of another",
                        hint="transpose one: functions of NumPy know axes by their places",
                    )
                name = other
                parts[order.index(k)][other] = _labels_of(reach, extent, sources[k].sizes[other])
            names.append(name if name is not None and name not in names else f"dim_{axis}")
        made = self._xarray.DataArray(value, dims=names)
        made.name = self._name()  # not that of a Dask array
        return made.assign_coords(self._coordinates(names, parts, [sources[k] for k in order]))

    def _coordinates(self, names: Sequence[str], parts: Sequence[Any], arrays: Sequence[Any]) -> Any:
        """The coordinates of results: those of which each dimension stays; of others of one name with other values, none."""
        found: dict[Any, Any] = {}
        dropped = set()
        for array, part in zip(arrays, parts, strict=True):
            kept = {name: one for name, one in part.items() if one is not None and name in names}
            chosen = array.isel(kept)
            for name, coordinate in chosen.coords.items():
                if not all(one in kept for one in coordinate.dims):
                    continue
                if name in found and not found[name].equals(coordinate):
                    dropped.add(name)
                found.setdefault(name, coordinate)
        return {name: one.variable for name, one in found.items() if name not in dropped}

    def _name(self) -> Any:
        names = {array.name for _, array in self._arrays.values()}
        return names.pop() if len(names) == 1 else None


def _itself(block: Any) -> Any:
    """A chunk, for another Dask array of the same chunks."""
    return block


def _labels_of(reach: tuple[str, int], extent: int, size: int) -> slice | None:
    """Which labels of a dimension those of an axis of a result are, or None."""
    kind, begin = reach
    if extent == 0:
        return slice(0, 0)
    if kind == CUT and begin >= 0 and begin + extent <= size:
        return slice(begin, begin + extent)
    return slice(None) if kind == AROUND and extent == size else None


def _moves_of(program: Any, module: Any, orders: Sequence[Any]) -> list[list[Moves]]:
    """What each axis of each result moves along."""
    from ....analysis.nest.loop_structure import functions
    from ....analysis.nest.sets.chunking import chunking

    function = next(f for f in functions(module) if f.sym_name.data == program.name)
    arguments, found = list(function.args), chunking(function)
    number: dict[Any, int] = {value: k for k, value in enumerate(arguments)}
    results: list[list[Moves]] = []
    for output in program.outputs:
        results.append([[] for _ in output.extents])
    for cut in found.results:
        j = number[cut.what] - len(orders)
        order = program.outputs[j].order
        assert cut.axis is not None
        axis = cut.axis if order is None else order[cut.axis]
        for need in cut.needs:
            k = number.get(need.buffer)
            if k is None or k >= len(orders):
                continue
            for reach in need.axes:
                of = reach.axis if orders[k] is None else orders[k][reach.axis]
                if (where := _reach_of(reach)) is not None:
                    results[j][axis].append((k, of, where))
    return results


def _reach_of(reach: AxisReach) -> tuple[str, int] | None:
    """Where of an argument an element of a result is from: of one place (`CUT`), of those around it, or elsewhere in order.

    None: in another order, so that the dimension is another one."""
    lower, upper = reach.lower, reach.upper
    if reach.halo is not None:
        before, after = reach.halo
        if before == -after:
            return CUT, after
        return (AROUND, 0) if before >= 0 and after >= 0 else (ELSEWHERE, 0)
    only = upper if lower is None else lower if upper is None else None
    if only is not None and only.constant == 0 and [factor for _, factor in only.factors] == [1]:
        return AROUND, 0
    return None

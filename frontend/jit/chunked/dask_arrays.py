"""Jitted functions called with Dask arrays: a graph of Dask, in which each task computes one chunk by machine code.

    @nt.jit
    def anomaly(x):
        return x - x.mean(0)

    anomaly(da.from_zarr("t2m.zarr"))       # a Dask array; nothing is computed yet

A box of a result needs parts of the chunks of inputs (`plan.py`): a task gets these chunks, or a slice of one where it needs
less of it. Scalars, NumPy arrays and what the function reads outside are those of the time of the call.
"""

from __future__ import annotations

from functools import cached_property
from math import prod
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np

from ....dialects.records import changed
from ....lowering.abi.kernel_signature import LARGEST_SMALL
from ....runtime.real_parts import PARTS, complex_view, real_view
from ...interface.errors import ShapeError, UnsupportedError
from ...interface.spec import spec
from ..call.invoke import Invocation
from .chunk_program import ChunkTarget
from .detection import is_dask, refuse_cycles
from .layers import Layers, step_counts
from .memory import is_cupy, memory_of
from .plan import Place


def chunked_call(function: Any, args: tuple, kwargs: dict[str, Any]) -> Any:
    """The results of a call with Dask arrays, as Dask arrays. Raises UnsupportedError for what cannot be in chunks."""
    return _Call(function, args, kwargs).results()


def explained_call(
    function: Any, args: tuple, kwargs: dict[str, Any]
) -> tuple[tuple, dict[str, Any], dict[str, Any]]:
    """The arguments of a call with Dask arrays, described instead of given, and what there is to say of its chunks.

    Raises UnsupportedError for what cannot be in chunks."""
    call = _Call(function, args, kwargs)
    return call.described, call.named, call.facts()


class _Call:
    """One call with Dask arrays."""

    def __init__(self, function: Any, args: tuple, kwargs: dict[str, Any]):
        self._function, self._log = function, function._log
        self._arrays: dict[int, Any] = {}
        """The Dask array that a description stands for, by the identity of the description."""
        if function.target == "interp":
            raise UnsupportedError(
                f"'{function.__name__}' is for target \"interp\", which has no programs of chunks",
                hint="nt.jit(f) without a target",
            )
        refuse_cycles(args, kwargs)
        try:
            self._bind(args, kwargs)
        except _OfOtherExtents:
            self._is_of_any_extents = False
            self._bind(args, kwargs)
        self._sources = {
            k: _real(self._in_memory_order(leaf)) for k, leaf in enumerate(self._invocation.passed)
        }
        self._memory = memory_of(self._sources.values())

    _is_of_any_extents = True
    """Whether the program is for any extents but 0 and 1: one for these alone is made where that one does not fit."""

    def _bind(self, args: tuple, kwargs: dict[str, Any]) -> None:
        """Make the program, and bind it to the arguments."""
        function = self._function
        self.described = described = tuple([self._described(value) for value in args])
        self.named = named = {name: self._described(value) for name, value in kwargs.items()}
        self._program = function.lower(*described, **named).program
        if counts := step_counts(self._program) & set(function._names) - function._static:
            self._function = _for_these_counts(function, counts)
            return self._bind(args, kwargs)
        leaves = function._leaves(described, named)
        if self._program.inputs:
            leaves = function._with_inputs(leaves, self._program.inputs)
            assert leaves is not None
        self._values = [self._arrays.get(id(value), value) for value in leaves[1]]
        self._refuse()
        self._invocation = self._invoked()

    def _in_memory_order(self, leaf: int) -> Any:
        """A value with its axes as the program has them: outermost in memory first."""
        value, order = self._values[leaf], self._invocation.orders.get(leaf)
        return value if order is None else value.transpose(order)

    def _described(self, value: Any) -> Any:
        """The description of a Dask array, in its place."""
        if isinstance(value, dict):
            return {key: self._described(one) for key, one in value.items()}
        if type(value) in (tuple, list):
            return type(value)([self._described(one) for one in value])
        if not is_dask(value):
            return value
        if any(np.isnan(extent) for extent in value.shape):
            raise UnsupportedError(
                "a Dask array has chunks of unknown size", hint="call x.compute_chunk_sizes() before"
            )
        self._check_chunks(type(getattr(value, "_meta", None)))
        is_any = self._is_of_any_extents
        extents = [f"n{int(n)}" if is_any and n > 1 else int(n) for n in value.shape]
        made = spec(tuple(extents), value.dtype)
        self._arrays[id(made)] = value
        self._kept.append(made)
        return made

    def _check_chunks(self, kind: type) -> None:
        """Raise UnsupportedError where programs of this target do not take chunks of a class."""
        if kind is np.ndarray or (is_cupy(kind) and self._function.target == "cuda"):
            return
        numpys = "pass one with chunks of NumPy: x.map_blocks(np.asarray)"
        cupys = 'nt.jit(f, target="cuda") computes them on the device; or chunks of NumPy: x.map_blocks(cupy.asnumpy)'
        raise UnsupportedError(
            f"a Dask array has chunks that are {kind.__module__}.{kind.__qualname__}, "
            f'and the function is for target "{self._function.target}"',
            hint=cupys if is_cupy(kind) else numpys,
        )

    @cached_property
    def _kept(self) -> list[Any]:
        return []

    def _refuse(self) -> None:
        name, program = self._program.name, self._program
        if program.written or program.changes:
            raise UnsupportedError(
                f"'{name}' writes to its arguments, and Dask arrays are not written",
                hint="write to a copy: y = x.copy()",
            )
        if any(one.dtype in PARTS and one.kind != "array" for one in program.arguments):
            raise UnsupportedError(
                f"'{name}' is given a complex number, and numbers are given to chunks as they are in registers",
                hint="write it in the function, or pass an array of one element",
            )
        if any(output.allocated is not None or output.kind in ("tag", "told") for output in program.outputs):
            raise UnsupportedError(
                f"only a run of '{name}' knows the extents of a result, or which one it is",
                hint="call it on x.compute()",
            )

    def _invoked(self) -> Invocation:
        """The results of the program for these extents. Raises ShapeError where they do not fit."""
        program = self._program
        types = [
            changed(one, extents=tuple(map(int, value.shape))) if one.kind == "array" else one
            for one, value in zip(program.arguments, self._values, strict=True)
        ]
        invocation = Invocation(program, lambda _: None, types)
        names = {**invocation.names, **{k: self._values[k] for k in invocation.integers}}
        for guard in program.guards:
            if not guard.holds(names):
                error = _OfOtherExtents if self._is_of_any_extents else ShapeError
                raise error(f"'{program.name}' is not for these extents: {guard.why or guard}")
        invocation.outputs = [changed(output, kind="array") for output in program.outputs]
        return invocation

    # ---- the graph ----------------------------------------------------------------------------------

    def results(self) -> Any:
        """The results, as Dask arrays."""
        layers, wanted = self._planned
        name, log = self._program.name, self._log
        is_strict = self._function.strict == "fast"
        for remark in layers.remarks:
            log.note("schedule", remark)
            if is_strict:
                raise UnsupportedError(
                    f"'{name}' is not divided: {remark}",
                    hint="x.rechunk({axis: -1}) makes them one; without strict= it is computed all the same",
                )
        for remark, holds_all in layers.held(self._names()):
            log.note("schedule", remark)
            if holds_all and is_strict:
                raise UnsupportedError(
                    f"'{name}' does not stream: {remark}",
                    hint="store it and read that (x.to_zarr), or hold it (x.persist()); without strict= Dask spills it",
                )
        made = [layers.results[place] for place in wanted]
        made = [
            _complex(one, output.dtype) if output.dtype in PARTS else one
            for one, output in zip(made, self._program.outputs, strict=True)
        ]
        return self._invocation.assembled(made, self._values, {})

    def facts(self) -> dict[str, Any]:
        """What `explain` says of the chunks, and of what each task reads."""
        return self._planned[0].facts(self._names())

    @cached_property
    def _planned(self) -> tuple[Layers, list[int]]:
        """The plan with its tasks, and the numbers of the results."""
        from ..specialise.stages import lowered_copy

        invocation, program = self._invocation, self._program
        arrays: dict[int, Any] = {}
        scalars: dict[int, Any] = {}
        for k, value in self._sources.items():
            is_array = is_dask(value) or isinstance(value, np.ndarray) or is_cupy(type(value))
            (arrays if is_array else scalars)[k] = value
        wanted: list[int] = []
        shapes: dict[int, tuple[int, ...]] = {}
        dtypes: dict[int, np.dtype] = {}
        sizes = invocation.output_shapes(self._values)
        for j, (output, shape) in enumerate(zip(program.outputs, sizes, strict=True)):
            place = len(self._sources) + j
            shapes[place] = tuple(shape if output.order is None else (shape[axis] for axis in output.order))
            shapes[place] += (2,) * (output.dtype in PARTS)
            dtypes[place] = PARTS.get(output.dtype, output.dtype)
            wanted.append(place)
        nests = lowered_copy(program.module, ("to-loops-for-chunks",), machine=self._function.machine)
        every = [*shapes.values(), *(value.shape for value in arrays.values())]
        is_large = any(prod(shape) >= LARGEST_SMALL for shape in every)
        target = ChunkTarget(self._function.target, self._function.machine, self._memory, is_large)
        layers = Layers(program.name, target, shapes, dtypes, scalars)
        layers.make(nests, arrays, wanted)
        return layers, wanted

    def _names(self) -> dict[Place, str]:
        """The names of the inputs."""
        arguments = self._program.arguments
        return {("input", k): arguments[leaf].name for k, leaf in enumerate(self._invocation.passed)}


_FOR_COUNTS: WeakKeyDictionary[Any, dict[frozenset[str], Any]] = WeakKeyDictionary()
"""Functions to which numbers of steps are constants, by the functions that they are of."""


def _for_these_counts(function: Any, names: set[str]) -> Any:
    """The same function, to which the integers of these parameters are constants: a graph has so many layers."""
    known = _FOR_COUNTS.setdefault(function, {})
    key = frozenset(names)
    if key not in known:
        options = {**function.given_options(), "fallback": None, "static_argnums": ()}
        known[key] = type(function)(
            function, **options | {"static_argnames": (*function._static, *sorted(names))}
        )
    return known[key]


class _OfOtherExtents(ShapeError):
    """A program for any extents is not for those of a call."""


def _real(value: Any) -> Any:
    """A value as programs take it: complex numbers as real ones along an axis more, of 2."""
    dtype = getattr(value, "dtype", None)
    if dtype not in PARTS:
        return value
    if not is_dask(value):
        return real_view(value if is_cupy(type(value)) else np.asarray(value))
    return value.map_blocks(
        real_view,
        dtype=PARTS[dtype],
        chunks=(*value.chunks, (2,)),
        new_axis=[value.ndim],
        meta=memory_of([value]).meta(value.ndim + 1, PARTS[dtype]),
    )


def _complex(array: Any, dtype: np.dtype) -> Any:
    """A Dask array of complex numbers, of their parts along its last axis."""
    return array.map_blocks(
        complex_view,
        dtype=dtype,
        chunks=array.chunks[:-1],
        drop_axis=[array.ndim - 1],
        meta=memory_of([array]).meta(array.ndim - 1, dtype),
    )

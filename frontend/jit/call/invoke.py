"""Calling a compiled program: outputs are allocated, the kernel runs, results are put together as NumPy would."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ....lowering.abi.handed_over import words
from ....runtime.handed_over import release, take
from ....runtime.pool import POOL
from ....runtime.real_parts import PARTS, real_view
from ...interface.argument_types import ArgumentType, binding
from ...interface.errors import DTypeError, ShapeError, UnsupportedError
from ...interface.program_parts import run_name
from ...interface.structures import Maybe, build

if TYPE_CHECKING:
    from ...interface.program_parts import Change, Leaf, Linear, OutputType, Program
    from ..specialise.stages import Kernel


class Invocation:
    """A compiled program bound to the extents of one call signature: everything that need not be worked out again."""

    def __init__(self, program: Program, kernel: Kernel, types: Sequence[ArgumentType]):
        names: dict[Any, int] = dict(binding(program.arguments, types) or {})
        self.program = program
        self.kernel = kernel
        self.native = getattr(kernel, "native", None)
        self.frozen = getattr(kernel, "frozen", None)
        self.names = names
        self.passed = [k for k, t in enumerate(program.arguments) if t.kind not in ("static", "same")]
        self.integers = [k for k, t in enumerate(program.arguments) if t.kind == "int"]
        self.numbers = [
            position
            for position, k in enumerate(self.passed)
            if program.arguments[k].kind != "array" and program.arguments[k].dtype in PARTS
        ]
        """Complex numbers among what is passed: they are in memory."""
        self.has_complex = any(one.dtype in PARTS for one in (*program.arguments, *program.outputs))
        self.orders = {k: t.order for k, t in enumerate(program.arguments) if t.order is not None}
        self.outputs = program.outputs
        self.touches = program.may_change or _has_object(program.results, len(program.arguments))
        """Whether it changes lists, dicts or objects of the caller, or returns them: they follow the values of a call."""
        self.outside = program.captured.memory() if program.written else ()
        self.calls = 0
        self.fastest = float("inf")
        """Seconds that the kernel took in the shortest call, where it can be called natively: in a longer one other
        processes may have had their turn."""
        self.allocates = [k for k, o in enumerate(self.outputs) if o.allocated is not None]
        self.told = [k for k, o in enumerate(self.outputs) if o.kind == "told"]
        made = (
            tuple,
            None,
            [program.results, *[item for change in program.changes for item in change.items]],
        )
        self.flags = _flags_of(made)
        """Of each output that is a result on some paths only: sets of outputs, of one of which all say that it is one."""
        self.results = _asked_for(made, self.outputs)
        """The outputs that a caller may give arrays for."""
        self.shapes = None if self.integers else self._shapes(names)

    def __call__(self, values: Sequence[Any], out: Any = None) -> Any:
        """Run on the leaves of the arguments."""
        names = self.names
        if self.integers:
            names = {**names, **{k: values[k] for k in self.integers}}
        if self.outside:
            self._check_outside(values)
        shapes = self._shapes(names) if self.shapes is None else self.shapes
        arguments, copies = self._arguments(values)
        stored, given = self._buffers(shapes, out, values)
        try:
            self.kernel(
                [*self.as_real(arguments), *self.as_real(stored), *self.frozen_buffers(values, arguments)]
            )
        except BaseException:
            self._release(stored)
            raise
        if self.native is not None:
            self.fastest = min(self.fastest, self.native.seconds)
        if self.allocates or self.told:
            stored, names = self._taken(stored, given), self._with_told(names, stored)
        for original, temporary in copies:
            self.copy_to(original, temporary)
        arrays = self._in_order(stored)
        for k, target in given.items():
            if target is not arrays[k] and self.is_result(k, arrays):
                self.copy_to(target, arrays[k])
        if not self.program.changes:
            return self._assemble(self.program.results, arrays, given, values, names, [])
        made: list[Any] = []
        result = self._assemble(self.program.results, arrays, given, values, names, made)
        new = [
            [self._assemble(item, arrays, given, values, names, made) for item in change.items]
            for change in self.program.changes
        ]
        for change, items in zip(self.program.changes, new, strict=True):
            _apply(change, values[len(self.program.arguments) + change.number], items)
        return result

    def frozen_buffers(self, values: Sequence[Any], arguments: Sequence[Any]) -> Sequence[np.ndarray]:
        """What was computed once for the arrays among `values` that stay the same."""
        if self.frozen is None:
            return ()
        places = self.frozen.arguments
        passed = self.as_real([arguments[k] for k in places])
        return self.frozen.of([values[self.passed[k]] for k in places], passed)

    def as_real(self, arrays: Sequence[Any]) -> Sequence[Any]:
        """Arrays as kernels take them: complex ones as real ones with a last axis of 2."""
        if not self.has_complex:
            return arrays
        return [real_view(a) if getattr(a, "dtype", None) in PARTS else a for a in arrays]

    def assembled(self, stored: Sequence[Any], values: Sequence[Any], given: dict[int, Any]) -> Any:
        """The results of a call, once the kernel has filled the arrays `stored`, which the caller has `given` for some."""
        names = self._with_told(self.names, stored) if self.told else self.names
        if self.integers:
            names = {**names, **{k: values[k] for k in self.integers}}
        return self._assemble(self.program.results, self._in_order(stored), given, values, names, [])

    # ---- results that the program allocates, integers that it tells -----------------------------------

    def _release(self, stored: Sequence[Any]) -> None:
        """Free what a kernel that failed had allocated for its results."""
        for k in self.allocates:
            release(stored[k])

    def _taken(self, stored: Sequence[Any], given: dict[int, np.ndarray]) -> list[Any]:
        """The arrays that a call has filled, those that it has allocated among them."""
        arrays = list(stored)
        for k in self.allocates:
            arrays[k] = take(stored[k], self.outputs[k].dtype)
        for k in self.allocates:
            if k in given and self.is_result(k, arrays):
                one = self.outputs[k]
                _check_given(given[k], one, _in_order(arrays[k], one.order).shape)
        return arrays

    def is_result(self, k: int, arrays: Sequence[Any]) -> bool:
        """Whether a call gives back an output: not where it gave None instead."""
        sets = self.flags.get(k)
        return sets is None or any(all(bool(arrays[flag]) for flag in flags) for flags in sets)

    def _with_told(self, names: dict[Any, int], stored: Sequence[Any]) -> dict[Any, int]:
        return {**names, **{run_name(k): int(stored[k]) for k in self.told}}

    def _in_order(self, stored: Sequence[Any]) -> list[Any]:
        return [_in_order(a, o.order) for a, o in zip(stored, self.outputs, strict=True)]

    def _shapes(self, names: dict[Any, int]) -> list[tuple[int, ...]]:
        return [tuple([e.value(names) for e in o.extents]) for o in self.outputs]

    def output_shapes(self, values: Sequence[Any]) -> list[tuple[int, ...]]:
        """The shapes of the outputs of a call."""
        return self._shapes({**self.names, **{k: values[k] for k in self.integers}})

    def _arguments(self, values: Sequence[Any]) -> tuple[list[Any], list[tuple[np.ndarray, np.ndarray]]]:
        arguments: list[Any] = []
        copies: list[tuple[np.ndarray, np.ndarray]] = []
        for k in self.passed:
            value = values[k]
            if k in self.orders:
                value = value.transpose(self.orders[k])
            if isinstance(value, self.array_types) and not self.addressable(value):
                self._check_apart(k)
                fresh = value.copy(order="K")
                if k in self.program.written and getattr(value.flags, "writeable", True):
                    copies.append((value, fresh))
                value = fresh
            arguments.append(value)
        for position in self.numbers:
            dtype = self.program.arguments[self.passed[position]].dtype
            arguments[position] = np.asarray(arguments[position], dtype)
        return arguments, copies

    def _check_outside(self, values: Sequence[Any]) -> None:
        """Raise where an argument that is written is in memory of an array whose elements were compiled in."""
        for k in self.program.written:
            value = values[k]
            if isinstance(value, np.ndarray) and any(np.may_share_memory(value, one) for one in self.outside):
                raise UnsupportedError(
                    f"argument '{self.program.arguments[k].name}' is written, and is in the memory of an array that the "
                    "function reads from outside: what is written would be missed there",
                    hint="pass that array as an argument",
                )

    def _check_apart(self, k: int) -> None:
        """Raise for an argument that has to be copied, where other arguments are in the same memory."""
        argument = self.program.arguments[k]
        if argument.overlap is None:
            return
        raise UnsupportedError(
            f"argument '{argument.name}' overlaps another one, and its elements are not aligned or not a whole number "
            "of elements apart: compiled code would work on a copy of it, which does not see what is written to the other",
            hint="pass a copy of one of them, if they need not overlap",
        )

    def _buffers(
        self, shapes: Sequence[tuple[int, ...]], out: Any, values: Sequence[Any]
    ) -> tuple[list[np.ndarray], dict[int, np.ndarray]]:
        """The arrays that the kernel fills, and the caller's `out` by output."""
        stored = []
        given = _given(out, self.outputs, self.results, shapes, self.array_types)
        for k, (one, shape) in enumerate(zip(self.outputs, shapes, strict=True)):
            if one.allocated is not None:
                stored.append(np.zeros(words(one.allocated), np.int64))
                continue
            target = given.get(k)
            direct = (
                target is not None
                and k not in self.flags
                and isinstance(target, self.array_types[0])
                and one.order is None
                and target.flags.c_contiguous
                and self.addressable(target)
                and self.is_apart(target, [*values, *[other for j, other in given.items() if j != k]])
            )
            if direct:
                assert target is not None
                stored.append(target)
                continue
            stored.append(self.empty(_in_memory(shape, one.order), one.dtype))
        return stored, given

    array_types: tuple[type, ...] = (np.ndarray,)
    """What arguments and `out` may be; results are of the first of them."""

    def empty(self, shape: tuple[int, ...], dtype: np.dtype) -> Any:
        """An array for a result."""
        return POOL.empty(shape, dtype)

    def copy_to(self, target: Any, source: Any) -> None:
        """Copy the elements of an array."""
        np.copyto(target, source)

    def addressable(self, array: Any) -> bool:
        """Whether elements are aligned, and a whole number of elements apart."""
        return addressable(array)

    def is_apart(self, target: Any, values: Sequence[Any]) -> bool:
        """Whether an array shares no memory with an argument."""
        return not any(isinstance(v, np.ndarray) and np.may_share_memory(v, target) for v in values)

    def _assemble(
        self,
        result: Any,
        arrays: Sequence[np.ndarray],
        given: dict[int, np.ndarray],
        values: Sequence[Any],
        names: dict,
        made: list[Any],
    ) -> Any:
        """An object of the result; `made` are those that were made before."""
        if isinstance(result, tuple):
            kind, keys, items = result
            parts = [self._assemble(item, arrays, given, values, names, made) for item in items]
            made.append(build(kind, keys, parts))
        elif result.how == "again":
            return made[result.value]
        else:
            made.append(_RESULTS[result.how](self, result, arrays, given, values, names))
        return made[-1]


def _has_object(result: Any, count: int) -> bool:
    """Whether a list, dict or object of the caller is in a result."""
    if isinstance(result, tuple):
        return any(_has_object(item, count) for item in result[2])
    return result.how == "argument" and result.argument >= count


def _leaves(result: Any, flags: tuple[int, ...] = ()) -> Iterator[tuple[Leaf, tuple[int, ...]]]:
    """The leaves of a result, with the outputs that say whether it is there; these are no leaves."""
    if not isinstance(result, tuple):
        yield result, flags
        for inner in (result.value,) if hasattr(result.value, "how") else ():
            yield from _leaves(inner, flags)
        if result.how == "zipped":
            for column in result.value[1]:
                yield from _leaves(column, flags)
        return
    kind, _, items = result
    if kind is Maybe and items[0].how == "output":
        yield from _leaves(items[1], (*flags, items[0].output))
        return
    for item in items:
        yield from _leaves(item, flags)


def _flags_of(results: Any) -> dict[int, list[tuple[int, ...]]]:
    found: dict[int, list[tuple[int, ...]]] = {}
    for leaf, flags in _leaves(results):
        if leaf.output >= 0:
            found.setdefault(leaf.output, []).append(flags)
    return {output: sets for output, sets in found.items() if all(sets)}


def _asked_for(results: Any, outputs: Sequence[OutputType]) -> list[int]:
    """What is a result: neither an output that says which one is, nor one that says whether there is one."""
    leaves = list(_leaves(results))
    used, hidden = {leaf.output for leaf, _ in leaves}, {flag for _, flags in leaves for flag in flags}
    return [k for k, one in enumerate(outputs) if one.kind not in ("tag", "told") and k not in hidden - used]


def _apply(change: Change, target: Any, items: list[Any]) -> None:
    """Change a list, dict or object of the caller."""
    if change.kind is list:
        target[:] = items[0] if change.names is None and _is_rows(change) else items
    elif change.kind is dict:
        target.clear()
        target.update(zip(change.names or (), items, strict=True))
    else:
        for name in change.deleted:
            object.__delattr__(target, name)
        for name, item in zip(change.names or (), items, strict=True):
            object.__setattr__(target, name, item)


def _is_rows(change: Change) -> bool:
    """Whether all items are made at once."""
    return len(change.items) == 1 and getattr(change.items[0], "how", "") == "rows"


def addressable(array: np.ndarray) -> bool:
    """Whether elements are aligned, and a whole number of elements apart."""
    size = array.itemsize
    return array.flags.aligned and (array.flags.c_contiguous or all(s % size == 0 for s in array.strides))


def _in_memory(shape: tuple[int, ...], order: tuple[int, ...] | None) -> tuple[int, ...]:
    """A shape as it is in memory, outermost axis first."""
    return shape if order is None else tuple([shape[axis] for axis in order])


def _in_order(array: np.ndarray, order: tuple[int, ...] | None) -> np.ndarray:
    """The filled array with its axes in the order of the program."""
    if order is None:
        return array
    return array.transpose([order.index(axis) for axis in range(len(order))])


def _given(
    out: Any,
    outputs: Sequence[OutputType],
    results: Sequence[int],
    shapes: Sequence[tuple[int, ...]],
    array_types: tuple[type, ...],
) -> dict[int, np.ndarray]:
    if out is None:
        return {}
    targets = out if isinstance(out, tuple | list) else (out,)
    if len(targets) != len(results):
        raise ShapeError(
            f"out= has {len(targets)} arrays for {len(results)} results that are computed",
            hint="give an array for each result, of its shape and dtype: out=np.empty_like(y)",
        )
    for target, k in zip(targets, results, strict=True):
        one, shape = outputs[k], shapes[k]
        if not isinstance(target, array_types):
            wanted = f"{array_types[0].__module__}.{array_types[0].__name__}"
            raise DTypeError(
                f"out= must be an array ({wanted}), not {type(target).__name__}",
                hint="give an array of the shape and dtype of the result",
            )
        if one.allocated is None:
            _check_given(target, one, shape)
        if not getattr(target.flags, "writeable", True):
            raise ShapeError("output array is read-only")
    return dict(zip(results, targets, strict=True))


def _check_given(target: Any, one: OutputType, shape: tuple[int, ...]) -> None:
    if target.shape != shape or target.dtype != one.dtype:
        raise ShapeError(
            f"out= is {target.dtype}{list(target.shape)}, the result is {one.dtype}{list(shape)}",
            hint="give an array of the same shape and dtype",
        )


# ---- results ----------------------------------------------------------------------------------------


def _constant(call: Invocation, leaf: Leaf, arrays: Any, given: Any, values: Any, names: Any) -> Any:
    return leaf.value


def _argument(call: Invocation, leaf: Leaf, arrays: Any, given: Any, values: Any, names: Any) -> Any:
    return values[leaf.argument]


def _item(call: Invocation, leaf: Leaf, arrays: Any, given: Any, values: Any, names: Any) -> Any:
    """What an object of the caller had before the call."""
    owner = values[leaf.argument]
    return owner[leaf.value] if isinstance(owner, list | dict) else getattr(owner, leaf.value)


def _integer(call: Invocation, leaf: Leaf, arrays: Any, given: Any, values: Any, names: Any) -> int:
    return leaf.value.value(names)


def _view(call: Invocation, leaf: Leaf, arrays: Any, given: Any, values: Any, names: Any) -> np.ndarray:
    """A basic-indexing view of an argument or of another result, by its own strides."""
    if leaf.value is None:
        return _window(values[leaf.argument], leaf.view, names)
    return _window(_RESULTS[leaf.value.how](call, leaf.value, arrays, given, values, names), leaf.view, names)


def _window(array: np.ndarray, recipe: Any, names: Any) -> np.ndarray:
    fixed, axes = recipe
    items: list[Any] = [slice(None)] * array.ndim
    for axis, offset in fixed:
        items[axis] = offset.value(names)
    for root, offset, stride, extent in axes:
        if root is not None:
            items[root] = _python_slice(offset.value(names), stride, extent.value(names))
    window = array[(*items, Ellipsis)]
    roots = [root for root, *_ in axes if root is not None]
    window = window.transpose([sorted(roots).index(root) for root in roots])
    if not axes:
        return window
    window = window[tuple([None if root is None else slice(None) for root, *_ in axes])]
    if all(root is not None for root, *_ in axes):
        return window
    return window[
        tuple([slice(None if root is not None else extent.value(names)) for root, *_, extent in axes])
    ]


def _python_slice(start: int, stride: int, extent: int) -> slice:
    stop = start + stride * extent
    return slice(start, None if stop < 0 else stop, stride) if extent else slice(0, 0)


def _extents(parameters: Any, names: Any) -> list[int]:
    return [e.value(names) for e in parameters]


def _broadcast_arrays(array: np.ndarray, parameters: Any, names: Any) -> np.ndarray:
    return np.broadcast_arrays(array, np.broadcast_to(False, _extents(parameters, names)))[0]


_MAKERS: dict[str, Callable[[Any, Any, Any], Any]] = {
    "reshape": lambda array, shape, names: np.reshape(array, _extents(shape, names)),
    "ravel": lambda array, shape, names: np.ravel(array),
    "broadcast": lambda array, shape, names: np.broadcast_to(array, _extents(shape, names)),
    "broadcast_arrays": _broadcast_arrays,
    "diagonal": lambda array, parameters, names: np.diagonal(array, *parameters),
    "einsum_diagonal": lambda array, parameters, names: np.einsum("ii->i", array),
    "real": lambda array, parameters, names: array.real,
    "imag": lambda array, parameters, names: array.imag,
    "windows": lambda array, parameters, names: np.lib.stride_tricks.sliding_window_view(array, *parameters),
}
"""What NumPy makes of an array: a view, or a copy where it has no choice."""

VIEWS = frozenset(("view", *_MAKERS))
"""How results are made that share memory with what they are made from."""


def _derived(call: Invocation, leaf: Leaf, arrays: Any, given: Any, values: Any, names: Any) -> np.ndarray:
    """What NumPy makes of an argument or another result, or of a view of one; then a window of that."""
    parameters, window = leaf.view
    inner = _RESULTS[leaf.value.how](call, leaf.value, arrays, given, values, names)
    result = _MAKERS[leaf.how](inner, parameters, names)
    return result if window is None else _window(result, window, names)


def read_only(array: Any) -> Any:
    """A view that cannot be written; arrays of a GPU have no such flag."""
    if not isinstance(array, np.ndarray):
        return array
    result = array.view()
    result.flags.writeable = False
    return result


def _read_only(call: Invocation, leaf: Leaf, arrays: Any, given: Any, values: Any, names: Any) -> Any:
    """An array for which NumPy gives a view that cannot be written; the caller's `out` stays as it is."""
    result = _output(call, leaf, arrays, given, values, names)
    return result if leaf.output in given else read_only(result)


def _output(call: Invocation, leaf: Leaf, arrays: Any, given: Any, values: Any, names: Any) -> Any:
    if leaf.output in given:
        return given[leaf.output]
    array, kind = arrays[leaf.output], call.outputs[leaf.output].kind
    if kind == "array":
        return array
    return array[()] if kind == "scalar" else array.item()


def _rows(call: Invocation, leaf: Leaf, arrays: Any, given: Any, values: Any, names: Any) -> list[Any]:
    """A list that a loop made."""
    array = _output(call, leaf, arrays, given, values, names)
    return list(array) if leaf.value is None else array.tolist()


def _zipped(call: Invocation, leaf: Leaf, arrays: Any, given: Any, values: Any, names: Any) -> list[Any]:
    """A list of tuples, or of lists, that a loop made."""
    record, columns = leaf.value
    items = zip(*[_rows(call, column, arrays, given, values, names) for column in columns], strict=True)
    return [record(item) if record in (tuple, list) else record(*item) for item in items]


def _chosen(call: Invocation, leaf: Leaf, arrays: Any, given: Any, values: Any, names: Any) -> Any:
    """One of several strings."""
    return leaf.value[int(arrays[leaf.output])]


def late_result(leaf: Leaf, call: Invocation) -> Callable[[Any], Any]:
    """What makes a view or a reshaped array of the argument."""
    make, names = _RESULTS[leaf.how], dict(call.names)
    return lambda argument: make(call, leaf, (), {}, {leaf.argument: argument}, names)


def _choice(call: Invocation, leaf: Leaf, arrays: Any, given: Any, values: Any, names: Any) -> Any:
    """An argument, a view of one, or what the kernel filled: the kernel says which. Into `out` its contents go."""
    chosen = leaf.value.get(int(arrays[leaf.tag]))
    if chosen is None:
        return _output(call, leaf, arrays, given, values, names)
    result = call._assemble(chosen, arrays, given, values, names, [])
    if leaf.output not in given or not call.is_result(leaf.output, arrays):
        return result
    call.copy_to(given[leaf.output], result)
    return given[leaf.output]


_RESULTS: dict[str, Any] = {
    "choice": _choice,
    "constant": _constant,
    "argument": _argument,
    "item": _item,
    "integer": _integer,
    "view": _view,
    **dict.fromkeys(_MAKERS, _derived),
    "read-only": _read_only,
    "output": _output,
    "chosen": _chosen,
    "rows": _rows,
    "zipped": _zipped,
}

__all__ = ["Invocation", "Linear"]

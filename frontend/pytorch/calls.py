"""Calls of what was compiled for PyTorch: tensors in, tensors out, without copies."""

# pyright: reportMissingImports=false
from __future__ import annotations

import itertools
import weakref
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

import numpy as np
import torch
from torch import fx

from .importing import Import, Program


def array_of(tensor: Any) -> Any:
    """The memory of a tensor as an array; numbers as they are."""
    kind = type(tensor)
    if kind is int or kind is float or kind is bool:
        return tensor
    if tensor.dtype is torch.bfloat16:
        from ml_dtypes import bfloat16

        return tensor.detach().view(torch.int16).numpy().view(bfloat16)
    try:
        return tensor.numpy()
    except RuntimeError:  # it records gradients, or is negated where it is read
        return tensor.detach().resolve_conj().resolve_neg().numpy()


def tensor_of(array: Any) -> torch.Tensor:
    """The tensor of the memory of a result."""
    if type(array) is not np.ndarray:
        array = np.asarray(array)
    if array.dtype.kind == "V" or array.dtype.name == "bfloat16":
        return torch.from_numpy(array.view(np.int16)).view(torch.bfloat16)
    return torch.from_numpy(array)


class _Kept:
    """The array of a parameter, as long as that is in the same memory; `versioned`: and has not been changed."""

    def __init__(self, versioned: bool):
        self._versioned = versioned
        self._known: tuple[weakref.ref[torch.Tensor], int, int, Any] | None = None
        """The tensor, its address and version, and the array: replaced as one, for other threads call too."""

    def array(self, tensor: torch.Tensor) -> Any:
        """The array; the same object where nothing has changed."""
        known = self._known
        is_there = known is not None and known[0]() is tensor and known[1] == tensor.data_ptr()
        if known is not None and is_there and (not self._versioned or known[2] == _version(tensor)):
            return known[3]
        version = _version(tensor) if self._versioned else -1
        array, address = array_of(tensor), tensor.data_ptr()
        if self._versioned:
            array.flags.writeable = False  # a constant of the program
        self._known = weakref.ref(tensor, self._forget), address, version, array
        return array

    def _forget(self, gone: Any) -> None:
        known = self._known
        if known is not None and known[0] is gone:
            self._known = None


def _version(tensor: torch.Tensor) -> int:
    """The version counter of a tensor; of one that has none, made in inference mode, a number that nothing equals."""
    return next(_NEW) if tensor.is_inference() else tensor._version


_NEW = itertools.count(-2, -1)


class _ProgramCall:
    """One program in the run of a graph. Parameters in `frozen` are constants of it."""

    def __init__(
        self,
        function: Callable[..., Any],
        inputs: Sequence[int],
        outputs: Sequence[tuple[int, bool]],
        frozen: frozenset[int] = frozenset(),
        is_open: bool = False,
    ):
        self.function = function
        self.inputs = inputs
        self.outputs = outputs
        """The places of results, and whether a tensor of it is made by PyTorch alone: of arrays of NumPy's dtypes."""
        self._kept: dict[int, _Kept] = {k: _Kept(True) for k in frozen}
        self._keeps = not is_open
        """Whether arrays of parameters are kept: where extents are known, the same memory has the same shape."""

    def __call__(self, values: list[Any]) -> None:
        kept, arguments = self._kept, []
        for k in self.inputs:
            tensor = values[k]
            one = kept.get(k)
            if one is not None and isinstance(tensor, torch.Tensor):
                arguments.append(one.array(tensor))
                continue
            if self._keeps and type(tensor) is torch.nn.Parameter:
                kept[k] = _Kept(False)
            arguments.append(array_of(tensor))
        results = self.function(*arguments)
        for (k, is_plain), one in zip(self.outputs, results, strict=True):
            values[k] = torch.from_numpy(one) if is_plain else tensor_of(one)


class _TorchCall:
    """One operation that PyTorch runs."""

    def __init__(self, node: fx.Node, number: Mapping[fx.Node, int]):
        self.target: Any = node.target
        self.args = _placed(node.args, number)
        self.kwargs = _placed(dict(node.kwargs), number)
        self.output = number[node]

    def __call__(self, values: list[Any]) -> None:
        args = [_filled(one, values) for one in self.args]
        kwargs = {name: _filled(one, values) for name, one in self.kwargs.items()}
        values[self.output] = self.target(*args, **kwargs)


class _Place:
    def __init__(self, number: int):
        self.number = number


def _placed(argument: Any, number: Mapping[fx.Node, int]) -> Any:
    """An argument with places for the nodes in it."""
    return fx.map_arg(argument, lambda n: _Place(number[n]))  # pyright: ignore


def _filled(argument: Any, values: list[Any]) -> Any:
    if isinstance(argument, _Place):
        return values[argument.number]
    if isinstance(argument, tuple | list):
        return type(argument)([_filled(one, values) for one in argument])
    return argument


class CompiledGraph:
    """What runs in place of a captured graph: a list of tensors in, a list of tensors out."""

    def __init__(
        self,
        imported: Import,
        compile: Callable[[Program], Callable[..., Any]],
        frozen: Collection[fx.Node] = (),
    ):
        self.imported = imported
        nodes = [*imported.placeholders]
        constants = [n for n in imported.module.graph.nodes if n.op == "get_attr"]
        nodes += constants
        self.functions: list[Callable[..., Any]] = []
        produced: list[tuple[Any, list[fx.Node]]] = []
        for part in imported.parts:
            if isinstance(part, Program):
                produced.append((part, part.outputs))
            else:
                produced.append((part, [part]))
            nodes += produced[-1][1]
        number = {node: k for k, node in enumerate(nodes)}
        self.size = len(nodes)
        self.constants = [(number[n], _attribute(imported.module, n.target)) for n in constants]
        self.calls: list[Callable[[list[Any]], None]] = []
        for part, outputs in produced:
            if isinstance(part, Program):
                function = compile(part)
                self.functions.append(function)
                kinds = [(number[n], _is_plain(n.meta["val"])) for n in outputs]
                constant = frozenset([number[n] for n in part.inputs if n in frozen])
                places = [number[n] for n in part.inputs]
                self.calls.append(_ProgramCall(function, places, kinds, constant, bool(part.dynamic)))
            else:
                self.calls.append(_TorchCall(part, number))
        self.results = _placed(imported.output.args[0], number)
        is_flat = all(isinstance(one, _Place) for one in self.results)
        self.places = [one.number for one in self.results] if is_flat else None
        self.count = len(imported.placeholders)
        self.dead = self._dead(produced, number)

    def _dead(self, produced: Sequence[Any], number: Mapping[fx.Node, int]) -> list[list[int]]:
        """The values that nobody needs after each call."""
        last: dict[int, int] = {}
        for place, (part, _) in enumerate(produced):
            inputs = part.inputs if isinstance(part, Program) else part.all_input_nodes
            last.update({number[n]: place for n in inputs})
        kept = {number[n] for n in self.imported.output.all_input_nodes} | {k for k, _ in self.constants}
        found: list[list[int]] = [[] for _ in produced]
        for value, place in last.items():
            if value not in kept:
                found[place].append(value)
        return found

    def boxed(self) -> Callable[[list[Any]], list[Any]]:
        """The function that PyTorch calls."""

        def run(given: list[Any]) -> list[Any]:
            return self.run(given)

        run._boxed_call = True  # pyright: ignore (PyTorch hands over the list, which is emptied)
        run.compiled = self  # pyright: ignore
        return run

    def run(self, given: list[Any]) -> list[Any]:
        """The results for these inputs. The list is emptied: tensors go as soon as nobody needs them."""
        values: list[Any] = [*given, *[None] * (self.size - self.count)]
        given.clear()
        for k, tensor in self.constants:
            values[k] = tensor
        if torch.is_grad_enabled():
            with torch.no_grad():
                self._run(values)
        else:
            self._run(values)
        if self.places is not None:
            return [values[k] for k in self.places]
        return [_filled(one, values) for one in self.results]

    def _run(self, values: list[Any]) -> None:
        for call, dead in zip(self.calls, self.dead, strict=True):
            call(values)
            for k in dead:
                values[k] = None


def _is_plain(value: Any) -> bool:
    """Whether a result comes as an array of a dtype that PyTorch knows, too."""
    return isinstance(value, torch.Tensor) and value.ndim > 0 and value.dtype is not torch.bfloat16


def _attribute(module: Any, name: str) -> Any:
    for part in name.split("."):
        module = getattr(module, part)
    return module

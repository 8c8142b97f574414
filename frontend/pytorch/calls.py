"""Calls of what was compiled for PyTorch: tensors in, tensors out, without copies."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import torch
from torch import fx

from .importing import Import, Program


def array_of(tensor: Any) -> Any:
    """The memory of a tensor as an array; numbers as they are."""
    if type(tensor) is int or type(tensor) is float or type(tensor) is bool:
        return tensor
    if tensor.requires_grad:
        tensor = tensor.detach()
    if tensor.is_conj() or tensor.is_neg():
        tensor = tensor.resolve_conj().resolve_neg()
    if tensor.dtype is torch.bfloat16:
        from ml_dtypes import bfloat16

        return tensor.view(torch.int16).numpy().view(bfloat16)
    return tensor.numpy()


def tensor_of(array: Any) -> torch.Tensor:
    """The tensor of the memory of a result."""
    if type(array) is not np.ndarray:
        array = np.asarray(array)
    if array.dtype.kind == "V" or array.dtype.name == "bfloat16":
        return torch.from_numpy(array.view(np.int16)).view(torch.bfloat16)
    return torch.from_numpy(array)


class _ProgramCall:
    """One program in the run of a graph."""

    def __init__(self, function: Callable[..., Any], inputs: Sequence[int], outputs: Sequence[int]):
        self.function = function
        self.inputs = inputs
        self.outputs = outputs

    def __call__(self, values: list[Any]) -> None:
        results = self.function(*[array_of(values[k]) for k in self.inputs])
        for k, one in zip(self.outputs, results, strict=True):
            values[k] = tensor_of(one)


class _TorchCall:
    """One operation that PyTorch runs."""

    def __init__(self, node: fx.Node, number: Mapping[fx.Node, int]):
        self.target: Any = node.target
        self.args = fx.map_arg(node.args, lambda n: _Place(number[n]))
        self.kwargs = fx.map_arg(dict(node.kwargs), lambda n: _Place(number[n]))
        self.output = number[node]

    def __call__(self, values: list[Any]) -> None:
        args = [_filled(one, values) for one in self.args]
        kwargs = {name: _filled(one, values) for name, one in self.kwargs.items()}
        values[self.output] = self.target(*args, **kwargs)


class _Place:
    def __init__(self, number: int):
        self.number = number


def _filled(argument: Any, values: list[Any]) -> Any:
    if isinstance(argument, _Place):
        return values[argument.number]
    if isinstance(argument, tuple | list):
        return type(argument)([_filled(one, values) for one in argument])
    return argument


class CompiledGraph:
    """What runs in place of a captured graph: a list of tensors in, a list of tensors out."""

    def __init__(self, imported: Import, compile: Callable[[Program], Callable[..., Any]]):
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
                self.calls.append(
                    _ProgramCall(function, [number[n] for n in part.inputs], [number[n] for n in outputs])
                )
            else:
                self.calls.append(_TorchCall(part, number))
        self.results = fx.map_arg(imported.output.args[0], lambda n: _Place(number[n]))
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
        with torch.no_grad():
            for call, dead in zip(self.calls, self.dead, strict=True):
                call(values)
                for k in dead:
                    values[k] = None
        return [_filled(one, values) for one in self.results]


def _attribute(module: Any, name: str) -> Any:
    for part in name.split("."):
        module = getattr(module, part)
    return module

"""`nt.torch_function`: a jitted function as an operation of PyTorch, with a derivative.

All such functions are one operation, `nestor::call(tensors, number)`. The number says which function, for which arguments
that are no tensors: `_VARIANTS` has them. Forward and backward are jitted functions of a text:

    def smooth_forward(x0):
        result = _function(x0, _given1)
        ...
    def smooth_backward(cotangents, x0):
        def primal(x0): return ...
        return _vjp(primal, x0)[1](cotangents)
"""

# pyright: reportMissingImports=false
from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch

from ...dialects.tracebacks import boundary
from ..functional.carried_options import options_of
from ..functional.derivatives import vjp
from ..interface.errors import DTypeError, UnsupportedError
from ..interface.forwarders import ABOUT, label_of, made_of
from ..interface.spec import spec
from ..jit.driver.jit import jit
from .calls import array_of, tensor_of
from .dtypes import numpy_name, torch_type

_PLAIN = (bool, int, float, complex, str, type(None))


class Variant:
    """A function for arguments of which some are tensors, and the others are known."""

    def __init__(self, function: Callable[..., Any], options: dict[str, Any], given: Sequence[Any]):
        self.function = function
        self.floats = [one is _FLOATS for one in given if one in (_FLOATS, _OTHERS)]
        """Of each tensor, whether it has a gradient."""
        self.name = label_of(function)
        places = [k for k, one in enumerate(given) if one in (_FLOATS, _OTHERS)]
        self._names = [f"x{k}" for k in places]
        arguments = [f"x{k}" if k in places else f"_given{k}" for k in range(len(given))]
        self._call = f"_function({', '.join(arguments)})"
        self._space = {"_function": function, "_vjp": vjp, "np": np}
        self._space |= {f"_given{k}": one for k, one in enumerate(given) if k not in places}
        self._options = {**options_of(function), **options}
        text = _FORWARD.format(name=self.name, parameters=", ".join(self._names), call=self._call)
        self.forward = self._jitted(text, "forward")
        self.is_tuple = False
        """Whether the result is a tuple, once it is known."""
        self._backward: dict[tuple[int, ...], Any] = {}

    def backward(self, results: tuple[int, ...]) -> Any:
        """The function of the cotangents of these results, and of the tensors, that gives those of tensors of floats."""
        found = self._backward.get(results)
        if found is None:
            items = [f"result[{k}]" if self.is_tuple else "result" for k in results]
            opened = [name for name, one in zip(self._names, self.floats, strict=True) if one]
            text = _BACKWARD.format(
                name=self.name,
                parameters=", ".join(["cotangents", *self._names]),
                opened=", ".join(opened),
                call=self._call,
                items="".join([f"{item}, " for item in items]),
            )
            found = self._backward[results] = self._jitted(text, "backward")
        return found

    def _jitted(self, text: str, half: str) -> Any:
        space = dict(self._space)
        made = made_of(text, f"{self.name}_{half}", space, f"<nt.torch_function of {self.name}")
        setattr(made, ABOUT, self.function)
        return jit(made, **self._options)

    def specs(self, tensors: Sequence[torch.Tensor]) -> list[tuple[tuple[int, ...], np.dtype]]:
        """Shapes and dtypes of the results. The shapes of the tensors are taken as known."""
        types = [spec(tuple([int(n) for n in t.shape]), numpy_name(t.dtype)) for t in tensors]
        program = self.forward.lower(*types).program
        self.is_tuple = bool(program.results[2][0].value)
        return [(tuple([e.value({}) for e in one.extents]), one.dtype) for one in program.outputs]


_FORWARD = """def {name}_forward({parameters}):
    result = {call}
    if isinstance(result, tuple):
        return True, tuple([np.array(one) for one in result])
    return False, (np.array(result),)
"""

_BACKWARD = """def {name}_backward({parameters}):
    def primal({opened}):
        result = {call}
        return ({items})
    _, pullback = _vjp(primal, {opened})
    return pullback(cotangents)
"""

_FLOATS, _OTHERS = "a tensor of floats", "another tensor"
"""Instead of an argument."""

_VARIANTS: list[Variant] = []
_NUMBERS: dict[Any, int] = {}


def made(function: Callable[..., Any], options: dict[str, Any]) -> Callable[..., Any]:
    """What `nt.torch_function` gives."""
    if not callable(function):
        raise DTypeError(f"{function!r} is not a function", hint="nt.torch_function takes functions")

    @torch.compiler.assume_constant_result
    def number_of(*parts: Any) -> int:
        """The variant for arguments: for each what it is, and its value where it is no tensor."""
        key = id(function), tuple([(type(one), one) for one in parts])
        found = _NUMBERS.get(key)
        if found is None:
            given = [
                value if kind == "known" else kind
                for kind, value in zip(parts[::2], parts[1::2], strict=True)
            ]
            _VARIANTS.append(Variant(function, options, given))
            found = _NUMBERS[key] = len(_VARIANTS) - 1
        return found

    @functools.wraps(function)
    def call(*args: Any) -> Any:
        parts: list[Any] = []
        for one in args:
            if isinstance(one, torch.Tensor):
                parts += [_FLOATS if one.dtype.is_floating_point else _OTHERS, 0]
                continue
            if not isinstance(one, _PLAIN):
                raise DTypeError(
                    f"an argument of '{name}' is a {type(one).__name__}",
                    hint="nt.torch_function passes tensors, numbers, texts and None",
                )
            parts += ["known", one]
        number = number_of(*parts)
        results = torch.ops.nestor.call([one for one in args if isinstance(one, torch.Tensor)], number)
        return tuple(results) if _is_tuple(number) else results[0]

    name = label_of(function)
    return call


@torch.compiler.assume_constant_result
def _is_tuple(number: int) -> bool:
    return _VARIANTS[number].is_tuple


def _arrays(tensors: Sequence[torch.Tensor]) -> list[np.ndarray]:
    """The memory of tensors, which compiled code is not to write to."""
    arrays = []
    for one in tensors:
        if one.device.type != "cpu":
            raise UnsupportedError(f"a tensor is on device '{one.device}'", hint="pass x.cpu()")
        array = array_of(one)
        array.flags.writeable = False
        arrays.append(array)
    return arrays


@torch.library.custom_op("nestor::call", mutates_args=())
def _call(tensors: list[torch.Tensor], number: int) -> list[torch.Tensor]:
    variant = _VARIANTS[number]
    variant.is_tuple, results = variant.forward(*_arrays(tensors))
    return [tensor_of(one) for one in results]


@_call.register_fake
def _(tensors: list[torch.Tensor], number: int) -> list[torch.Tensor]:
    specs = _VARIANTS[number].specs(tensors)
    return [torch.empty(shape, dtype=torch_type(dtype)) for shape, dtype in specs]


@torch.library.custom_op("nestor::call_backward", mutates_args=())
def _call_backward(
    cotangents: list[torch.Tensor], tensors: list[torch.Tensor], number: int, results: list[int]
) -> list[torch.Tensor]:
    given = tuple(_arrays([one.contiguous() for one in cotangents]))
    made = _VARIANTS[number].backward(tuple(results))(given, *_arrays(tensors))
    return [tensor_of(np.array(one)) for one in made]


@_call_backward.register_fake
def _(
    cotangents: list[torch.Tensor], tensors: list[torch.Tensor], number: int, results: list[int]
) -> list[torch.Tensor]:
    pairs = zip(tensors, _VARIANTS[number].floats, strict=True)
    return [torch.empty(t.shape, dtype=t.dtype) for t, is_float in pairs if is_float]


def _setup(ctx: Any, inputs: Any, output: Any) -> None:
    tensors, ctx.number = inputs
    ctx.save_for_backward(*tensors)
    ctx.results = [k for k, one in enumerate(output) if one.dtype.is_floating_point]


def _backward(ctx: Any, grads: Sequence[torch.Tensor]) -> Any:
    tensors, floats = list(ctx.saved_tensors), _VARIANTS[ctx.number].floats
    if not any(floats) or not ctx.results:
        return [None] * len(tensors), None
    cotangents = [grads[k] for k in ctx.results]
    found = iter(torch.ops.nestor.call_backward(cotangents, tensors, ctx.number, ctx.results))
    return [next(found) if is_float else None for is_float in floats], None


_call.register_autograd(_backward, setup_context=_setup)


@boundary
def _no_vmap(info: Any, in_dims: Any, tensors: Sequence[torch.Tensor], number: int) -> Any:
    name = _VARIANTS[number].name
    raise UnsupportedError(
        f"torch.vmap of '{name}', which nt.torch_function made, is not supported",
        hint=f"nt.torch_function(nt.vmap({name})) is a function of whole stacks",
    )


torch.library.register_vmap(_call, _no_vmap)

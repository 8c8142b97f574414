"""A call of a GPU program that was worked out once: what the host function launched for one signature, written down.

    def scale(run, x, out):
        n = x.shape[0]
        blocks = ceil_divide(n, 256)
        run.launch('scale', (blocks, 1, 1), (256, 1, 1), (x, out))

becomes, for float32 arrays of 1000 elements in row-major order,

    def planned(device, x, out):
        device.launch('scale', (4, 1, 1), (256, 1, 1), [x, out, c0], 0)     # c0 = np.int32(1000)

Extents, strides, sizes of grids and whether addresses are aligned are those of the signature: a plan is for calls that have
the same ones (`Described`), which its caller makes sure of. Numbers given to the program stay parameters. A program that
decides something by such a number, reads elements back, or has checks to wait for has no plan.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import SimpleNamespace
from typing import Any, NoReturn

import numpy as np

from .. import scalars
from .device_arrays import ALIGNMENT
from .host_program import HostProgram, functions_of
from .launch_arguments import SCALARS_BY_NAME, packer_of


class NotPlanned(Exception):
    """What a program does depends on more than the signature."""


class Described:
    """An array of a signature, without its elements: what the host function may ask of one."""

    def __init__(self, text: str, shape: tuple[int, ...], strides: tuple[int, ...], itemsize: int, low: int):
        self.text = text
        self.shape, self.strides, self.itemsize = shape, strides, itemsize
        self.data = SimpleNamespace(ptr=low % ALIGNMENT)
        self.flags = SimpleNamespace(c_contiguous=0 in shape or self._is_row_major())

    def _is_row_major(self) -> bool:
        step = self.itemsize
        for extent, stride in zip(reversed(self.shape), reversed(self.strides), strict=True):
            if extent != 1 and stride != step:
                return False
            step *= extent
        return True

    @classmethod
    def fresh(cls, text: str, shape: Sequence[int], itemsize: int, low: int = 0) -> Described:
        """One in row-major order, as allocators give."""
        strides, step = [], itemsize
        for extent in reversed(shape):
            strides.append(step)
            step *= extent
        return cls(text, tuple(shape), tuple(reversed(strides)), itemsize, low)

    def reshape(self, shape: Sequence[int]) -> Described:
        """The same memory with other axes; kernels get its address, which is the same."""
        return Described.fresh(self.text, shape, self.itemsize, self.data.ptr)


class _Number:
    """A number of a call, or what is computed from some: an expression, which decides nothing."""

    __array_ufunc__ = None

    def __init__(self, text: str):
        self.text = text

    def _unknown(self, *_: Any) -> NoReturn:
        raise NotPlanned

    __bool__ = __int__ = __float__ = __index__ = __getattr__ = _unknown
    __eq__ = __ne__ = __lt__ = __le__ = __gt__ = __ge__ = _unknown  # pyright: ignore[reportAssignmentType]
    __hash__ = None  # pyright: ignore[reportAssignmentType]

    def astype(self, kind: _Lifted) -> _Number:
        """The number converted as NumPy's scalars are."""
        return _Number(f"{self.text}.astype({kind.name})")


class _Recorder:
    """A device that writes down what it is told to do."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.constants: dict[str, Any] = {}

    def allocate(self, shape: tuple[int, ...], dtype: np.dtype) -> Described:
        text = f"t{len(self.lines)}"
        self.lines.append(f"{text} = device.allocate({shape}, {self.constant(dtype)})")
        return Described.fresh(text, shape, dtype.itemsize)

    def view(self, memory: Described, offset: int, shape: tuple[int, ...], dtype: np.dtype) -> Described:
        text = f"t{len(self.lines)}"
        self.lines.append(f"{text} = device.view({memory.text}, {offset}, {shape}, {self.constant(dtype)})")
        return Described.fresh(text, shape, dtype.itemsize)

    def launch(
        self, kernel: str, grid: Sequence[int], block: Sequence[int], arguments: list[Any], shared: int = 0
    ) -> None:
        items = ", ".join(map(self.text, arguments))
        self.lines.append(f"launch({kernel!r}, {tuple(grid)}, {tuple(block)}, [{items}], {shared})")

    def _unplanned(self, *_: Any) -> NoReturn:
        raise NotPlanned

    copy = read_element = new_error_record = read_error_record = _unplanned

    def text(self, argument: Any) -> str:
        """How a launch writes an argument."""
        return argument.text if isinstance(argument, Described | _Number) else self.constant(argument)

    def constant(self, value: Any) -> str:
        """A name for what is the same in all calls."""
        name = f"c{len(self.constants)}"
        self.constants[name] = value
        return name


VARIES: Any = object()
"""Instead of an argument: a number that is another one in each call."""


def plan_of(host: HostProgram, arguments: Sequence[Any]) -> Callable[..., None] | None:
    """What queues the program on a device, given arguments of this signature: `Described` arrays, numbers that are the same
    in all calls, and VARIES for others. Its attribute `launches` is how many kernels it queues.

    None where the program is not the same for all calls of the signature.
    """
    recorder = _Recorder()
    names = [f"a{k}" for k in range(len(arguments))]
    try:
        values = [
            _described(argument, name) if kind is None else _number(argument, kind, name)
            for argument, name, kind in zip(arguments, names, host.parameters, strict=True)
        ]
        scalars = _symbolic({f"np_{name}": kind for name, kind in SCALARS_BY_NAME.items()}, recorder)
        scalars = {name.removeprefix("np_"): kind for name, kind in scalars.items()}
        packers = {name: packer_of(one, scalars) for name, one in host.cuda.signatures.items()}
        functions = _symbolic({**functions_of(host.source), "int": int}, recorder)
        host.record(recorder, packers, functions, values)
    except (NotPlanned, TypeError):
        return None
    lines = recorder.lines or ["pass"]
    head = f"def planned({', '.join(['device', *names])}):"
    body = ["launch = device.launch", *lines]
    if any(isinstance(value, _Number) for value in values):
        body = ["with errstate(all='ignore'):", *(f"    {line}" for line in body)]
    text = "\n".join([head, *(f"    {line}" for line in body), ""])
    namespace = {
        **functions_of(host.source),
        **{f"np_{name}": kind for name, kind in SCALARS_BY_NAME.items()},
        **recorder.constants,
        "errstate": np.errstate,
    }
    exec(compile(text, f"<plan of {host.name}>", "exec"), namespace)
    planned = namespace["planned"]
    planned.launches = sum(line.startswith("launch(") for line in recorder.lines)
    return planned


def _described(argument: Any, name: str) -> Described:
    if not isinstance(argument, Described):
        raise NotPlanned
    argument.text = name
    return argument


def _number(argument: Any, kind: str, name: str) -> Any:
    if argument is not VARIES:
        return scalars.named_scalar(argument, kind)
    if kind not in ("f32", "f64", "i32", "i64"):
        raise NotPlanned
    return _Number(f"{kind}({name})")


class _Lifted:
    """A function of scalars that makes an expression of numbers that are not known; a type of NumPy is one still."""

    def __init__(self, name: str, function: Callable[..., Any], recorder: _Recorder):
        self.name, self._function, self._recorder = name, function, recorder
        if isinstance(function, type) and issubclass(function, np.generic):
            self.dtype = np.dtype(function)

    def __call__(self, *arguments: Any) -> Any:
        if not any(isinstance(a, _Number) for a in arguments):
            return self._function(*arguments)
        return _Number(f"{self.name}({', '.join(map(self._recorder.text, arguments))})")


def _symbolic(names: Mapping[str, Any], recorder: _Recorder) -> dict[str, Any]:
    return {name: _Lifted(name, one, recorder) if callable(one) else one for name, one in names.items()}

"""docs/numpy.md: which of NumPy's functions, ufuncs and array methods are compiled, from the tables of the frontend.

python -m nestor.tools.docs.numpy_coverage > docs/numpy.md
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Iterable
from types import ModuleType
from typing import Any

import numpy as np

from ...frontend.numpy_api.calls_back import is_call_back
from ...frontend.numpy_api.elements.attributes import ATTRIBUTES
from ...frontend.numpy_api.elements.ufuncs import COMPOSITES
from ...frontend.numpy_api.families import FUNCTIONS, METHODS
from ...frontend.script import calls
from ...frontend.script.applied import APPLIED
from ...frontend.script.python_calls import PYTHON
from ...frontend.values import arithmetic

INTRODUCTION = """\
# NumPy in compiled functions

What `nt.jit` and `nt.trace` compile of NumPy {version}: in both, results, dtypes, and which results are views are NumPy's.
A parameter that is not listed is refused with a diagnostic, as is every function of the second list of a section; the
compiled function has a caret there. What is refused can be called around the compiled function.

What is marked "a call" has no native kernel: compiled code calls NumPy there ([custom-calls.md](custom-calls.md)).

Element types: bool, int8 to int64, uint8 to uint64, float16, bfloat16, float32, float64.

This page is generated from the tables of the frontend: `make docs`.
"""

FAMILIES: dict[str, tuple[str, str]] = {
    "Files and text": (
        "reading, writing and printing happen around the call",
        "load loadtxt genfromtxt fromfile fromregex fromstring save savez savez_compressed savetxt array2string array_repr "
        "array_str base_repr binary_repr format_float_positional format_float_scientific set_printoptions "
        "get_printoptions printoptions dump dumps tofile tobytes tolist",
    ),
    "Settings of NumPy": (
        "they concern NumPy, not arrays",
        "seterr geterr seterrcall geterrcall setbufsize getbufsize show_config show_runtime get_include info test "
        "einsum_path",
    ),
    "Dates": (
        "dates are not an element type",
        "busday_count busday_offset is_busday datetime_as_string datetime_data isnat",
    ),
    "Complex numbers": (
        "whether their results are complex depends on the elements",
        "eig eigvals sort_complex",
    ),
    "Results in an order that NumPy does not promise": (
        "np.unique gives sorted ones",
        "unique_all unique_counts unique_inverse unique_values",
    ),
    "Views whose bounds depend on elements": (
        "np.flatnonzero says where the zeros end",
        "trim_zeros",
    ),
    "Functions of Python for each element": (
        "arrays of objects are not compiled; np.vectorize and loops over the elements are",
        "fromiter frompyfunc nested_iters",
    ),
    "Memory": (
        "the memory of an array is the compiler's business",
        "shares_memory may_share_memory frombuffer from_dlpack base byteswap ctypes data device flags flat getfield "
        "resize setfield setflags strides to_device view",
    ),
    "Matrices and blocks of text": (
        "np.matrix is not an array type of its own here",
        "asmatrix bmat",
    ),
    "Packed bits": ("elements are whole bytes", "packbits unpackbits"),
    "Polynomials by their coefficients": (
        "how many coefficients the result has depends on them: np.convolve multiplies",
        "poly polymul polydiv roots",
    ),
    "Fourier transforms": (
        "a library for them is called around the compiled function",
        "fft ifft fft2 ifft2 fftn ifftn rfft irfft rfft2 irfft2 rfftn irfftn hfft ihfft fftfreq rfftfreq fftshift ifftshift",
    ),
}
"""Family -> why it is refused, and the names in it."""

OTHER = "Not compiled yet"
CALL = " (a call)"
"""Marks what NumPy runs."""

MODULES: dict[str, ModuleType] = {"np": np, "np.linalg": np.linalg, "np.fft": np.fft}


def generate() -> str:
    """The page as Markdown."""
    version = ".".join(np.__version__.split(".")[:2])
    parts = [INTRODUCTION.format(version=version), _ufuncs()]
    for prefix, module in MODULES.items():
        parts.append(_functions(prefix, module))
    parts.append(_classes())
    parts.append(_methods())
    return "\n".join(parts)


def _ufuncs() -> str:
    compiled = [name for name in ufuncs() if is_compiled(getattr(np, name))]
    others = [name for name in ufuncs() if name not in compiled]
    keywords = "with `dtype=`, `out=`, `where=`, `casting=`, `order=`, and `.outer`"
    return f"## Ufuncs\n\nOn operands of every shape, {keywords}: {_listed(compiled)}.\n" + _refused(others)


def _functions(prefix: str, module: ModuleType) -> str:
    names = functions(module)
    compiled = [name for name in names if is_compiled(getattr(module, name))]
    lines = [_function(prefix, name, getattr(module, name)) for name in compiled]
    text = f"## Functions of {prefix}\n\n" + ("\n".join(lines) + "\n" if lines else "None is compiled.\n")
    return text + _refused([name for name in names if name not in compiled])


def _classes() -> str:
    """What is called like a function, and is a class of NumPy."""
    classes = [cls for cls in APPLIED if isinstance(cls, type)]
    lines = [_function("np", cls.__name__, cls) for cls in classes]
    text = "## Loops and functions over elements\n\n" + "\n".join(lines)
    return (
        text
        + "\n* `np.s_[...]`, `np.index_exp[...]`, `np.mgrid[...]`, `np.ogrid[...]`, `np.r_[...]`, `np.c_[...]`\n"
    )


def _methods() -> str:
    names = array_members()
    attributes = [name for name in names if name in ATTRIBUTES]
    compiled = [name for name in names if name in METHODS and not only_refuses(METHODS[name])]
    lines = [_signature(f"x.{name}", METHODS[name], skip=2) for name in compiled]
    text = f"## Arrays\n\nAttributes: {_listed(attributes)}.\n\n" + "\n".join(lines) + "\n"
    return text + _refused([name for name in names if name not in compiled and name not in attributes])


def _function(prefix: str, name: str, function: Any) -> str:
    return _signature(f"{prefix}.{name}", handler_of(function), 2 if function in APPLIED else 1)


def _signature(name: str, handler: Callable[..., Any] | None, skip: int = 1) -> str:
    """A function and the parameters that its handler knows."""
    if handler is None:
        return f"* `{name}`"
    parameters = list(inspect.signature(handler).parameters.values())[skip:]
    mark = CALL if is_call_back(handler) else ""
    return f"* `{name}({', '.join(map(_parameter, parameters))})`{mark}"


def _parameter(parameter: inspect.Parameter) -> str:
    if parameter.kind is parameter.VAR_POSITIONAL:
        return f"*{parameter.name}"
    return parameter.name + ("" if parameter.default is parameter.empty else "=")


def _refused(names: Iterable[str]) -> str:
    """What is refused, family by family, with the reason."""
    by_family: dict[str, list[str]] = {}
    for name in names:
        by_family.setdefault(family_of(name), []).append(name)
    lines = []
    for family in [*FAMILIES, OTHER]:
        if family in by_family:
            reason = f" ({FAMILIES[family][0]})" if family in FAMILIES else ""
            lines.append(f"* {family}{reason}: {_listed(by_family[family])}")
    return "\nRefused:\n\n" + "\n".join(lines) + "\n" if lines else ""


def _listed(names: Iterable[str]) -> str:
    return ", ".join(f"`{name}`" for name in names)


# ---- what there is ----------------------------------------------------------------------------------


def ufuncs() -> list[str]:
    """The names of NumPy's ufuncs."""
    return sorted(name for name in np.__all__ if isinstance(getattr(np, name), np.ufunc))


def functions(module: ModuleType) -> list[str]:
    """The names of the public functions of a module of NumPy."""
    values = {name: getattr(module, name) for name in module.__all__}
    return sorted(n for n, v in values.items() if callable(v) and not isinstance(v, type | np.ufunc))


def array_members() -> list[str]:
    """The names of the methods and attributes of arrays."""
    return sorted(name for name in dir(np.ndarray) if not name.startswith("_"))


def handler_of(function: Any) -> Callable[..., Any] | None:
    """What compiles calls of a NumPy function, when it has a table entry of its own."""
    return FUNCTIONS.get(function) or APPLIED.get(function)


def is_compiled(function: Any) -> bool:
    """Whether calls of a NumPy function or ufunc are compiled."""
    assert calls  # its import fills the tables
    if isinstance(function, np.ufunc):
        name = function.__name__
        known = name in arithmetic._ROWS or name in arithmetic._SAME_AS or name in COMPOSITES
        return known or function in FUNCTIONS
    return (
        function in PYTHON
        or function in APPLIED
        or (function in FUNCTIONS and not only_refuses(FUNCTIONS[function]))
    )


def only_refuses(handler: Callable[..., Any]) -> bool:
    """Whether a handler is there for its diagnostic: it is called `refused`."""
    return handler.__name__ == "refused"


def family_of(name: str) -> str:
    """The family whose reason a refused function has."""
    return next((family for family, (_, names) in FAMILIES.items() if name in names.split()), OTHER)


if __name__ == "__main__":
    sys.stdout.write(generate())

"""What a call of a random program gives, in a form that two runs can be compared in."""

from __future__ import annotations

import importlib.util
import operator
import re
import sys
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import nestor as nt
import numpy as np
from nestor.dialects.diagnostic import LoweringError
from nestor.frontend.interface.errors import UnsupportedError


@dataclass(frozen=True)
class Verdict:
    """What becomes of a random program: it is `right`, `refused`, `undecided` (Python's own value is not to be compared), or
    what is wrong with it; `what` says why. `raised` counts the calls that raised."""

    end: str
    what: str = ""
    raised: int = 0

    FINE: ClassVar = ("right", "refused", "undecided")

    @property
    def is_wrong(self) -> bool:
        """Whether something was found."""
        return self.end not in self.FINE


Compared = Callable[[Any, Any], Iterable[tuple[str, Any, Any]]]


def verdict(
    text: str,
    folder: Path,
    name: str,
    compared: Compared,
    agree: Callable[[Any, Any], bool] = operator.eq,
    raises: Callable[[Any], bool] = lambda want: False,
    **options: Any,
) -> Verdict:
    """What becomes of the function `f` of a text, compiled with `options`, as a module that is there meanwhile.

    `compared(python, compiled)` gives for each call where it is (the seed, the arguments), and what Python and what is
    compiled give, in a form in which they `agree`; `raises` says whether Python raised.
    """
    python = load(text, folder, name)
    raised = 0
    try:
        for where, want, got in compared(python, nt.jit(python, **options)):
            raised += raises(want)
            if not agree(got, want):
                return Verdict("wrong", f"{where}\n{text}\npython {want}\nnestor {got}")
    except (UnsupportedError, LoweringError) as error:
        return Verdict("refused", error.diagnostic.message)
    finally:
        del sys.modules[name]
    return Verdict("right", raised=raised)


def with_error(outcome: str) -> bool:
    """Whether a call raised, whose text ends with what was raised."""
    return not outcome.endswith("None)")


def load(text: str, folder: Path, name: str) -> Any:
    """The function `f` of a text that has NumPy, in a module of its own."""
    return module_of("import numpy as np\n" + text, folder, name).f


def module_of(text: str, folder: Path, name: str) -> Any:
    """A text as a module of that name."""
    path = folder / f"{name}.py"
    path.write_text(text)
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


def plain(value: Any) -> Any:
    """Kinds of numbers may differ: one that is a Python float on one path and a NumPy one on another is a NumPy one."""
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, np.ndarray):
        return value.tolist()
    return [plain(item) for item in value] if isinstance(value, tuple | list) else value


def described(error: BaseException | None) -> Any:
    """An exception's own class, arguments and cause. Those that Nestor makes are subclasses; two texts are not NumPy's."""
    if error is None:
        return None
    kind = next(k for k in type(error).__mro__ if not k.__module__.startswith("nestor"))
    if kind is ZeroDivisionError:
        return "ZeroDivisionError"
    arguments = [_SHAPES.sub("", a) if isinstance(a, str) else a for a in plain(error.args)]
    return kind.__name__, arguments, error.__suppress_context__, described(error.__cause__)


_SHAPES = re.compile(r"(?<=operands could not be broadcast together) with shapes.*")
"""NumPy names the array that `+=` writes as well."""

"""What a call of a random program gives, in a form that two runs can be compared in."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from typing import Any

import numpy as np


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
    return kind.__name__, plain(error.args), error.__suppress_context__, described(error.__cause__)

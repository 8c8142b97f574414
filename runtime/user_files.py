"""Python files of the user that a tool runs: a program for `--emit`, a plugin, an example."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType


def run_file(path: str | Path, name: str | None = None) -> ModuleType:
    """The module that the file is, executed under `name` (as its file is called, without one).

    It is entered in `sys.modules`, where nothing of this name is yet: dataclasses and pickles look for it there.

    Raises:
        FileNotFoundError: there is no such file.
        ImportError: the file is not one of Python.
        Exception: whatever the file itself raises.
    """
    if not Path(path).is_file():
        raise FileNotFoundError(f"no file '{path}'")
    spec = importlib.util.spec_from_file_location(name or Path(path).stem, path)
    if spec is None or spec.loader is None:
        raise ImportError(f"'{path}' is not a Python file")
    module = importlib.util.module_from_spec(spec)
    is_entered = sys.modules.setdefault(spec.name, module) is module
    try:
        spec.loader.exec_module(module)
    except BaseException:
        if is_entered:
            del sys.modules[spec.name]
        raise
    return module

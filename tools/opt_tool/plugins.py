"""`--load-pass-plugin=FILE.py`: passes from outside the repository, and the test passes of opt-tool itself.

Every `ModulePass` with a name that the file defines can be used in pipelines of the same run.
"""

from __future__ import annotations

from pathlib import Path
from types import ModuleType

from xdsl.passes import ModulePass

from ...dialects.diagnostic import NestorError
from ...runtime.user_files import run_file
from .source import off_standard_output

PLUGIN_PASSES: dict[str, type[ModulePass]] = {}
"""Passes of the plugins loaded in this run."""


def load_plugins(paths: list[str]) -> None:
    """Replace `PLUGIN_PASSES` by the passes that these files define."""
    PLUGIN_PASSES.clear()
    for path in paths:
        found = [value for value in vars(_execute(path)).values() if _is_pass_of(value, path)]
        if not found:
            raise NestorError(f"plugin '{path}' defines no pass")
        PLUGIN_PASSES.update({pass_class.name: pass_class for pass_class in found})


def _module_name(path: str) -> str:
    return f"nestor_plugin_{abs(hash(path))}"


def _execute(path: str) -> ModuleType:
    if not Path(path).is_file():
        raise NestorError(f"cannot load plugin '{path}': no such file")
    try:
        with off_standard_output():
            return run_file(path, _module_name(path))
    except (Exception, SystemExit) as error:
        raise NestorError(f"cannot load plugin '{path}': {type(error).__name__}: {error}") from error


def _is_pass_of(value: object, path: str) -> bool:
    return (
        isinstance(value, type)
        and issubclass(value, ModulePass)
        and value.__module__ == _module_name(path)
        and isinstance(getattr(value, "name", None), str)
    )

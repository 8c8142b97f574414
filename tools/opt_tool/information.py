"""What opt-tool tells about itself: `--list-passes`, `--show-dialects`, `--version`."""

from __future__ import annotations

import sys
from importlib.metadata import PackageNotFoundError
from importlib.metadata import version as package_version
from textwrap import fill

from xdsl.passes import ModulePass

from ...dialects.registry import EXTENDED, OWN, UPSTREAM, load_dialect
from ...transforms.registry import PASSES, load_pass
from .pass_options import describe_option, option_types
from .plugins import PLUGIN_PASSES
from .resolve import named_pipelines

_UPSTREAM_PASSES = {
    "canonicalize": "Fold and simplify with the patterns that operations define.",
    "cse": "Merge operations that compute the same value.",
    "dce": "Remove operations whose results nobody uses.",
}
"""xDSL's passes that the pipelines use: listed with their options; the others by name only."""


def version() -> str:
    """Versions of opt-tool and of what it stands on."""
    parts = [f"opt-tool {_installed('nestor')}"]
    parts += [f"{name} {_installed(name)}" for name in ("xdsl", "llvmlite")]
    return f"{parts[0]} ({', '.join(parts[1:])}, Python {sys.version.split()[0]})"


def _installed(package: str) -> str:
    try:
        return package_version(package)
    except PackageNotFoundError:
        return "(not installed)"


def list_passes() -> None:
    """Print passes with one line on each and their options, then pipelines, then xDSL's other passes."""
    from xdsl.transforms import get_all_passes

    print("Passes:")
    for name in (*PLUGIN_PASSES, *PASSES, *_UPSTREAM_PASSES):
        _list_pass(name)
    print("\nNamed pipelines:")
    for name, specs in named_pipelines().items():
        print(fill(",".join(specs), 100, initial_indent=f"  {name}: ", subsequent_indent="      "))
    print("\nAlso, from xDSL:")
    others = sorted(set(get_all_passes()) - set(PASSES) - _UPSTREAM_PASSES.keys())
    print(fill(", ".join(others), 100, initial_indent="  ", subsequent_indent="  ", break_on_hyphens=False))


def _list_pass(name: str) -> None:
    try:
        pass_class = PLUGIN_PASSES.get(name) or load_pass(name)
    except Exception as error:
        print(f"warning: pass '{name}' left out, it cannot be loaded: {error}", file=sys.stderr)
        return
    print(f"  {name:26s} {_UPSTREAM_PASSES.get(name) or summary_of(pass_class)}")
    for option, hint in option_types(pass_class).items():
        print(f"  {'':26s}   {describe_option(pass_class, option, hint)}")


def summary_of(pass_class: type[ModulePass]) -> str:
    """The first sentence of the pass's docstring, on one line."""
    text = pass_class.__doc__ or ""
    if text.startswith(f"{pass_class.__name__}("):
        text = ""  # what @dataclass writes where there is none
    module_doc = sys.modules[pass_class.__module__].__doc__
    paragraph = " ".join((text.strip() or (module_doc or "").strip()).split("\n\n")[0].split())
    sentence, stop, _ = paragraph.partition(". ")
    return sentence + "." if stop else paragraph


def dialect_names() -> list[str]:
    """The dialects of Nestor's levels."""
    return [*OWN, *EXTENDED, *UPSTREAM]


def irdl_names() -> list[str]:
    """The dialects that are Nestor's alone: MLIR has the others itself."""
    return list(OWN)


def dialect_pages(names: list[str]) -> str:
    """The dialects as one page in Markdown."""
    from .dialect_pages import dialect_page

    return "\n".join(dialect_page(name, load_dialect(name), _origin(name)) for name in names)


def show_dialects(names: list[str] | None = None) -> None:
    """Print the dialects of Nestor's levels, or these, with their operations."""
    from xdsl.dialects import get_all_dialects

    for name in names or dialect_names():
        _show_dialect(name)
    if names is not None:
        return
    others = sorted(set(get_all_dialects()) - set(OWN) - set(EXTENDED) - set(UPSTREAM))
    print("also known, from xDSL:")
    print(fill(", ".join(others), 100, initial_indent="  ", subsequent_indent="  "))


def _origin(name: str) -> str:
    return "Nestor's" if name in OWN else "upstream, extended" if name in EXTENDED else "upstream"


def _show_dialect(name: str) -> None:
    try:
        dialect = load_dialect(name)
    except Exception as error:
        print(f"warning: dialect '{name}' left out, it cannot be loaded: {error}", file=sys.stderr)
        return
    print(f"{name} ({_origin(name)})")
    operations = " ".join(sorted(op.name for op in dialect.operations))
    if operations:
        print(fill(operations, 100, initial_indent="  ", subsequent_indent="  ", break_on_hyphens=False))

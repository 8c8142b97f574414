"""docs/reference/passes.md: every pass, from its class and the docstring of its file.

python -m nestor.tools.docs.passes > docs/reference/passes.md
"""

from __future__ import annotations

import inspect
import sys
from importlib import import_module

from ...dialects.schedule.table import PRIMITIVES
from ...transforms.pipelines import PIPELINES
from ...transforms.registry import PASSES, load_pass
from ..opt_tool.pass_options import describe_option, option_types

INTRODUCTION = """\
# Passes

`opt-tool in.mlir -p NAME{option=value},...` runs them; `--list-passes` prints this list. Those of schedule primitives
(`nest-split`, ...) are on the page of [schedules](../schedules.md). Each text below is the docstring of the pass's file.

This page is generated: `make docs`.
"""


def page() -> str:
    """The text of the page."""
    primitives = {row.pass_name for row in PRIMITIVES.values()}
    parts = [INTRODUCTION, "## Pipelines", _pipelines()]
    for name in PASSES:
        if name not in primitives:
            parts.append(f"## {name}\n\n{_options(name)}{_text(name)}")
    return "\n".join(parts) + "\n"


def _pipelines() -> str:
    rows = ["| name | it stands for |", "|---|---|"]
    rows += [
        f"| `{name}` | {', '.join(f'`{one}`' for one in passes)} |" for name, passes in PIPELINES.items()
    ]
    return "\n" + "\n".join(rows) + "\n"


def _options(name: str) -> str:
    kind = load_pass(name)
    found = [describe_option(kind, option, hint) for option, hint in option_types(kind).items()]
    return "".join(f"* `{one}`\n" for one in found) + ("\n" if found else "")


def _text(name: str) -> str:
    module = import_module(f"...{PASSES[name].partition(':')[0]}", __package__)
    text = inspect.cleandoc(module.__doc__ or "")
    head, _, rest = text.partition("\n")
    sentence = head.partition(": ")[2] if head.startswith(name) else head
    return f"{sentence[:1].upper()}{sentence[1:]}\n{rest}\n"


if __name__ == "__main__":
    sys.stdout.write(page())

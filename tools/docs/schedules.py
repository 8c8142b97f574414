"""docs/schedules.md: every schedule primitive, from the table and from the docstring of its file.

python -m nestor.tools.docs.schedules > docs/schedules.md
"""

from __future__ import annotations

import dataclasses
import sys
from importlib import import_module

from ...dialects.schedule.table import GROUPS, PRIMITIVES, Option, Primitive, Target
from ...transforms.registry import load_pass

INTRODUCTION = """\
# Schedules

A schedule says how the loops of a program run: which are split, reordered, vectorized, shared among threads. It
changes no result. Every step is proved legal when it is taken, exactly where indices are affine, or refused with the
reason.

One schedule has three forms. As text, applied by `opt-tool in.mlir --apply-schedule=rows.mlir`:

    schedule.sequence @cpu for @rows params {T = 16} {
      %i, %j = schedule.match loops ["i", "j"]
      %o, %v = schedule.split %j by @T tail(mask)
      %w = schedule.vectorize %v
      schedule.parallel %i
    }

From Python, where each step is done, proved and recorded as that text:

    low = rows.lower(x)                       # s = low.schedule() starts from the automatic schedule
    s = nt.schedule(low)
    T = s.parameter("T", 16)
    o, v = s.split("j", T, tail="mask")
    s.vectorize(v)
    s.parallel("i")
    s.save("rows.mlir")
    low.compile(schedule=s)                   # or schedule="rows.mlir", on this shape or on another

And as passes, one a primitive: `opt-tool in.mlir -p 'nest-split{loop=j factor=16 tail=mask}'`.

**Names.** A loop is called like the axis or variable it came from; what primitives make of it is called after it (`i`
splits into `i.o`, `i.i`, and the remainder `i.t`). No two loops of a function share a name.

**Handles** stand for loops, statements or buffers, usually for one. A step on one loop is done to each that the
handle stands for, and to none when there is none: a remainder that another shape does not have is no error. A step
*consumes* the handles of what it replaces; using one afterwards is an error that names the step.

**Matching.** `schedule.match loops ["i"]`, `statements ["y"]`, `buffers ["x"]` by name; `loops containing
"nest.accumulate"`, `loops contiguous "x"` (every access to the buffer goes to the next element), `loops reducing
"s"`. What is not there is an error, unless the match says `optional`. Of several buffers called `y` the second is `y[1]`.
In a strategy, which is for nests of a kind (`schedule.sequence @s takes "product"`, [strategies](strategies.md)),
`loops role "row"` and `buffers role "result"` say what they are there.

**Parameters** are integers that the schedule names (`params {T = 16}`, used as `@T`) and whoever replays it may
change: `-p 'apply-schedule{file=rows.mlir params="T=8"}'`.

**Failure.** A step that is refused names itself, the loop, and the two accesses at their source lines; nothing of the
schedule has been done then. So is a step after which what is marked could not be compiled (a parallel loop inside of
another one, a buffer that each lane of a vector would need, loops for the processor's threads beside loops bound to a GPU).
A kernel may be unfinished in between, its inner loops bound and its outer ones not yet: what is missing in the end,
`compile` says.

An automatic schedule is never refused: where a step is, what its strategy did is undone, and the rest of the schedule is
done without it. `f.explain(..., strategies=True)` and a remark say so.

This page is generated from the files it describes: `make docs`.
"""


def generate() -> str:
    """The page as Markdown."""
    contents = [
        f"* {title}: {', '.join(f'[{row.name}](#{row.name})' for row in rows)}"
        for title, rows in GROUPS.items()
    ]
    parts = [INTRODUCTION, "\n".join([f"{len(PRIMITIVES)} primitives:\n", *contents]) + "\n"]
    for title, rows in GROUPS.items():
        parts.append(f"## {title}\n")
        parts += [_section(row) for row in rows]
    return "\n".join(parts)


def _section(row: Primitive) -> str:
    module = import_module(f"...{row.function.partition(':')[0]}", __package__)
    _, _, body = (module.__doc__ or "").partition("\n")
    forms = [
        f"* text: `{text_form(row)}`",
        f"* Python: `{python_form(row)}`",
        f"* pass: `{pass_form(row)}`",
    ]
    return "\n".join([f"### {row.name}\n", row.summary, "", *forms, "", _fenced(body.strip("\n")), ""])


def _fenced(text: str) -> str:
    """Indented code as fenced code, which may follow a list."""
    lines: list[str] = []
    is_code = False
    for line in text.splitlines():
        if line.strip() and line.startswith("    ") != is_code:
            is_code = not is_code
            while is_code is False and lines and not lines[-1]:
                lines.pop()
            lines += ["```mlir"] if is_code else ["```", ""]
        lines.append(line.removeprefix("    ") if is_code else line)
    return "\n".join(lines + ["```"] * is_code)


def text_form(row: Primitive) -> str:
    """How a step is written in a schedule: `%outer, %inner = schedule.split %loop by FACTOR [tail(...)]`."""
    results = ", ".join(f"%{result.name}{'...' if result.variadic else ''}" for result in row.results)
    words = [f"{results} =" if results else "", f"schedule.{row.name}"]
    words.append(" ".join(_target(target, position) for position, target in enumerate(row.targets)))
    words += [_option(option) for option in row.options]
    return " ".join(word for word in words if word).replace(" ,", ",")


def _target(target: Target, position: int) -> str:
    lead = f"{target.keyword} " if target.keyword else ", " if position else ""
    return f"{lead}%{target.name}{'...' if target.variadic else ''}"


def _option(option: Option) -> str:
    value = "|".join(option.choices) or {"string": '"..."', "place": '"..."|NUMBER'}.get(
        option.type, option.name.upper()
    )
    if option.type == "flag":
        text = option.name
    elif option.keyword:
        text = f"{option.keyword} {f'[{value}, ...]' if option.type == 'ints' else value}"
    else:
        text = f"{option.name}({f'{value}, ...' if option.type == 'ints' else value})"
    return text if option.required else f"[{text}]"


def python_form(row: Primitive) -> str:
    """How the step is called: `outer, inner = s.split(loop, factor, tail="remainder")`."""
    is_variadic = any(target.variadic for target in row.targets)
    arguments = [f"*{target.name}" if target.variadic else target.name for target in row.targets]
    for option in row.options:
        if option.required:
            arguments.append(f"{option.name}=..." if is_variadic else option.name)
        else:
            arguments.append(f"{option.name}={option.default!r}")
    results = (
        "handles"
        if any(result.variadic for result in row.results)
        else ", ".join(r.name for r in row.results)
    )
    return f"{f'{results} = ' if results else ''}s.{row.name}({', '.join(arguments)})"


def pass_form(row: Primitive) -> str:
    """The pass and its options."""
    name = row.pass_name
    fields = [field.name for field in dataclasses.fields(load_pass(name))]
    return f"{name}{{{' '.join(f'{field}=...' for field in fields)}}}" if fields else name


if __name__ == "__main__":
    sys.stdout.write(generate())

"""`python -m nestor.tools.new KIND NAME`: the files of a new primitive, pass or operation, to be filled in.

    python -m nestor.tools.new primitive skewer --room loops     # a step of schedules, and its pass nest-skewer
    python -m nestor.tools.new pass nt-strip                     # a pass of nt (transforms/tensor) or nest (--room)
    python -m nestor.tools.new op softsign                       # an elementwise operation, by arithmetic
    python -m nestor.tools.new op erfcx --transcendental         # one with a form of its own in lowering/math

New files are written, rows are put into tables, and the pages that are made from both are made again. What is left to
do is printed: every line with FILL IN. Files that are there stay as they are: then nothing at all is written.
"""

from __future__ import annotations

import argparse
import ast
import keyword
import re
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from ..dialects.diagnostic import NestorError
from .new_texts import OPERATION, PASS, PRIMITIVE, TRANSCENDENTAL

ROOT = Path(__file__).resolve().parents[1]
MARK = "FILL IN"
_WORDS = r"[a-z][a-z0-9]*(_[a-z0-9]+)*"

ROOMS = ("loops", "producers", "reductions", "memory", "mapping", "cleanup")
"""The folders of `transforms/nest` that have primitives and passes."""


@dataclass
class Change:
    """What is to be written: new files, and tables with a row more, by paths below the root."""

    files: dict[str, str] = field(default_factory=dict)
    tables: dict[str, str] = field(default_factory=dict)
    pages: tuple[str, ...] = ()
    """Files that modules of `tools/docs` make of the rows; each is named like its module."""

    def add_row(self, path: str, edit: Callable[[str], str]) -> None:
        """Put a row into a table."""
        self.tables[path] = edit(self.tables.get(path) or (ROOT / path).read_text(encoding="utf-8"))

    def write(self) -> list[str]:
        """Write it all; the paths. Raises NestorError, and has written nothing, where a file is there already."""
        there = [path for path in self.files if (ROOT / path).exists()]
        if there:
            raise NestorError(f"{there[0]} exists already", hint="take another name, or go on with that file")
        for path, text in {**self.files, **self.tables}.items():
            (ROOT / path).parent.mkdir(parents=True, exist_ok=True)
            (ROOT / path).write_text(text, encoding="utf-8")
        return [*self.files, *self.tables, *map(_make_page, self.pages)]


def primitive(name: str, room: str) -> Change:
    """A schedule primitive: its file, its row, its FileCheck tests, and how random schedules draw it."""
    from ..dialects.schedule.table import PRIMITIVES

    _check_name(name, "a primitive", _WORDS, PRIMITIVES)
    texts = PRIMITIVE.named(name=name, dashed=name.replace("_", "-"), room=room)
    change = Change(texts.files, pages=("docs/schedules.md", "frontend/jit/driver/step_types.py"))
    in_room = lambda key: isinstance(key, ast.Tuple) and _constant(key.elts[-1]) == room  # noqa: E731
    change.add_row(
        "dialects/schedule/table.py", lambda text: _row_at_end(text, "_ROWS", texts["row"], in_room)
    )
    change.add_row(
        "tests/schedules/primitives.py", lambda text: _row_at_end(text, "PRIMITIVES", texts["drawn"])
    )
    return change


def compiler_pass(name: str, room: str | None) -> Change:
    """A pass: its file, its line in the registry, and its FileCheck tests."""
    from ..transforms.registry import PASSES

    _check_name(name, "a pass", r"(nt|nest)(-[a-z0-9]+)+", PASSES)
    level, _, rest = name.partition("-")
    if level == "nt" and room is not None:
        raise NestorError("passes of nt have one room, transforms/tensor", hint="leave --room out")
    folder = "transforms/tensor" if level == "nt" else f"transforms/nest/{room or 'cleanup'}"
    module = (name if level == "nt" else rest).replace("-", "_")
    class_name = "".join(word.capitalize() for word in name.split("-")) + "Pass"
    texts = PASS.named(
        name=name, folder=folder, module=module, up="." * (folder.count("/") + 2), class_name=class_name,
        function=rest.replace("-", "_"), place=folder.replace("/", "."),
    )  # fmt: skip
    change = Change(texts.files)
    neighbour = "nt-fuse" if level == "nt" else "nest-prove-bounds"
    change.add_row("transforms/registry.py", lambda text: _row_after(text, "PASSES", neighbour, texts["row"]))
    return change


def operation(name: str, operands: int, is_transcendental: bool) -> Change:
    """An elementwise operation that NumPy lacks: what NumPy is given, its row, its expansion, and its tests."""
    from ..dialects.nt.elementwise import ELEMENTWISE

    _check_name(name, "an operation", _WORDS, ELEMENTWISE)
    if hasattr(np, name):
        raise NestorError(
            f"NumPy has a function '{name}'",
            hint="one that others compute is plain NumPy: @defines(np...), see frontend/numpy_api/definitions.py",
        )
    names = ("x", "y")[:operands]
    texts = (TRANSCENDENTAL if is_transcendental else OPERATION).named(
        name=name, dashed=name.replace("_", "-"), arity=str(operands), first="x", names=", ".join(names),
        arguments=": Any, ".join(names), values=", ".join(f"{one}: SSAValue" for one in names),
        registers=", ".join(f"%{one}" for one in names), operands=", ".join(("x", "x[::-1]")[:operands]),
    )  # fmt: skip
    change = Change(texts.files)
    functions = "dialects/special.py"
    change.add_row(functions, lambda text: _with_word(text, "__all__", name))
    change.add_row(functions, lambda text: _function_at_end(text, texts[functions]))
    if is_transcendental:
        change.add_row("dialects/functions.py", lambda text: _row_at_end(text, "FUNCTIONS", texts["row"]))
        return change
    expansions = "dialects/nt/expand_float.py"
    change.add_row("dialects/nt/elementwise.py", lambda text: _row_at_end(text, "_ROWS", texts["row"]))
    change.add_row(expansions, lambda text: _function_at_end(text, texts[expansions]))
    return change


# ---- names ------------------------------------------------------------------------------------------


def _check_name(name: str, what: str, form: str, taken: object) -> None:
    if not re.fullmatch(form, name) or keyword.iskeyword(name):
        spelling = "nt-some-words or nest-some-words" if what == "a pass" else "some_words"
        raise NestorError(f"'{name}' is not a name for {what}", hint=f"names are written {spelling}")
    if name in taken:  # type: ignore[operator]
        raise NestorError(f"there is {what} called '{name}' already", hint="take another name")


# ---- rows -------------------------------------------------------------------------------------------


def _row_at_end(
    text: str, variable: str, row: str, key: Callable[[ast.expr | None], bool] | None = None
) -> str:
    """`row` as the last element of a table; of the value that `key` finds, where the table is one of tables."""
    table = _table(text, variable)
    if key is not None:
        assert isinstance(table, ast.Dict)
        (table,) = (value for k, value in zip(table.keys, table.values, strict=True) if key(k))
    elements = table.values if isinstance(table, ast.Dict) else getattr(table, "elts", [])
    return _insert_after(text, elements[-1], row)


def _row_after(text: str, variable: str, neighbour: str, row: str) -> str:
    """`row` in a dictionary, behind the entry called `neighbour`."""
    table = _table(text, variable)
    assert isinstance(table, ast.Dict)
    (value,) = (v for k, v in zip(table.keys, table.values, strict=True) if _constant(k) == neighbour)
    return _insert_after(text, value, row)


def _with_word(text: str, variable: str, word: str) -> str:
    """`word` in a sorted list of words."""
    table = _table(text, variable)
    assert isinstance(table, ast.List)
    old = ast.get_source_segment(text, table)
    assert old is not None
    words = sorted([word, *(str(_constant(one)) for one in table.elts)])
    return text.replace(old, "[\n" + "".join(f'    "{one}",\n' for one in words) + "]", 1)


def _function_at_end(text: str, function: str) -> str:
    return f"{text.rstrip()}\n\n\n{function}"


def _table(text: str, variable: str) -> ast.expr:
    for statement in ast.parse(text).body:
        targets = (
            statement.targets if isinstance(statement, ast.Assign) else [getattr(statement, "target", None)]
        )
        value = getattr(statement, "value", None)
        if value is not None and any(isinstance(t, ast.Name) and t.id == variable for t in targets):
            return value
    raise NestorError(f"there is no table {variable} any more", hint="tools/new.py names the tables")


def _insert_after(text: str, element: ast.expr, row: str) -> str:
    lines = text.splitlines(keepends=True)
    assert element.end_lineno is not None and element.end_col_offset is not None
    last = lines[element.end_lineno - 1].encode()
    head, tail = last[: element.end_col_offset].decode(), last[element.end_col_offset :].decode()
    first = lines[element.lineno - 1]
    indent = first[: len(first) - len(first.lstrip())]
    lines[element.end_lineno - 1] = f"{head},\n{indent}{row}{tail}"
    return "".join(lines)


def _constant(node: ast.expr | None) -> object:
    return node.value if isinstance(node, ast.Constant) else None


def _make_page(path: str) -> str:
    """Make a file again, by a process that reads the new tables."""
    name, package = Path(path).stem, __package__ or "nestor.tools"
    made = subprocess.run(
        [sys.executable, "-m", f"{package}.docs.{name}"], capture_output=True, text=True, check=True
    )
    (ROOT / path).write_text(made.stdout, encoding="utf-8")
    return path


# ---- the command ------------------------------------------------------------------------------------


def left_to_do(paths: Sequence[str]) -> list[str]:
    """The lines that are to be filled in, with their places."""
    return [
        f"{path}:{number}: {line.strip()}"
        for path in paths
        for number, line in enumerate((ROOT / path).read_text(encoding="utf-8").splitlines(), 1)
        if MARK in line and not path.startswith("docs/")
    ]


def main(arguments: Sequence[str] | None = None) -> int:
    """Write the files that the command line asks for; the exit status."""
    options = _parser().parse_args(arguments)
    try:
        if not (ROOT / "tests").is_dir():
            raise NestorError("this is no checkout of Nestor", hint="run it where the tests are")
        if options.kind == "primitive":
            change = primitive(options.name, options.room)
        elif options.kind == "pass":
            change = compiler_pass(options.name, options.room)
        else:
            change = operation(options.name, options.operands, options.transcendental)
        paths = change.write()
    except NestorError as error:
        print(error, file=sys.stderr)
        return 1
    print(f"{len(paths)} files:", *(f"  {path}" for path in paths), sep="\n")
    print("left to do:", *(f"  {line}" for line in left_to_do(paths)), sep="\n")
    if change.pages:
        print("  make docs, when the docstrings say what they are to say")
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m nestor.tools.new", description="Write the skeleton of a primitive, pass or operation."
    )
    kinds = parser.add_subparsers(dest="kind", required=True)
    one = kinds.add_parser("primitive", help="a schedule primitive and its pass")
    one.add_argument("name", help="some_words")
    one.add_argument("--room", choices=ROOMS, default="loops", help="folder of transforms/nest")
    one = kinds.add_parser("pass", help="a pass that is no primitive")
    one.add_argument("name", help="nt-some-words or nest-some-words")
    one.add_argument("--room", choices=ROOMS, help="folder of transforms/nest (default cleanup)")
    one = kinds.add_parser("op", help="an elementwise operation of floats that NumPy lacks")
    one.add_argument("name", help="some_words")
    one.add_argument("--operands", type=int, choices=(1, 2), default=1)
    one.add_argument("--transcendental", action="store_true", help="with a form of its own in lowering/math")
    return parser


if __name__ == "__main__":
    sys.exit(main())

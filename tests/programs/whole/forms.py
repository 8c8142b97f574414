"""The forms in which people write programs, and which of them stand in which kind of loop of which whole program.

    python tests/programs/whole/forms.py        # the table: how many programs have a form in a place

A place is a kind of loop, or outside of loops; a form is what stands in it: a branch, a container, a slice, a reduction, a
write. They are read off the functions of a program's file that the program reaches. A cell without a program fails a test,
unless `NONE` says why it has none.
"""

from __future__ import annotations

import ast
import builtins
import inspect
import sys
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

REDUCTIONS = frozenset(
    {
        "sum",
        "mean",
        "prod",
        "max",
        "min",
        "any",
        "all",
        "std",
        "var",
        "median",
        "ptp",
        "norm",
        "amax",
        "amin",
        "nansum",
        "average",
    }
)
RUNNING = frozenset(
    {
        "cumsum",
        "cumprod",
        "diff",
        "accumulate",
        "searchsorted",
        "sort",
        "argsort",
        "sorted",
        "unique",
        "bincount",
    }
)
EXTREMES = frozenset({"argmax", "argmin"})
PRODUCTS = frozenset(
    {"dot", "outer", "matmul", "einsum", "solve", "inv", "vdot", "inner", "tensordot", "kron", "cross"}
)
WHERE = frozenset({"where", "clip", "maximum", "minimum", "select"})
MADE = frozenset(
    {
        "zeros",
        "ones",
        "empty",
        "full",
        "zeros_like",
        "ones_like",
        "empty_like",
        "full_like",
        "arange",
        "linspace",
        "eye",
        "copy",
        "array",
    }
)
RESHAPED = frozenset(
    {
        "reshape",
        "ravel",
        "T",
        "transpose",
        "stack",
        "concatenate",
        "vstack",
        "hstack",
        "repeat",
        "tile",
        "roll",
        "flip",
    }
)
ELEMENTWISE = frozenset(
    {
        "sqrt",
        "exp",
        "log",
        "sin",
        "cos",
        "tan",
        "abs",
        "tanh",
        "log1p",
        "expm1",
        "floor",
        "ceil",
        "hypot",
        "arctan2",
        "sign",
        "power",
    }
)
CONTAINERS = frozenset({"append", "extend", "pop", "insert", "remove"})
OF_DICTS = frozenset({"items", "keys", "values", "get", "setdefault", "update"})


# ---- forms: what an expression or a statement is --------------------------------------------------------


def forms_of(node: ast.AST) -> Iterator[str]:
    """The forms that a node is by itself."""
    match node:
        case ast.If():
            yield "elif" if any(isinstance(n, ast.If) for n in node.orelse) else "if"
            if node.orelse:
                yield "else"
        case ast.IfExp():
            yield "x if c else y"
        case ast.BoolOp():
            yield "and, or"
        case ast.Compare():
            if len(node.ops) > 1:
                yield "a < b < c"
            if isinstance(node.ops[0], ast.In | ast.NotIn):
                yield "in"
        case ast.Raise() | ast.Assert():
            yield "raise, assert"
        case ast.Return():
            yield "return"
        case ast.List():
            yield "list"
        case ast.Dict():
            yield "dict"
        case ast.Tuple(ctx=ast.Store()):
            yield "several names assigned"
        case ast.JoinedStr() | ast.Constant(value=str()):
            yield "string"
        case ast.Lambda() | ast.FunctionDef():
            yield "closure"
        case ast.Attribute(ctx=ast.Store()):
            yield "attribute written"
        case ast.Call():
            yield from _of_call(node)
        case ast.Subscript():
            yield from _of_subscript(node)
        case ast.BinOp(op=ast.MatMult()):
            yield "product"
        case ast.BinOp(op=ast.FloorDiv() | ast.Mod()):
            yield "//, %"
        case ast.AugAssign(target=ast.Name()):
            yield "s += x"
        case ast.Attribute(attr="T"):
            yield "reshaped"


def _of_call(node: ast.Call) -> Iterator[str]:
    name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
    if name in REDUCTIONS:
        axis = any(k.arg == "axis" for k in node.keywords)
        yield "reduction along an axis" if axis else "reduction"
    for names, form in (
        (RUNNING, "running or sorted"),
        (EXTREMES, "argmax"),
        (PRODUCTS, "product"),
        (WHERE, "where, clip"),
        (MADE, "array made"),
        (RESHAPED, "reshaped"),
        (ELEMENTWISE, "elementwise function"),
        (CONTAINERS, "list changed"),
        (OF_DICTS, "method of a dict"),
    ):
        if name in names:
            yield form
    if isinstance(node.func, ast.Name):
        if name in ("int", "float", "bool"):
            yield "int(), float()"
        elif name == "len":
            yield "len"
        elif not hasattr(builtins, name):
            yield "function called"
    if any(isinstance(a, ast.Starred) for a in node.args):
        yield "star argument"


def _of_subscript(node: ast.Subscript) -> Iterator[str]:
    items = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
    written = " written" if isinstance(node.ctx, ast.Store) else ""
    slices = [item for item in items if isinstance(item, ast.Slice)]
    if any(isinstance(item, ast.Compare | ast.BoolOp | ast.UnaryOp) and _is_mask(item) for item in items):
        yield f"mask{written}"
    elif slices:
        yield f"slice{written}"
    else:
        yield f"element{written}"
    if any(s.step is not None for s in slices):
        yield "slice with a step"
    if any(isinstance(i, ast.UnaryOp) and isinstance(i.op, ast.USub) for i in items):
        yield "negative index"
    if any(isinstance(i, ast.Constant) and i.value in (None, ...) for i in items) or any(
        isinstance(i, ast.Attribute) and i.attr == "newaxis" for i in items
    ):
        yield "None, ..."


def _is_mask(item: ast.expr) -> bool:
    return not (isinstance(item, ast.UnaryOp) and isinstance(item.op, ast.USub | ast.UAdd))


FORMS = (
    "if", "elif", "else", "x if c else y", "and, or", "a < b < c", "in", "raise, assert",
    "list", "dict", "list changed", "method of a dict", "several names assigned", "string",
    "function called", "closure", "attribute written",
    "element", "slice", "slice with a step", "negative index", "None, ...", "mask",
    "element written", "slice written", "mask written", "x op= array", "s += x",
    "elementwise function", "where, clip", "reduction", "reduction along an axis", "argmax", "running or sorted",
    "product", "array made", "reshaped", "int(), float()", "//, %", "len",
)  # fmt: skip


# ---- places: kinds of loops ------------------------------------------------------------------------------

PLACES = (
    "outside of loops",
    "for over a range",
    "for over elements",
    "while that counts",
    "while until it holds",
    "while True",
    "loop with break",
    "loop with continue",
    "loop with return",
    "loop with else",
    "loop in a loop",
    "loop that grows a list",
    "comprehension",
)


def places_of(loop: ast.For | ast.While, depth: int) -> Iterator[str]:
    """What kind of loop it is."""
    own = list(_own(loop))
    if isinstance(loop, ast.For):
        is_range = isinstance(loop.iter, ast.Call) and getattr(loop.iter.func, "id", "") == "range"
        yield "for over a range" if is_range else "for over elements"
    elif isinstance(loop.test, ast.Constant):
        yield "while True"
    else:
        yield "while that counts" if _counts(loop) else "while until it holds"
    if depth:
        yield "loop in a loop"
    if loop.orelse:
        yield "loop with else"
    if any(isinstance(n, ast.Break) for n in own):
        yield "loop with break"
    if any(isinstance(n, ast.Continue) for n in own):
        yield "loop with continue"
    if any(isinstance(n, ast.Return) for n in own):
        yield "loop with return"
    if any(isinstance(n, ast.Call) and getattr(n.func, "attr", "") == "append" for n in own):
        yield "loop that grows a list"


def _own(loop: ast.For | ast.While) -> Iterator[ast.AST]:
    """The nodes of a loop's body that are in no loop or function inside it."""
    rest: list[ast.AST] = [*loop.body]
    while rest:
        node = rest.pop()
        yield node
        if not isinstance(node, ast.For | ast.While | ast.FunctionDef | ast.Lambda):
            rest += ast.iter_child_nodes(node)


def _counts(loop: ast.While) -> bool:
    """Whether the condition reads only what the loop does not change, or adds integers to."""
    read = {n.id for n in ast.walk(loop.test) if isinstance(n, ast.Name)}
    for node in ast.walk(loop):
        targets: list[ast.expr] = []
        if isinstance(node, ast.Assign):
            targets = node.targets
        elif isinstance(node, ast.AugAssign) and not isinstance(node.value, ast.Constant):
            targets = [node.target]
        stored = [n for target in targets for n in ast.walk(target) if isinstance(n, ast.Name)]
        names = {n.id for n in stored if isinstance(n.ctx, ast.Store)}
        if names & read:
            return False
    calls = [n for n in ast.walk(loop.test) if isinstance(n, ast.Call)]
    is_len = all(isinstance(n.func, ast.Name) and n.func.id == "len" for n in calls)
    return is_len and not any(isinstance(n, ast.Subscript) for n in ast.walk(loop.test))


# ---- programs --------------------------------------------------------------------------------------------


def cells_of(function: Any) -> set[tuple[str, str]]:
    """The places and forms in a program: those of its function, and of what is in its file that the function names."""
    definitions = _definitions(Path(inspect.getsourcefile(function) or ""))
    cells: set[tuple[str, str]] = set()
    seen, rest = set(), [function.__name__]
    while rest:
        name = rest.pop()
        if name in seen or name not in definitions:
            continue
        seen.add(name)
        tree = definitions[name]
        rest += [n.id for n in ast.walk(tree) if isinstance(n, ast.Name)]
        names = Names(_arrays(tree), _closures(tree))
        for statement in tree.body:
            _look(statement, ("outside of loops",), 0, names, cells)
    return cells


@cache
def _definitions(file: Path) -> dict[str, ast.FunctionDef | ast.ClassDef]:
    tree = ast.parse(file.read_text())
    return {n.name: n for n in tree.body if isinstance(n, ast.FunctionDef | ast.ClassDef)}


@dataclass(frozen=True)
class Names:
    """Names of a function that are arrays, and those that are functions made in it."""

    arrays: set[str]
    closures: set[str]


def _closures(tree: ast.AST) -> set[str]:
    inside = [n for n in ast.walk(tree) if n is not tree]
    made = {n.name for n in inside if isinstance(n, ast.FunctionDef)}
    lambdas = [n for n in inside if isinstance(n, ast.Assign) and isinstance(n.value, ast.Lambda)]
    return made | {t.id for n in lambdas for t in n.targets if isinstance(t, ast.Name)}


def _arrays(tree: ast.AST) -> set[str]:
    """Names that are indexed by slices or made as arrays: `x op= y` of them works in place."""
    found = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Subscript) and isinstance(node.value, ast.Name):
            found.add(node.value.id)
        if (
            isinstance(node, ast.Assign)
            and isinstance(node.value, ast.Call)
            and "array made" in set(_of_call(node.value))
        ):
            found |= {t.id for t in node.targets if isinstance(t, ast.Name)}
    return found


def _look(node: ast.AST, places: tuple[str, ...], depth: int, names: Names, cells: set) -> None:
    for form in forms_of(node):
        cells.update((place, form) for place in places)
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in names.closures:
        cells.update((place, "closure") for place in places)
    if isinstance(node, ast.AugAssign):
        target = node.target
        is_array = isinstance(target, ast.Subscript) or (
            isinstance(target, ast.Name) and target.id in names.arrays
        )
        if is_array:
            cells.update((place, "x op= array") for place in places)
    inside = places
    if isinstance(node, ast.For | ast.While):
        inside, depth = tuple(places_of(node, depth)), depth + 1
        for child in ast.iter_child_nodes(node):
            is_head = (
                child in (getattr(node, "iter", None), getattr(node, "target", None)) or child in node.orelse
            )
            _look(child, places if is_head else inside, depth, names, cells)
        return
    if isinstance(node, ast.ListComp | ast.GeneratorExp | ast.DictComp | ast.SetComp):
        inside = ("comprehension",)
    for child in ast.iter_child_nodes(node):
        _look(child, inside, depth, names, cells)


Table = dict[tuple[str, str], list[str]]


def table(programs: list[Any]) -> Table:
    """The programs that have a form in a place."""
    found: Table = defaultdict(list)
    for program in programs:
        for cell in cells_of(program.function):
            found[cell].append(program.name)
    return found


STATEMENTS = frozenset(
    (
        "if",
        "elif",
        "else",
        "raise, assert",
        "several names assigned",
        "attribute written",
        "x op= array",
        "s += x",
    )
) | {form for form in FORMS if form.endswith(" written")}
NONE: dict[tuple[str, str], str] = {
    **{("comprehension", form): "a statement" for form in STATEMENTS},
    ("comprehension", "list changed"): "what it changes would not be seen in it",
}
"""Cells without a program, and why."""


def empty(found: Table) -> list[tuple[str, str]]:
    """Cells that have no program, and are to have one."""
    return [(p, f) for p in PLACES for f in FORMS if not found.get((p, f)) and (p, f) not in NONE]


def text(found: Table) -> str:
    """The table as it is printed: a line for each form, a column for each place."""
    width = max(map(len, FORMS)) + 2
    heads = [f"{'':{width}}{' ' * 5 * k}{place}" for k, place in enumerate(PLACES)]
    lines = [
        f"{form:{width}}" + "".join(f"{len(found.get((p, form), [])):5}" for p in PLACES) for form in FORMS
    ]
    return "\n".join([*heads, *lines])


if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parent.parent))
    from whole.test_whole_programs import PROGRAMS

    rows = table(PROGRAMS)
    print(text(rows))
    print(
        f"{len(PROGRAMS)} programs; without one:",
        *[f"{place}: {form}" for place, form in empty(rows)],
        sep="\n  ",
    )

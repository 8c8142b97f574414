"""Every refusal of a schedule primitive is shown by a FileCheck test, and so are the kinds of loops it works on.

Messages are read from the source: every text of the primitive's module that a diagnostic can hold. Those of the modules
that several primitives share may be shown by any of them, but what a shared `refuse_...` says about the
action it is given is asked of each primitive that calls it.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path

import pytest
from nestor.dialects.schedule.table import PRIMITIVES, Primitive
from places import ROOT

LIT = ROOT / "tests" / "filecheck" / "transforms"
WORD = 6
"""Pieces of a message up to this length may be anywhere."""

SHORTEST = 12
"""A text that has no longer piece between its variable parts is no message: a name, a word, punctuation."""

SEARCHED = ("transforms.nest.", "analysis.nest.")
"""Where the modules are whose messages are looked for."""

_ARGUMENTS = "test_primitive_arguments.py"
ISL = {"integer_sets", "scalar_facts"}
"""Modules whose texts are sets in the notation of isl; they refuse nothing."""

TARGETS = {"amx_tiles", "async_copies", "matrix_tiles", "thread_copies", "vector_forms"}
"""What a target can do at a time: unit tests (test_matrix_unit.py, test_uncompilable_steps.py) show what they refuse."""

ONLY_FROM_PYTHON: dict[tuple[str, str], str] = {
    ("cut", "expressions given instead of one"): _ARGUMENTS,
    ("cut", "is not an index but"): _ARGUMENTS,
    ("cut", "is not known before it starts"): _ARGUMENTS,
    ("shift", 'cannot shift the loop "'): _ARGUMENTS,
    ("shift", "expressions given instead of one"): _ARGUMENTS,
    ("shift", "is not an index but"): _ARGUMENTS,
    ("shift", "is not known before it starts"): _ARGUMENTS,
    ("peel", '" is neither "head" nor "tail"'): _ARGUMENTS,
    ("vectorize", '": it may have more than'): _ARGUMENTS,
    ("scatter_to_gather", "it does not go through all elements in a simple way"): _ARGUMENTS,
    ("staging", 'there is no init "'): _ARGUMENTS,
    ("buffers", 'there is no memory space "'): _ARGUMENTS,
    ("staging", "it is not a buffer"): "test_nest_memory.py",
}
"""Messages that no option of a pass can bring about (an option is an integer or one of a few words, and passes split
where that is needed), by module, and the test in tests/unit that shows them."""

NO_LOOPS = {
    "set_memory": "it takes a buffer, and looks at the marks of loops only, never at their bounds",
}
"""Primitives for which bounds of loops are of no importance."""

FROM_ZERO = {
    "flatten": "loops that start elsewhere are refused: the views start at the first element",
    "last_write": "loops that start elsewhere are refused: the number of an iteration is that of an element",
    "online_softmax": "loops that start elsewhere are refused: their variables are indices of running maxima and sums",
    "rfactor": "loops that start elsewhere are refused: the variable is the index of an accumulator",
}
"""Primitives that refuse loops that start elsewhere than at 0: nest-...-invalid.mlir has the case."""

FIXED_EXTENT = {
    "rfactor": "the loop has a constant extent, that of its accumulators; a symbolic one is refused",
    "block_relative": "each part has terms, whose number is known; a symbolic extent is refused",
    "beside": "the loops have known iterations, which their bounds are made of",
    "absorb": "the loop runs once; one that may run more often, or not at all, is refused",
}
"""Primitives that refuse a symbolic extent: nest-...-invalid.mlir has the case."""

Message = tuple[str, ...]
"""The constant pieces of a message, in order."""


# ---- messages in the source -------------------------------------------------------------------------


@cache
def _tree(module: str) -> ast.Module:
    return ast.parse((ROOT / f"{module.replace('.', '/')}.py").read_text())


def _stem(module: str) -> str:
    return module.rpartition(".")[2]


def _imported(importer: str, node: ast.ImportFrom) -> str:
    """The module that an import names, below the package; where it is relative."""
    if not node.level:
        return ""
    return ".".join([*importer.split(".")[: -node.level], str(node.module)])


def _pieces(node: ast.AST, values: dict[str, str]) -> list[str | None]:
    """The text of a string expression; None stands for what is not constant."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return [node.value]
    if isinstance(node, ast.JoinedStr):
        return [piece for part in node.values for piece in _pieces(part, values)]
    if isinstance(node, ast.FormattedValue) and isinstance(node.value, ast.Name) and node.value.id in values:
        return [values[node.value.id]]
    return [None]


def _message(node: ast.AST, values: dict[str, str]) -> Message:
    merged = [""]
    for piece in _pieces(node, values):
        if piece is None:
            merged.append("")
        else:
            merged[-1] += piece
    pieces = tuple(piece.strip() for piece in merged)
    if not any(len(piece) >= SHORTEST and " " in piece for piece in pieces):
        return ()
    return tuple(piece for piece in pieces if len(piece) > WORD)


def _texts(node: ast.AST, parameters: Mapping[str, list[str]]) -> Iterator[ast.AST]:
    """The string expressions below `node`, but for docstrings, assertions, and what is a hint."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.Expr) and isinstance(child.value, ast.Constant):
            continue
        if isinstance(child, ast.Assert) or _is_hint(child, node, parameters):
            continue
        if isinstance(child, ast.JoinedStr):
            yield child
            for part in child.values:
                if isinstance(part, ast.FormattedValue):
                    yield from _texts(part, parameters)
        elif isinstance(child, ast.Constant):
            yield child
        else:
            yield from _texts(child, parameters)


def _is_hint(node: ast.AST, parent: ast.AST, parameters: Mapping[str, list[str]]) -> bool:
    """Whether `node` gives a hint: an argument or a variable called so, or a function that is about nothing else."""
    if isinstance(node, ast.keyword):
        return node.arg == "hint"
    if isinstance(node, ast.FunctionDef):
        return node.name.endswith("_hint")
    if isinstance(node, ast.Assign):
        return any(isinstance(target, ast.Name) and target.id == "hint" for target in node.targets)
    if isinstance(parent, ast.Call) and node in parent.args:
        names = parameters.get(getattr(parent.func, "id", getattr(parent.func, "attr", "")), [])
        place = parent.args.index(node)  # pyright: ignore[reportArgumentType]
        return place < len(names) and names[place] == "hint"
    return False


@cache
def _parameters(module: str) -> dict[str, list[str]]:
    """The names of the parameters of the functions that the module defines or imports from its neighbours."""
    found: dict[str, list[str]] = {}
    for node in _tree(module).body:
        if isinstance(node, ast.ImportFrom) and _imported(module, node).startswith(SEARCHED):
            found |= _parameters(_imported(module, node))
    for node in ast.walk(_tree(module)):
        if isinstance(node, ast.ClassDef):
            fields = [
                f.target.id
                for f in node.body
                if isinstance(f, ast.AnnAssign) and isinstance(f.target, ast.Name)
            ]
            makers = [f for f in node.body if isinstance(f, ast.FunctionDef) and f.name == "__init__"]
            found[node.name] = [a.arg for f in makers for a in f.args.args[1:]] or fields
        elif isinstance(node, ast.FunctionDef):
            found[node.name] = [a.arg for a in node.args.args if a.arg != "self"]
    return found


def _messages_of(module: str) -> set[Message]:
    """Every message of the module's own, and of the shared refusals that it calls."""
    functions = {f.name: f for f in _tree(module).body if isinstance(f, ast.FunctionDef)}
    found: set[Message] = set()
    for top in ast.iter_child_nodes(_tree(module)):
        name = getattr(top, "name", "")
        if module not in MODULES and name.startswith("refuse_"):
            continue
        if isinstance(top, ast.Expr) and isinstance(top.value, ast.Constant):
            continue
        if name.endswith("_hint"):
            continue
        found |= {_message(text, {}) for text in _texts(top, _parameters(module))}
    for call in ast.walk(_tree(module)):
        if isinstance(call, ast.Call) and isinstance(call.func, ast.Name):
            name = call.func.id
            if name.startswith("refuse_") and name not in functions:
                found |= set(_expanded(module, call))
    return found - {()}


def _expanded(module: str, call: ast.Call) -> Iterator[Message]:
    """What a `refuse_...` of another module says with the constants that `call` gives it."""
    assert isinstance(call.func, ast.Name)
    for node in _tree(module).body:
        if isinstance(node, ast.ImportFrom) and any(alias.name == call.func.id for alias in node.names):
            other = _imported(module, node)
            function = next(f for f in _tree(other).body if getattr(f, "name", "") == call.func.id)
            assert isinstance(function, ast.FunctionDef)
            names = [argument.arg for argument in function.args.args]
            values = {
                name: given.value
                for name, given in zip(names, call.args, strict=False)
                if isinstance(given, ast.Constant) and isinstance(given.value, str)
            }
            yield from (_message(text, values) for text in _texts(function, _parameters(other)))


# ---- messages in the tests --------------------------------------------------------------------------


def _owner(path: Path) -> str:
    """The primitive whose test this is: the one with the longest name that the file's name starts with."""
    names = [f"nest-{name}".replace("_", "-") for name in PRIMITIVES]
    return max((n for n in names if path.stem == n or path.stem.startswith(f"{n}-")), key=len, default="")


def _tests_of(name: str) -> list[Path]:
    wanted = f"nest-{name}".replace("_", "-")
    return [path for path in sorted((LIT / "nest").rglob("*.mlir")) if _owner(path) == wanted]


_EXPECTED = re.compile(r"expected-(?:error|note)(?:-re)?[^{}]*\{\{(.*?)\}\}(?!\})")
_CHECKED = re.compile(r"// [A-Z][A-Z0-9-]*: (.*)")


@cache
def _shown(path: Path) -> list[str]:
    """The errors and notes that a test demands."""
    text = path.read_text()
    return [match[1] for pattern in (_EXPECTED, _CHECKED) for match in pattern.finditer(text)]


def _missing(module: str, tests: list[Path]) -> list[Message]:
    shown = [text for path in tests for text in _shown(path)]
    return [
        message
        for message in sorted(_messages_of(module))
        if not any(all(piece in text for piece in message) for text in shown)
        and not any((_stem(module), piece) in ONLY_FROM_PYTHON for piece in message)
    ]


def _module(primitive: Primitive) -> str:
    return primitive.function.partition(":")[0]


def _takes_a_factor(primitive: Primitive) -> bool:
    return any(option.name in ("factor", "sizes", "width") for option in primitive.options)


MODULES = sorted({_module(primitive) for primitive in PRIMITIVES.values()})


def _shared_modules() -> list[str]:
    """The modules beside those of the primitives that they import, however far."""
    found, work = set(MODULES), list(MODULES)
    while work:
        importer = work.pop()
        for node in _tree(importer).body:
            if isinstance(node, ast.ImportFrom) and node.level:
                module = _imported(importer, node)
                if module not in found and module.startswith(SEARCHED):
                    found.add(module)
                    work.append(module)
    return sorted(module for module in found - set(MODULES) if _stem(module) not in ISL | TARGETS)


SHARED = _shared_modules()
"""Modules whose messages may be shown by the tests of any primitive."""


@pytest.mark.parametrize("module", MODULES)
def test_every_refusal_is_shown(module):
    tests = sorted((LIT / "schedule").glob("*.mlir"))
    for primitive in PRIMITIVES.values():
        if _module(primitive) == module:
            tests += _tests_of(primitive.name)
    assert _missing(module, tests) == []


@pytest.mark.parametrize("module", SHARED)
def test_every_shared_refusal_is_shown(module):
    tests = [path for folder in ("nest", "schedule") for path in sorted((LIT / folder).rglob("*.mlir"))]
    assert _missing(module, tests) == []


# ---- kinds of loops ---------------------------------------------------------------------------------

_FOR = re.compile(
    r'^ *nest\.for "([^"]*)" %\S+ = (.*?) to (.*?)(?: step (\d+))?(?: \w+| \w+\(\d+\)| bind .*)? \{$', re.M
)
_NAMED = re.compile(r"\b(?:loops?|outer|inner|first|second|lanes|at|consumer|into|rows|product)=([\w.,]+)")
_NUMBERS = re.compile(r"\b(?:factor|width|sizes)=([\d,]+)")


def _loops(name: str, suffix: str = "") -> list[tuple[str, str, int]]:
    """The loops in the input of the primitive's test (lower bound, upper bound, step): those its options name, if any."""
    (path,) = (LIT / "nest").rglob(f"nest-{name}{suffix}.mlir".replace("_", "-"))
    text = path.read_text()
    runs = "".join(line for line in text.splitlines() if "RUN:" in line)
    named = {loop for match in _NAMED.finditer(runs) for loop in match[1].split(",")}
    loops = [(m[1], m[2], m[3], int(m[4] or 1)) for m in _FOR.finditer(text)]
    assert loops, "the test has no loop"
    return [(lower, upper, step) for label, lower, upper, step in loops if not named or label in named]


@pytest.mark.parametrize("name", [name for name in PRIMITIVES if name not in NO_LOOPS])
def test_symbolic_extent(name):
    suffix = "-invalid" if name in FIXED_EXTENT else ""
    assert any("%" in lower or "%" in upper for lower, upper, _ in _loops(name, suffix))


@pytest.mark.parametrize("name", [name for name in PRIMITIVES if name not in NO_LOOPS])
def test_nonzero_lower_bound(name):
    suffix = "-invalid" if name in FROM_ZERO else ""
    assert any(lower != "0" for lower, _, _ in _loops(name, suffix))


@pytest.mark.parametrize("name", [row.name for row in PRIMITIVES.values() if _takes_a_factor(row)])
def test_uneven_extent(name):
    text = "".join(path.read_text() for path in _tests_of(name) if not path.stem.endswith("-invalid"))
    factors = {int(n) for match in _NUMBERS.finditer(text) for n in match[1].split(",") if n} - {0, 1}
    assert factors, "no RUN line gives a factor"
    extents = [
        -(-(int(upper) - int(lower)) // step)
        for lower, upper, step in _loops(name)
        if re.fullmatch(r"-?\d+", lower) and re.fullmatch(r"-?\d+", upper)
    ]
    assert any(extent > factor and extent % factor for extent in extents for factor in factors)


# ---- the tables of exceptions -----------------------------------------------------------------------


@pytest.mark.parametrize(("module", "piece"), ONLY_FROM_PYTHON)
def test_messages_that_passes_cannot_bring_about(module, piece):
    found = {
        message for full in (*MODULES, *SHARED) if _stem(full) == module for message in _messages_of(full)
    }
    assert any(piece in message for message in found), "no such message any more"
    assert piece in next((ROOT / "tests" / "unit").rglob(ONLY_FROM_PYTHON[module, piece])).read_text()


@pytest.mark.parametrize("name", [*NO_LOOPS, *FROM_ZERO, *FIXED_EXTENT])
def test_exceptions_are_primitives(name):
    assert name in PRIMITIVES


def test_messages_are_found():
    """The search itself: a message of each form."""
    split = _messages_of("transforms.nest.loops.split")
    assert ('cannot split the loop "', '": its lower bound is a max of several expressions') in split
    assert ('cannot split the loop "', '": it is', "already") in split, "of refuse_marked"
    assert ("two of its elements would be in one place while both are still needed",) in _messages_of(
        "transforms.nest.memory.transform_layout"
    )
    assert any(
        "copies of its body are more than" in message
        for message in _messages_of("transforms.nest.loops.unroll")
    )
    assert not any("use tail=" in piece for message in split for piece in message)

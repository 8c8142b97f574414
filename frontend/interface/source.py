"""The source of a Python function: its AST with the exact lines and columns of its file."""

from __future__ import annotations

import ast
import functools
import inspect
import linecache
import os
import time
import tokenize
from types import CodeType, FunctionType, MethodType
from typing import Any
from weakref import WeakKeyDictionary

from ...dialects.diagnostic import SourceLocation
from ...dialects.records import record
from .carried_texts import carried
from .errors import UnsupportedError
from .forwarders import ABOUT, made_lines
from .match_statements import without_match
from .pickling import Pickled
from .private_names import class_around, mangled, with_private_names
from .source_text import is_text_of, is_text_with_asserts_of, is_tree_of
from .typed_texts import SHARED, typed


@record
class FunctionSource:
    """A function, its AST, and the file its locations refer to."""

    function: FunctionType
    node: ast.FunctionDef
    file: str

    def place(self, node: ast.AST) -> SourceLocation:
        """The place of `node`: lines and columns count from 1. Of what is made of a text, the place of what it is about."""
        return self.shown(node) or self._own(node)

    def shown(self, node: ast.AST) -> SourceLocation | None:
        """The place that a message shows: None where what a text is about has no source (functions of NumPy)."""
        subject = vars(self.function).get(ABOUT)
        return self._own(node) if subject is None else definition_of(subject)

    def _own(self, node: ast.AST) -> SourceLocation:
        return SourceLocation(self.file, getattr(node, "lineno", 0), getattr(node, "col_offset", -1) + 1)

    @property
    def own_names(self) -> frozenset[str]:
        """Its local variables."""
        return assigned_names(self.node)

    def lookup(self, name: str) -> Any:
        """The value that `name` has outside the function. Raises KeyError."""
        code = self.function.__code__
        if name in code.co_freevars and self.function.__closure__ is not None:
            return self.function.__closure__[code.co_freevars.index(name)].cell_contents
        if name in self.function.__globals__:  # pyright: ignore
            return self.function.__globals__[name]  # pyright: ignore
        import builtins

        return vars(builtins)[name]

    def known_names(self) -> list[str]:
        """The names that have a value outside the function."""
        return [*self.function.__code__.co_freevars, *self.function.__globals__]  # pyright: ignore


def definition_of(function: Any) -> SourceLocation | None:
    """Where a function is defined; None where that is not known. Of an object that is called, where its method is."""
    if isinstance(function, functools.partial):
        return definition_of(function.func)
    if isinstance(function, MethodType):
        function = function.__func__
    if isinstance(function, Pickled):
        return definition_of(function._functions()[0])
    if not isinstance(function, FunctionType | type):
        method = next((vars(c)["__call__"] for c in type(function).__mro__ if "__call__" in vars(c)), None)
        function = method if isinstance(method, FunctionType) else function
    try:
        source = source_of(function)
    except UnsupportedError as error:
        return error.diagnostic.location
    return source.shown(source.node)


@functools.lru_cache(maxsize=256)
def assigned_names(function: ast.FunctionDef) -> frozenset[str]:
    """The parameters of a function, and the names that its own statements assign."""
    a = function.args
    names = {p.arg for p in (*a.posonlyargs, *a.args, *a.kwonlyargs, a.vararg, a.kwarg) if p is not None}
    rest: list[ast.AST] = list(function.body)
    while rest:
        node = rest.pop()
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            names.add(node.id)
        if isinstance(node, ast.FunctionDef | ast.ClassDef | ast.AsyncFunctionDef):
            names.add(node.name)
        elif not isinstance(node, ast.Lambda | ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp):
            rest.extend(ast.iter_child_nodes(node))
    return frozenset(names)


SUSPENDED = "return a list of its items, or call it outside the compiled function"
"""What to do about functions that stop in the middle."""


def suspended_kind(flags: int) -> str | None:
    """What a function is that stops in the middle, by the flags of its code."""
    if flags & inspect.CO_ASYNC_GENERATOR:
        return "an asynchronous generator"
    if flags & inspect.CO_COROUTINE:
        return "a coroutine"
    return "a generator" if flags & inspect.CO_GENERATOR else None


def source_of(function: Any) -> FunctionSource:
    """The source of a plain Python function.

    Raises UnsupportedError for a generator, and for a function whose text is not known.
    """
    if not isinstance(function, FunctionType):  # a builtin, a class, an instance
        raise UnsupportedError(
            f"cannot compile {function!r}: only plain Python functions have a source",
            hint="write a function that calls it, and compile that",
        )
    code = function.__code__
    known = _DEFINITIONS.get(function)
    if known is None or known[0] is not code:
        known = _DEFINITIONS[function] = code, *_definition_of(function, code)
    return FunctionSource(function, *known[1:])


_DEFINITIONS: WeakKeyDictionary[FunctionType, tuple[CodeType, ast.FunctionDef, str]] = WeakKeyDictionary()
"""What was read of functions, for as long as they live: it holds none of them, and so nothing of their modules."""


def _definition_of(function: FunctionType, code: CodeType) -> tuple[ast.FunctionDef, str]:
    first = code.co_firstlineno
    file, lines = text_of(function, code)
    kind = suspended_kind(code.co_flags)
    if kind is not None:
        column = _indentation(lines[first - 1]) + 1 if first <= len(lines) else 0
        place = SourceLocation(file, first, column)
        raise UnsupportedError(
            f"'{function.__name__}' is {kind}, which is not compiled", place, hint=SUSPENDED
        )
    if not lines:
        raise no_text(function)
    node = _definition(lines, file, code)
    if node is None:
        raise UnsupportedError(
            f"the source of '{function.__name__}' is not a function definition that can be read",
            SourceLocation(file, first),
            hint="define it with `def`, in lines of its own",
        )
    return with_private_names(without_match(node), class_around(code)), file


def no_text(function: FunctionType, more: str = "") -> UnsupportedError:
    """The refusal of a function whose text is not known; `more` says why it is not traced."""
    file = function.__code__.co_filename
    how = {
        "<string>": "Python compiled it from a string, as `exec` does",
        "<stdin>": "Python read it from a pipe or a prompt, and kept nothing",
        "<console>": "Python read it from a prompt, and kept nothing",
    }
    why = how.get(file, f"there is no '{file}' to read")
    hint = "write it to a file and import that, or hand its text to `linecache` (docs/notebooks.md#exec)"
    return UnsupportedError(f"the text of '{function.__name__}' is not known: {why}{more}", hint=hint)


def has_text(function: FunctionType) -> bool:
    """Whether the text of a function can be found; one that is not what runs is found, and refused by `source_of`."""
    try:
        source_of(function)
    except UnsupportedError:
        pass
    else:
        return True
    try:
        return bool(text_of(function, function.__code__)[1])
    except UnsupportedError:
        return True


_STARTED = time.time()


def text_of(function: FunctionType, code: CodeType) -> tuple[str, list[str]]:
    """The file that the code was compiled from, and its lines; none where there is no file. Raises UnsupportedError where
    they are gone."""
    file, made = code.co_filename, made_lines(function)
    if made:
        return file, made
    known = linecache.getlines(file, function.__globals__) or _inspect_lines(function)
    if known and _are_of(known, function, code):
        return file, known
    came = next((text for text in carried(code) if _are_of(text[1], function, code)), None)
    came = came or typed(code, lambda lines: _are_of(lines, function, code))
    if came is not None or not known or file in SHARED:
        return came or (file, [])
    # An edited file that was imported again may be known by its old text.
    present = _lines_of_file(file)
    if present != known and _are_of(present, function, code):
        return file, present
    raise UnsupportedError(
        f"the file of '{function.__name__}' was changed after it was imported, or its code was: the text is not what runs",
        SourceLocation(file, code.co_firstlineno),
        hint="import it again, run its cell again, or restart Python",
    )


def _are_of(lines: list[str], function: FunctionType, code: CodeType) -> bool:
    """Whether Python compiles the lines to the code: those of the definition alone, else all of them."""
    if code.co_name != "<lambda>" and code.co_firstlineno <= len(lines):
        try:
            if is_tree_of(_alone(lines, code), code):
                return True
        except (
            SyntaxError,
            ValueError,
            RecursionError,
        ):  # of a long expression a tree is not compiled, its text is
            pass
    text = "".join(lines)
    if is_text_of(text, code):
        return True
    return not _is_edited(code.co_filename) and is_text_with_asserts_of(text, function)


def _lines_of_file(file: str) -> list[str]:
    try:
        with tokenize.open(file) as text:
            return text.readlines()
    except (OSError, SyntaxError):
        return []


def _is_edited(file: str) -> bool:
    """Whether the file may have other text than what was imported: it was written after this process imported Nestor."""
    try:
        return os.stat(file).st_mtime > _STARTED
    except OSError:  # of a cell, or of a text that was never a file
        return False


def _inspect_lines(function: FunctionType) -> list[str]:
    try:
        return inspect.findsource(function)[0]
    except OSError:
        return []


def _definition(lines: list[str], file: str, code: CodeType) -> ast.FunctionDef | None:
    """The definition that `code` was compiled from. Its lines alone are parsed where that succeeds, else the whole file."""
    name, first = code.co_name, code.co_firstlineno
    if name == "<lambda>":
        return _lambda(_parse(file, "".join(lines)), code)
    try:
        found = _find(_alone(lines, code), name, first)
    except SyntaxError:  # a line of a text, or of an argument list, that is not indented seemed to end it
        found = None
    return found or _find(_parse(file, "".join(lines)), name, first)


_MADE = "nestor_definition"
"""The attribute of a lambda with the function definition it stands for."""


def _lambda(module: ast.Module, code: CodeType) -> ast.FunctionDef | None:
    """The definition that a lambda stands for: the one in its line with these parameters, and at the columns of its code."""
    names = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
    owner = class_around(code)
    found = [
        node
        for node in ast.walk(module)
        if isinstance(node, ast.Lambda)
        and node.lineno == code.co_firstlineno
        and _parameters(node, owner) == names
    ]
    if len(found) > 1:
        places = [(line, column) for line, _, column, _ in code.co_positions() if line and column]
        found = [node for node in found if places and all(_is_in(node.body, place) for place in places)]
        found = sorted(found, key=lambda node: _size(node.body))[:1]
    if not found:
        return None
    node = found[0]
    made = getattr(node, _MADE, None)
    if made is None:
        body = ast.copy_location(ast.Return(node.body), node.body)
        made = ast.copy_location(ast.FunctionDef("<lambda>", node.args, [body], []), node)
        setattr(node, _MADE, made)
    return made


def _parameters(node: ast.Lambda, owner: str) -> tuple[str, ...]:
    a = node.args
    return tuple([mangled(p.arg, owner) for p in (*a.posonlyargs, *a.args, *a.kwonlyargs)])


def _is_in(node: ast.expr, place: tuple[int, int]) -> bool:
    end = (node.end_lineno or node.lineno, node.end_col_offset or node.col_offset)
    return (node.lineno, node.col_offset) <= place <= end


def _size(node: ast.expr) -> tuple[int, int]:
    return (node.end_lineno or 0) - node.lineno, (node.end_col_offset or 0) - node.col_offset


def _alone(lines: list[str], code: CodeType) -> ast.Module:
    return ast.parse(_lines_alone(lines, code), code.co_filename)


def _lines_alone(lines: list[str], code: CodeType) -> str:
    """The lines of a definition, at their places in the file: up to the first behind its code that is not indented more."""
    first = code.co_firstlineno - 1
    depth = _indentation(lines[first]) if first < len(lines) else 0
    end = max(line or 0 for _, _, line in code.co_lines())
    while end < len(lines) and not (depth >= _indentation(lines[end]) and _is_statement(lines[end])):
        end += 1
    before = "\n" * (first - 1) + "if True:\n" if depth else "\n" * first
    return before + "".join(lines[first:end])


def _indentation(line: str) -> int:
    return len(line) - len(line.lstrip())


def _is_statement(line: str) -> bool:
    return not line.isspace() and not line.lstrip().startswith("#")


@functools.lru_cache(maxsize=64)
def _parse(file: str, text: str) -> ast.Module:
    return ast.parse(text, file)


def _find(module: ast.Module, name: str, first_line: int) -> ast.FunctionDef | None:
    """The definition whose first line, decorators included, is `first_line`."""
    for node in ast.walk(module):
        if not isinstance(node, ast.FunctionDef) or node.name != name:
            continue
        top = min([node.lineno, *(d.lineno for d in node.decorator_list)])
        if top == first_line:
            return node
    return None

"""Nestor changes nothing that is not its own: Python, its library and xDSL are the same while it compiles and afterwards."""

from __future__ import annotations

import ast
import os
import subprocess
import sys

import pytest
from places import ROOT

WATCH = """
import abc, builtins, copy, dataclasses, functools, importlib, inspect, sys, types, typing
import importlib.abc, importlib.machinery, importlib.util
import numpy as np
import typing_extensions  # changes `typing`
{before}

MODULES = [abc, builtins, copy, dataclasses, functools, importlib, inspect, types, typing]
MODULES += [importlib.machinery, importlib.util, np]

def vars_of(thing):
    return dict(vars(thing))

def classes():
    "The classes that xDSL and llvmlite define, by their identity."
    found = {{}}
    for name, module in list(sys.modules.items()):
        if name.partition(".")[0] in ("xdsl", "llvmlite"):
            for value in list(vars(module).values()):
                if isinstance(value, type) and value.__module__.partition(".")[0] in ("xdsl", "llvmlite"):
                    found[id(value)] = value
    return found

def differences(before, after):
    keys = [*before, *(key for key in after if key not in before)]
    return [key for key in keys if before.get(key, keys) is not after.get(key, keys)]

OWN = {{"__warningregistry__", "__annotations_cache__", "__annotate_func__"}}  # what Python itself writes there
finders = [one for one in sys.meta_path if not type(one).__module__.startswith("xdsl.")]
hooks = list(sys.path_hooks)
usual = [(module, vars_of(module)) for module in MODULES]
usual += [(cls, vars_of(cls)) for cls in classes().values()]
usual += [(cls, vars_of(cls)) for cls in (abc.ABCMeta, type(typing.Any), importlib.machinery.FileFinder)]
problems, looked = [], 0

def look(everything=True):
    global looked
    looked += 1
    ours = [one for one in sys.meta_path if not type(one).__module__.startswith("xdsl.")]  # xDSL finds .irdl files
    if [*map(id, ours)] != [*map(id, finders)] or sys.path_hooks != hooks:
        problems.append("finders")
    for thing, before in usual if everything else usual[: len(MODULES)]:
        changed = [key for key in differences(before, vars(thing)) if key not in OWN]
        if isinstance(thing, types.ModuleType):  # a module that was imported meanwhile is an attribute of its package
            changed = [key for key in changed if f"{{thing.__name__}}.{{key}}" not in sys.modules]
        if changed:
            problems.append((thing.__name__, changed))

count = 0
watching = True
def watch(event, arguments):
    global count
    if watching and event == "import":
        count += 1
        look(everything=count % 20 == 0)

sys.addaudithook(watch)
import nestor as nt

def f(x, n):
    total = 0.0
    for i in range(n):
        if x[i] > 0:
            total += np.sin(x[i]) * i
    return total, x[::2] + 1, x @ x

x = np.arange(12.0)
first, again = nt.jit(f)(x, 12), nt.jit(f, dynamic=True)(x[1:], 11)
nt.trace(lambda x: x + 1)(x)
nt.schedule
low = nt.jit(f).lower(x, 12)
low.as_text("llvm"), low.as_text("cuda")
look()
watching = False
assert np.allclose(first[0], f(x, 12)[0]) and looked > {least}
print(sorted(set(map(str, problems))))
"""

EVERYTHING = """
import llvmlite.binding, llvmlite.ir, xdsl.context, xdsl.interpreter, xdsl.parser, xdsl.printer, xdsl.universe
from xdsl.dialects import get_all_dialects
for make in get_all_dialects().values():
    make().operations
"""


@pytest.mark.parametrize("before", ["", EVERYTHING], ids=["nothing imported", "xDSL imported before"])
def test_nothing_foreign_is_changed(before, tmp_path):
    """Looked at whenever something is imported while functions compile, and afterwards."""
    script = tmp_path / "script.py"
    script.write_text(WATCH.format(before=before, least=20))
    done = subprocess.run(
        [sys.executable, str(script)],
        check=False,
        capture_output=True,
        text=True,
        env={**os.environ, "NESTOR_CACHE": "0"},
    )
    assert (done.returncode, done.stdout.strip()) == (0, "[]"), done.stderr


# ---- the same, of the text -----------------------------------------------------------------------------

PRODUCT = ("dialects", "analysis", "transforms", "lowering", "frontend", "runtime", "tools")
MUTATORS = ("append", "clear", "extend", "insert", "pop", "remove", "setdefault", "update", "__setitem__")
TABLES = ("sys.modules", "sys.meta_path", "sys.path_hooks", "sys.path_importer_cache")
ALLOWED = {"runtime/user_files.py": "a file of the user that is run becomes the module that it is"}


def foreign_names(tree: ast.AST) -> set[str]:
    """What the file imports from elsewhere: modules, and classes and functions of them."""
    found = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names = [alias for alias in node.names if alias.name.partition(".")[0] != "nestor"]
        elif isinstance(node, ast.ImportFrom) and not node.level and node.module != "nestor":
            names = node.names
        else:
            continue
        found |= {alias.asname or alias.name.partition(".")[0] for alias in names}
    return found


def changes(text: str) -> list[str]:
    """The statements that assign to, or delete, what is not Nestor's own."""
    tree = ast.parse(text)
    foreign, found = foreign_names(tree), []

    def root(node: ast.expr) -> str:
        while isinstance(node, ast.Attribute | ast.Subscript):
            node = node.value
        return node.id if isinstance(node, ast.Name) else ""

    for node in ast.walk(tree):
        targets: list[ast.expr] = []
        if isinstance(node, ast.Assign | ast.Delete):
            targets = node.targets
        elif isinstance(node, ast.AugAssign | ast.AnnAssign):
            targets = [node.target]
        elif isinstance(node, ast.Call):
            function = node.func
            is_set = isinstance(function, ast.Name) and function.id in ("setattr", "delattr")
            if is_set and root(node.args[0]) in foreign and not isinstance(node.args[0], ast.Subscript):
                found.append(ast.unparse(node))
            is_mutator = isinstance(function, ast.Attribute) and function.attr in MUTATORS
            of = function.value if is_mutator else function
            may_be = is_mutator and (
                isinstance(of, ast.Call) or root(of) == "sys"
            )  # to write a text takes long
            if may_be and ast.unparse(of) in (*TABLES, "vars(builtins)"):
                found.append(ast.unparse(node))
            continue
        for target in targets:
            is_item = isinstance(target, ast.Subscript) and root(target) == "sys"
            of_table = is_item and ast.unparse(target.value) in TABLES
            of_module = isinstance(target, ast.Attribute) and root(target) in foreign
            if of_table or of_module:
                found.append(ast.unparse(node))
    return found


def test_nothing_foreign_is_assigned_to():
    found = {
        name: statements
        for package in PRODUCT
        for path in sorted((ROOT / package).rglob("*.py"))
        if (name := str(path.relative_to(ROOT))) not in ALLOWED and (statements := changes(path.read_text()))
    }
    assert not found


@pytest.mark.parametrize(
    "text",
    [
        "import sys\nsys.modules['x'] = 3",
        "import sys\ndel sys.modules['x']",
        "import sys\nsys.meta_path.insert(0, x)",
        "import builtins\nvars(builtins).update(x=3)",
        "import builtins\nbuiltins.__import__ = f",
        "import dataclasses as d\nd._init_fn = f",
        "from xdsl.ir import Attribute\nAttribute.__post_init__ = f",
        "from xdsl.ir import Attribute\nsetattr(Attribute, 'x', f)",
        "import xdsl.ir\ndef f():\n    del xdsl.ir.Attribute.name",
    ],
)
def test_a_change_would_be_seen(text):
    assert changes(text)


@pytest.mark.parametrize(
    "text", ["from .x import A\nA.b = 3", "import sys\nm = sys.modules.get('x')", "x.y = 2"]
)
def test_changes_of_ones_own_are_none(text):
    assert not changes(text)

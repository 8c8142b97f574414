"""Modules deferred by a compilation are not imported by it, and whoever uses something of them has the real thing."""

from __future__ import annotations

import ast
import os
import re
import subprocess
import sys
from pathlib import Path

import nestor
import pytest
import xdsl
from nestor.frontend.deferred_modules import TEXT
from nestor.transforms.pipelines import PIPELINES, name_and_options
from nestor.transforms.registry import load_pass
from xdsl.utils.arg_spec import parse_spec

ROOT = Path(__file__).parents[2]

FIRST_CALL = """
import sys
sys.path.insert(0, "examples")
import numpy as np, nestor as nt
from iou import ratio_iou
nt.jit(ratio_iou)(*[np.ones((10, 100), np.float32)] * 8)
"""


def _output(script: str, folder: Path = ROOT) -> str:
    environment = {**os.environ, "NESTOR_CACHE": "0", "PYTHONHASHSEED": "0"}
    command = [sys.executable, "-c", script]
    done = subprocess.run(command, capture_output=True, text=True, cwd=folder, env=environment)
    assert done.returncode == 0, done.stderr
    return done.stdout


LOADED = """
has_socket = sys.version_info >= (3, 13)  # `types` loads it there, for the type of a capsule
names = ["xdsl.parser.core", "xdsl.printer", "xdsl.utils.mlir_lexer", "tempfile", *["_socket"][has_socket:]]
print([name for name in names if type(sys.modules.get(name)) is type(sys) and hasattr(sys.modules[name], "__file__")])
print("xdsl.dialects.llvm" in sys.modules)
print(sys.platform == "linux" and not has_socket and "/_socket." in open("/proc/self/maps").read())
import socket, typing_extensions
own = getattr(typing_extensions, "_socket", socket._socket)
print(own.socket is socket._socket.socket)
print(typing_extensions.CapsuleType is type(socket._socket.CAPI))
"""


def test_a_first_call_imports_none_of_them():
    assert _output(FIRST_CALL + LOADED).split() == ["[]", "True", "False", "True", "True"]


DESCRIBED = """
import importlib, inspect, sys, types
from xdsl.dialects import arith, cf, func, llvm, math, memref, scf, vector
from nestor.dialects import nest, nt, ext
import nestor.dialects.ext.llvm
names = ["xdsl.utils.arg_spec", "nestor.dialects.affine_text", "nestor.dialects.nt.common",
         "nestor.dialects.nest.loop", "nestor.dialects.ext.llvm"]
names += ["xdsl.dialects." + name for name in ("arith", "cf", "func", "llvm", "math", "memref", "scf", "vector")]
names += ["xdsl.dialects.utils." + name for name in ("format", "dimension_list", "dynamic_index_list")]
names += ["xdsl.dialects.utils", "xdsl.dialects.utils.bit_enum_attribute"]

def described(value):
    value = getattr(value, "__func__", value)
    if isinstance(value, types.FunctionType):
        return f"{inspect.signature(value)} {value.__annotations__}"
    if isinstance(value, type):
        return f"{type(value).__name__} {value.__mro__}"
    return repr(value)

on_demand = {"irdl_op_definition", "irdl_to_attr_constraint", "get_irdl_definition", "get_type_index"}  # of cold_start.py

for module in map(importlib.import_module, names):
    for name in dir(module):
        getattr(module, name)  # classes that wait (quick_classes.py) are made
    for name, value in sorted(vars(module).items()):
        if not name.startswith("_") and name not in on_demand:
            print(module.__name__, name, described(value))
        if isinstance(value, type) and value.__module__ == module.__name__:
            if hasattr(value, "get_irdl_definition") and "." in getattr(value, "name", ""):
                value.get_irdl_definition()
            for member, inner in sorted(vars(value).items()):
                if member == "__init__":
                    inner = getattr(value, member)  # made when it is looked at
                if not member.startswith("_") and member not in on_demand or member == "__init__":
                    print(module.__name__, name, member, described(inner))
"""


def _lines(script: str) -> list[str]:
    return [re.sub("0x[0-9a-f]+", "0x", line) for line in _output(script).splitlines()]


def test_after_a_use_everything_is_as_if_it_had_been_imported():
    """Namespaces, signatures, annotations, defaults, classes and their members, after a first call and without one."""
    deferred = _lines(FIRST_CALL + "import xdsl.printer\nxdsl.printer.Printer\n" + DESCRIBED)
    usual = _lines(DESCRIBED)
    assert deferred == usual
    assert any("class 'xdsl.parser.core.Parser'" in line for line in usual) and len(usual) > 3000


def test_text_is_read_and_printed_after_a_first_call():
    text = 'print(nt.jit(ratio_iou).lower(*[np.ones((10, 100), np.float32)] * 8).as_text("llvm")[:3000])'
    before = FIRST_CALL.replace("nt.jit(ratio_iou)(", "(lambda *_: None)(")
    printed = _output(FIRST_CALL + text)
    assert printed == _output(before + text) and "llvm.func" in printed
    parsed = """
from nestor.dialects.parse import parse_module
from nestor.dialects.registry import make_context
from xdsl.parser import Parser
print(Parser(make_context(), 'func.func @f(%a: memref<4xf32, strided<[2]>>) { return }').parse_module())
"""
    assert _output(FIRST_CALL + parsed) == _output(parsed)


def _module_level_uses(path: Path) -> list[tuple[str, str]]:
    """What code outside of functions does with names of deferred modules, annotations aside."""
    tree = ast.parse(path.read_text())
    names = {
        alias.asname or alias.name
        for statement in tree.body
        if isinstance(statement, ast.ImportFrom) and statement.module in TEXT.modules
        for alias in statement.names
    }
    found: list[tuple[str, str]] = []

    def look(node: ast.AST, parents: tuple[ast.AST, ...]) -> None:
        if isinstance(node, ast.Lambda | ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp):
            return
        if isinstance(node, ast.Name) and node.id in names:
            found.append((node.id, type(parents[-1]).__name__))
        if isinstance(node, ast.FunctionDef):
            parts: list[ast.AST] = [*node.decorator_list, *node.args.defaults]
            parts += [default for default in node.args.kw_defaults if default]
        elif isinstance(node, ast.AnnAssign):
            parts = [node.value] if node.value else []
        else:
            parts = [*ast.iter_child_nodes(node)]
        for part in parts:
            look(part, (*parents, node))

    look(tree, ())
    return found


def test_importers_do_with_the_names_what_stand_ins_can():
    """A base, a decorator, an attribute, a subscript; a stand-in knows nothing else before the module is imported."""
    folder = Path(xdsl.__path__[0])
    files = [*(folder / "dialects").rglob("*.py"), folder / "utils" / "arg_spec.py"]
    files += [*(Path(nestor.__path__[0]) / "dialects").rglob("*.py")]
    uses = {path: _module_level_uses(path) for path in files}
    kinds = {kind for of_file in uses.values() for _, kind in of_file}
    assert kinds == {"ClassDef", "Attribute", "Subscript"}
    assert sum(map(len, uses.values())) > 10


IRDL = """irdl.dialect @tiny {
  irdl.type @box {
    %0 = irdl.any
    irdl.parameters(elem: %0)
  }
}
"""

IRDL_IMPORTED = """
import sys, xdsl.dialects
try:
    import nothing_of_this_name
except ImportError as error:
    print(error)
print(sys.modules.get("tempfile") is None)
import tiny
from xdsl.utils.dialect_loader import IRDLDialectFinder
finders = [finder for finder in sys.meta_path if isinstance(finder, IRDLDialectFinder)]
print(len(finders), tiny.box.name, type(tiny.__spec__.loader), finders[0].get_all_dialects is xdsl.dialects.get_all_dialects)
print(xdsl.dialects.IRDLDialectFinder is IRDLDialectFinder, open("tiny.pyi").read())
"""


def test_dialects_written_in_irdl_are_found_by_xdsl(tmp_path: Path):
    (tmp_path / "tiny.irdl").write_text(IRDL)
    first = FIRST_CALL.replace('"examples"', repr(str(ROOT / "examples")))
    after, usual = (_output(before + IRDL_IMPORTED, tmp_path).splitlines() for before in (first, ""))
    assert after[1] == "True" and usual[1] == "False"
    assert after[:1] + after[2:] == usual[:1] + usual[2:] and "tiny.box" in after[2]


@pytest.mark.parametrize("text", sorted({text for texts in PIPELINES.values() for text in texts}))
def test_options_of_pipelines_are_those_that_xdsl_reads(text: str):
    name, options = name_and_options(text)
    if name in PIPELINES:
        assert not options
        return
    spec = parse_spec(text)
    assert name == spec.name
    assert vars(load_pass(name)(**options)) == vars(load_pass(name).from_spec(spec))


def test_types_of_arguments_have_their_usual_text():
    from nestor.runtime.abi import MemrefForm, form_of
    from xdsl.dialects.builtin import (
        DYNAMIC_INDEX,
        IndexType,
        IntAttr,
        IntegerType,
        MemRefType,
        Signedness,
        StridedLayoutAttr,
        bf16,
        f32,
        i1,
    )

    types = [
        MemRefType(element, shape)
        for element in (f32, bf16, i1, IndexType())
        for shape in ([], [3, DYNAMIC_INDEX, 4])
    ]
    types += [
        MemRefType(f32, [3, DYNAMIC_INDEX], StridedLayoutAttr([1, None], None)),
        MemRefType(f32, [3], memory_space=IntAttr(3)),
    ]
    types += [MemRefType(IntegerType(8, Signedness.UNSIGNED), [3])]
    forms = [form_of(0, type) for type in types]
    assert [form.text for form in forms if isinstance(form, MemrefForm)] == [str(type) for type in types]

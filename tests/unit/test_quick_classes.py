"""Classes that are made quickly, or when someone looks at them, are those that Python makes, and nothing is left behind."""

from __future__ import annotations

import builtins
import importlib
import os
import re
import subprocess
import sys
from abc import ABC, ABCMeta, abstractmethod
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from nestor.frontend import quick_classes, quick_imports
from nestor.frontend.cold_start import definitions_on_demand

ROOT = Path(__file__).parents[2]

LISTS = """
import sys
sys.path.insert(0, "examples")
import numpy as np, nestor as nt
from iou import ratio_iou
if {called_first}:
    from nestor.frontend import quick_classes
    went_well = []
    run = quick_classes._run_lazily
    quick_classes._run_lazily = lambda *given: went_well.append(run(*given)) or went_well[-1]
    nt.jit(ratio_iou)(*[np.ones((10, 100), np.float32)] * 8)
    assert all(went_well) and len(went_well) > 10, went_well
    waiting = [getattr(vars(m).get("__getattr__"), "__self__", None) for m in list(sys.modules.values())]
    assert sum(len(n.waiting) for n in waiting if type(n) is quick_classes._Namespace) > 100

from nestor.dialects import nest  # adds a trait
from nestor.dialects.registry import load_dialect
from xdsl.dialects import arith, cf, func, llvm, math, memref, scf, vector
for module in (arith, cf, func, llvm, math, memref, scf, vector):
    print(module.__name__, [name for name in dir(module) if not name.startswith("__")])
for name in ("arith", "builtin", "cf", "func", "llvm", "math", "memref", "scf", "special", "vector", "nest", "nt"):
    dialect = load_dialect(name)
    for op in sorted(dialect.operations, key=lambda op: op.name):
        print(op.name, op.__qualname__, op.__module__, [base.__qualname__ for base in op.__mro__])
        if op.name != "builtin.unregistered":
            definition = op.get_irdl_definition()
            print("  ", definition.operands, definition.results, definition.properties, definition.assembly_format)
            print("  ", sorted(map(repr, definition.traits.traits)), len(definition.attributes))
        assert getattr(sys.modules[op.__module__], op.__name__, op) is op, op
    print([attribute.name for attribute in dialect.attributes])
"""


def test_operations_that_waited_are_those_of_a_usual_import():
    """Every operation of every dialect, after a call that made a few of them, is what it is without one."""
    waited, usual = [
        subprocess.run(
            [sys.executable, "-c", LISTS.format(called_first=first)],
            env={**os.environ, "NESTOR_CACHE": "0"},
            check=True,
            capture_output=True,
            text=True,
            cwd=ROOT,
        ).stdout.splitlines()
        for first in (True, False)
    ]
    assert len(usual) > 500
    for one, other in zip(waited, usual, strict=True):
        assert _in_order(one) == _in_order(other)


def _in_order(line: str) -> list[str]:
    """The words of a line, but for addresses, in an order of their own: sets are printed in any."""
    return sorted(word for word in re.split(r"[\s,{}()\[\]]+", line) if "0x" not in word)


# ---- modules of dialects -------------------------------------------------------------------------------

DIALECT = """
from xdsl.ir import Dialect
from xdsl.irdl import IRDLOperation, irdl_op_definition, result_def
from xdsl.dialects.builtin import i32

class Base(IRDLOperation):
    pass

@irdl_op_definition
class OneOp(Base):
    name = "some.one"
    result = result_def(i32)

    def other(self):
        return TwoOp

@irdl_op_definition
class TwoOp(IRDLOperation):
    name = "some.two"

@irdl_op_definition
class ThreeOp(IRDLOperation):
    name = "some.three"

@irdl_op_definition
class FourOp(IRDLOperation):
    name = "some.four"

def uses():
    return FourOp

class Table:
    three = ThreeOp

{more}
SOME = Dialect("some", [OneOp, TwoOp, ThreeOp, FourOp], [])
"""


@pytest.fixture
def some(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """What imports a module of a dialect as a first call does."""
    package = tmp_path / "nestor_quick_classes"
    (package / "dialects").mkdir(parents=True)
    (package / "__init__.py").touch()
    (package / "dialects" / "__init__.py").touch()
    monkeypatch.syspath_prepend(str(tmp_path))
    for module in (quick_imports, quick_classes):
        monkeypatch.setattr(module, "_PACKAGES", frozenset([package.name]))
    monkeypatch.setattr(quick_classes, "_DIALECTS", (f"{package.name}.dialects.",))

    def imported(more: str = "") -> Any:
        (package / "dialects" / "some.py").write_text(DIALECT.format(more=more))
        importlib.import_module(f"{package.name}.dialects")
        with definitions_on_demand(), quick_imports.quick_imports(), quick_classes.quick_classes():
            scope: dict[str, Any] = {"__package__": f"{package.name}.dialects"}
            exec("from . import some", scope)
        return scope["some"]

    yield imported
    for name in [name for name in sys.modules if name.startswith(package.name)]:
        del sys.modules[name]


def _waiting(module: Any) -> set[str]:
    names = getattr(vars(module).get("__getattr__"), "__self__", None)
    return set(names.waiting) if names is not None else set()


def test_operations_wait_unless_their_module_uses_them(some: Any):
    module = some()
    assert _waiting(module) == {"OneOp", "TwoOp"}
    assert module.uses() is module.FourOp and module.Table.three is module.ThreeOp
    assert {"OneOp", "TwoOp", "FourOp"} <= {*dir(module)}
    with pytest.raises(AttributeError, match="has no attribute 'FiveOp'"):
        module.FiveOp  # noqa: B018


def test_what_a_method_uses_is_made_with_its_class(some: Any):
    module = some()
    assert module.OneOp.name == "some.one" and not _waiting(module)
    assert module.OneOp.other(None) is module.TwoOp
    assert module.OneOp.get_irdl_definition().results[0][0] == "result"


def test_a_dialect_lists_classes(some: Any):
    module = some()
    assert [op.name for op in module.SOME.operations] == ["some.one", "some.two", "some.three", "some.four"]
    assert not _waiting(module) and module.TwoOp in module.SOME._operations
    assert module.SOME._operations[:1] == [module.OneOp]


def test_all_names_of_a_module_are_complete(some: Any):
    module = some()
    scope: dict[str, Any] = {"__package__": module.__package__}
    exec("from .some import *", scope)
    assert scope["OneOp"] is module.OneOp and not _waiting(module)
    assert {name for name in vars(module) if name[0] != "_"} <= scope.keys()


@pytest.mark.parametrize(
    "more",
    [
        "def typed(dialect: Dialect, op: OneOp): ...",  # a class among the arguments of no dialect
        "def __getattr__(name): return name",
        "@staticmethod\n@(lambda cls: cls.name and cls)\nclass FiveOp(IRDLOperation):\n    name = 'some.five'",
    ],
)
def test_a_module_of_another_kind_is_run_as_usual(some: Any, more: str):
    module = some(more)
    assert not _waiting(module) and isinstance(vars(module)["OneOp"], type)


def test_a_module_with_an_error_says_so(some: Any):
    with pytest.raises(ZeroDivisionError):
        some("1 / 0")


# ---- abstract classes ----------------------------------------------------------------------------------


def test_abstract_classes_are_usual_afterwards(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(quick_classes, "_PACKAGES", frozenset([__name__.partition(".")[0]]))
    usual = builtins.__build_class__
    with quick_classes.quick_classes():
        assert builtins.__build_class__ is not usual

        class Shape(ABC):
            @abstractmethod
            def area(self) -> float: ...

        class Square(Shape):
            def area(self) -> float:
                return 1.0

        class Round(ABC):  # noqa: B024
            pass

        assert type(Shape) is not ABCMeta and type(Square) is type(Shape)
        assert isinstance(Square(), Shape) and not isinstance(Square(), Round) and issubclass(Square, Shape)
        with pytest.raises(TypeError, match="abstract"):
            Shape()  # pyright: ignore
        Round.register(int)
        assert isinstance(1, Round) and not isinstance(1, Shape)
    assert builtins.__build_class__ is usual
    assert type(Shape) is type(Square) is type(Round) is ABCMeta
    Shape.register(str)
    assert isinstance("", Shape) and isinstance(Square(), Shape) and isinstance(1, Round)


def test_classes_of_others_are_left_alone():
    made: list[type] = []
    with quick_classes.quick_classes():

        class Own(ABC):  # noqa: B024
            pass

        made.append(type(Own))
    assert made == [ABCMeta] and not quick_classes._roots

"""The savings of a first call change no result and leave nothing behind."""

from __future__ import annotations

import abc
import contextlib
import dataclasses
import gc
import inspect
import os
import re
import subprocess
import sys
import types
import typing
from pathlib import Path
from typing import Any, ClassVar

import pytest
from nestor.frontend.cold_start import (
    collector_paused,
    constraints_once,
    definitions_on_demand,
    formats_on_demand,
    kinds_of_attributes,
    unions_once,
)
from nestor.frontend.quick_dataclasses import quick_dataclasses
from nestor.frontend.quick_inits import OFTEN
from xdsl import irdl
from xdsl.dialects import test
from xdsl.dialects.builtin import ArrayAttr, DenseArrayBase, IntegerType, StringAttr, UnitAttr, i32
from xdsl.irdl.declarative_assembly_format import FormatProgram

ROOT = Path(__file__).parents[2]

SCRIPT = """
import sys
sys.path.insert(0, "examples")
import numpy as np, nestor as nt
from iou import ratio_iou
boxes = [np.ones((10, 100), np.float32)] * 8
iou = nt.jit(ratio_iou)
if {called_first}:
    iou(*boxes)
"""

LEVELS = """
for level in ("scf", "llvm"):
    print(iou.lower(*boxes).as_text(level))
"""


def test_formats_compiled_on_demand_print_the_same():
    commands = [[sys.executable, "-c", SCRIPT.format(called_first=first) + LEVELS] for first in (True, False)]
    on_demand, eager = [
        subprocess.run(command, check=True, capture_output=True, text=True, cwd=ROOT).stdout
        for command in commands
    ]
    assert on_demand == eager and "func.func @" in eager and "llvm.func @" in eager


def test_formats_are_eager_again_afterwards():
    eager = FormatProgram.from_str
    with formats_on_demand():
        with formats_on_demand():
            assert FormatProgram.from_str is not eager
        assert FormatProgram.from_str is not eager
    assert FormatProgram.from_str is eager


def _operations() -> list[Any]:
    from xdsl.irdl import (
        AttrSizedOperandSegments,
        IRDLOperation,
        operand_def,
        opt_prop_def,
        result_def,
        traits_def,
        var_operand_def,
    )
    from xdsl.traits import Commutative, Pure

    class Base(IRDLOperation):
        first = operand_def(i32)
        traits = traits_def(Pure())

        def verify_(self) -> None:
            if len(self.operands) > 3:
                raise irdl.VerifyException("more than three")

    class One(Base):
        name = "t.one"
        traits = traits_def(Commutative())
        irdl_options = (AttrSizedOperandSegments(as_property=True),)
        many = var_operand_def(i32)
        others = var_operand_def(i32)
        fast = opt_prop_def(UnitAttr)
        made = result_def(i32)

        def helper(self) -> int:
            return len(self.many)

    class Two(Base):
        name = "t.two"
        assembly_format = "$first attr-dict `:` type($made)"
        made = result_def(i32)

    return [irdl.irdl_op_definition(cls) for cls in (One, Two)]


def test_definitions_on_demand_are_the_same():
    define = irdl.irdl_op_definition
    eager = _operations()
    with definitions_on_demand(), definitions_on_demand():
        assert irdl.irdl_op_definition is not define
        late = _operations()
    assert irdl.irdl_op_definition is define
    for a, b in zip(eager, late, strict=True):
        b.LATER = a.LATER = 3  # as generated operations have it
        assert b.__dict__["get_irdl_definition"] is not None
        x, y, z = (test.TestOp.create(result_types=[i32]).results[0] for _ in range(3))
        several = a.name == "t.one"
        made = [cls.build(operands=[[y, z], [], x] if several else [x], result_types=[i32]) for cls in (a, b)]
        assert made[1].first is x and made[1].made is made[1].results[0]
        assert made[0].traits == made[1].traits and made[0].properties == made[1].properties
        assert all(op.verify() is None and op.first is x and op.LATER == 3 for op in made)
        assert str(made[0]) == str(made[1])
        if several:
            assert made[1].helper() == 2 and list(made[1].many) == [y, z]
            made[1].fast = UnitAttr()
            assert "fast" in made[1].properties
            wrong = [cls.build(operands=[[y, z], [z], x], result_types=[i32]) for cls in (a, b)]
            assert _of(wrong[0].verify) == _of(wrong[1].verify) and "more than three" in str(
                _of(wrong[1].verify)
            )
        assert {name for name in a.__dict__} == {name for name in b.__dict__}
        definitions = [cls.get_irdl_definition() for cls in (a, b)]
        for definition in definitions:
            definition.traits = None  # compared above: a function makes them
        assert definitions[0] == definitions[1]


@pytest.mark.parametrize("member", ["first", "traits", "fast", "verify_"])
def test_every_part_of_a_definition_completes_it(member):
    with definitions_on_demand():
        one, _ = _operations()
    x = test.TestOp.create(result_types=[i32]).results[0]
    op = one.create(
        operands=[x],
        result_types=[i32],
        properties={"operandSegmentSizes": DenseArrayBase.from_list(i32, [0, 0, 1])},
    )
    assert getattr(op, member) is not None or member == "fast"
    assert type(one.__dict__["traits"]).__name__ != "_PartOnDemand"


@pytest.mark.parametrize("member", ["traits", "verify_", "get_irdl_definition", "parse"])
def test_every_part_of_a_class_completes_it(member):
    eager = _operations()
    with definitions_on_demand():
        late = _operations()
    first = 1 if member == "parse" else 0  # only the second has a format
    for a, b in zip(eager[first:], late[first:], strict=True):
        assert type(b.__dict__["traits"]).__name__ == "_PartOnDemand"
        members = [getattr(cls, member, None) for cls in (a, b)]
        assert type(members[0]) is type(members[1])
        assert type(a.__dict__["made"]) is type(b.__dict__["made"])
        assert list(b.get_irdl_definition().operands) == list(a.get_irdl_definition().operands)


def test_what_is_set_before_a_definition_is_complete_stays():
    with definitions_on_demand():
        one, _ = _operations()
    one.traits = other = irdl.traits_def()
    assert one.get_irdl_definition().name == "t.one"
    assert one.traits is other


def _attributes() -> list[Any]:
    from xdsl.ir import ParametrizedAttribute, TypedAttribute

    @irdl.irdl_attr_definition
    class Pair(ParametrizedAttribute):
        name = "t.pair"
        first: StringAttr
        second: IntegerType = irdl.param_def(IntegerType)

    @irdl.irdl_attr_definition
    class Typed(TypedAttribute):
        name = "t.typed"
        value: StringAttr
        type: IntegerType

    @irdl.irdl_attr_definition
    class Plain(ParametrizedAttribute):
        name = "t.plain"

    return [Pair, Typed, Plain]


def test_attributes_on_demand_are_the_same():
    from xdsl.irdl import attributes
    from xdsl.utils.exceptions import VerifyException

    define = attributes.irdl_param_attr_definition
    eager = _attributes()
    with definitions_on_demand():
        assert attributes.irdl_param_attr_definition is not define
        late = _attributes()
    assert attributes.irdl_param_attr_definition is define
    for a, b in zip(eager, late, strict=True):
        assert a.get_irdl_definition() == b.get_irdl_definition() is b.get_irdl_definition()
        assert {*vars(a)} == {*vars(b)}
        with pytest.raises(TypeError, match="final"):
            type("Sub", (b,), {})
    given = StringAttr("x"), i32
    for pair, typed, plain in (eager, late):
        assert (
            str(pair(*given)) == '#t.pair<"x", i32>'
            and plain() == plain()
            and {pair(*given): 1}[pair(*given)]
        )
        assert typed.get_type_index() == 1
        with pytest.raises(VerifyException, match="parameter 'second' does not verify"):
            pair(given[0], given[0])


def test_a_wrong_attribute_is_refused_when_it_is_looked_at():
    from xdsl.ir import TypedAttribute

    with definitions_on_demand():

        @irdl.irdl_attr_definition
        class Wrong(TypedAttribute):
            name = "t.wrong"

    for _ in range(2):
        with pytest.raises(irdl.PyRDLAttrDefinitionError, match="should have a 'type' parameter"):
            Wrong.get_type_index()


def test_a_wrong_definition_is_refused_when_it_is_looked_at():
    with definitions_on_demand():

        @irdl.irdl_op_definition
        class Wrong(irdl.IRDLOperation):
            name = "t.wrong"
            what = 3

    for _ in range(2):
        with pytest.raises(irdl.PyRDLOpDefinitionError, match=r"Wrong\.what"):
            Wrong.get_irdl_definition()


def test_a_plain_program_imports_nothing_of_loops_views_and_products():
    after = "print(*(name for name in sys.modules if name.startswith('nestor.')))"
    command = [sys.executable, "-c", SCRIPT.format(called_first=True) + after]
    environment = {**os.environ, "NESTOR_CACHE": "0"}
    done = subprocess.run(command, check=True, capture_output=True, text=True, cwd=ROOT, env=environment)
    loaded = done.stdout.split()
    idle = [
        "frontend.loops",
        "frontend.masks",
        "frontend.views",
        "frontend.products",
        "frontend.python_calls",
    ]
    idle += ["lowering.transposed_loads", "transforms.nest.cpu_convolutions", "transforms.nest.value_ranges"]
    assert "nestor.frontend.calls" in loaded
    assert not {f"nestor.{name}" for name in idle} & {*loaded}


def test_collector_is_as_it_was():
    with collector_paused():
        assert not gc.isenabled()
    assert gc.isenabled()
    gc.disable()
    try:
        with collector_paused():
            pass
        assert not gc.isenabled()
    finally:
        gc.enable()


def test_unions_are_the_same():
    from xdsl.dialects.builtin import Float32Type, Float64Type, IndexType, i1
    from xdsl.irdl import AnyAttr
    from xdsl.irdl.constraints import AnyOf, BaseAttr, EqAttrConstraint

    unions = [
        (Float32Type, Float64Type),
        (BaseAttr(Float32Type), Float64Type),
        (Float64Type, Float32Type),
        (EqAttrConstraint(i1), IndexType),
        (Float32Type, Float32Type),
        (Float32Type, AnyAttr()),
        (Float32Type | Float64Type, IndexType),
        (BaseAttr(Float32Type) | BaseAttr(Float64Type), IndexType),
        (BaseAttr(Float32Type) | BaseAttr(Float64Type), BaseAttr(Float64Type) | BaseAttr(IndexType)),
        (IndexType, BaseAttr(Float32Type) | BaseAttr(Float64Type), IndexType),
        (IndexType, BaseAttr(Float32Type) | EqAttrConstraint(i1), EqAttrConstraint(i32)),
        (BaseAttr(IndexType),),
        (),
    ]
    before, usual = AnyOf.get, [AnyOf.get(*union) for union in unions]
    with unions_once(), unions_once():
        assert AnyOf.get is not before
        once, again = ([AnyOf.get(*union) for union in unions] for _ in range(2))
    assert AnyOf.get is before
    assert list(map(str, once)) == list(map(str, usual))
    assert once == usual and all(a is b for a, b in zip(once, again, strict=True))


def test_constraints_are_the_same():
    from typing import Annotated, Literal

    from xdsl.dialects.builtin import AnyFloat, Float32Type, Float64Type, IntegerAttr
    from xdsl.irdl import AnyAttr, IntVarConstraint, attributes

    kinds = [
        Float32Type,
        i32,
        AnyAttr(),
        AnyFloat,
        Float32Type | Float64Type,
        Float64Type | Float32Type,
        IntegerType[Literal[8]],
        ArrayAttr[IntegerAttr[IntegerType]],
        Annotated[IntegerType, IntegerType(8)],
        Float32Type | IntegerType[Literal[8]],
    ]
    before, usual = irdl.irdl_to_attr_constraint, [irdl.irdl_to_attr_constraint(kind) for kind in kinds]
    wrong: Any = int, typing.TypeVar("T", bound=IntegerType), IntVarConstraint
    refused = [_of(before, one) for one in wrong]
    with constraints_once(), constraints_once():
        assert irdl.irdl_to_attr_constraint is attributes.irdl_to_attr_constraint is not before
        once, again = ([irdl.irdl_to_attr_constraint(kind) for kind in kinds] for _ in range(2))
        for _ in range(2):
            assert list(map(str, refused)) == [str(_of(irdl.irdl_to_attr_constraint, one)) for one in wrong]
        assert before(wrong[1], allow_type_var=True) == irdl.irdl_to_attr_constraint(
            wrong[1], allow_type_var=True
        )
    assert irdl.irdl_to_attr_constraint is attributes.irdl_to_attr_constraint is before
    assert once == usual and list(map(str, once)) == list(map(str, usual))
    assert all(a is b for a, b in zip(once, again, strict=True)) and once[4] != once[5]


def test_annotations_of_bases_are_read_once_and_the_same():
    from xdsl.irdl import attributes

    class Base:
        x: int
        y: ClassVar[str] = "y"

    class Below(Base):
        z: list[Base]

    Below.__annotations__["z"] = list[Base]  # a local name has no text that can be evaluated
    classes = (object, Base, Below, IntegerType)
    usual = [inspect.get_annotations(cls, eval_str=True) for cls in classes]
    with constraints_once(), constraints_once():
        read: Any = vars(attributes)["get_annotations"]
        assert [read(cls, eval_str=True) for cls in classes] == usual
        assert read(Base, eval_str=True) is read(Base, eval_str=True)
    assert vars(attributes)["get_annotations"] is inspect.get_annotations


def test_what_is_neither_data_nor_parametrized_is_no_attribute():
    from xdsl.ir import Attribute

    class Neither(Attribute):
        pass

    usual = Attribute.__post_init__
    refused = _of(Neither)
    with kinds_of_attributes(), kinds_of_attributes():
        assert Attribute.__post_init__ is not usual
        assert str(_of(Neither)) == str(refused) and "should only be Data or" in str(refused)
        assert ArrayAttr([StringAttr("x")]).data[0].data == "x"
        with pytest.raises(irdl.VerifyException):
            IntegerType(-1)
    assert Attribute.__post_init__ is usual


def test_frozen_objects_stay_frozen():
    gc.freeze()
    try:
        with collector_paused():
            pass
        assert gc.get_freeze_count() > 0
    finally:
        gc.unfreeze()


def _made(**options):
    """The same classes, their methods made in both ways."""
    made = []
    for context in (contextlib.nullcontext, quick_dataclasses):
        with context():
            one = dataclasses.make_dataclass(
                "One",
                [("x", int), ("y", object, None), ("z", int, dataclasses.field(default=3, compare=False))],
                **options,
            )
            single = dataclasses.make_dataclass("Single", [("x", int)], **options)
            none = dataclasses.make_dataclass("Empty", [], **options)
            below = dataclasses.make_dataclass("Below", [("w", int, 5)], bases=(one,), **options)
        made.append((one, single, none, below))
    return made


@pytest.mark.parametrize(
    "options", [{}, {"frozen": True}, {"order": True}, {"eq": False}, {"unsafe_hash": True}]
)
def test_quick_dataclasses_do_the_same(options):
    seen = []
    for one, single, none, below in _made(**options):
        things = [
            one(1),
            one(1, [2]),
            one(1, None, 4),
            single(7),
            single(7),
            none(),
            none(),
            below(1),
            below(1, 2, 3, 4),
        ]
        facts = [repr(thing) for thing in things]
        facts += [a == b for a in things for b in things]
        facts += [_of(hash, thing) for thing in (*things[:1], *things[2:]) if options != {"eq": False}]
        facts += [_of(setattr, thing, name, 1) for thing in things for name in ("x", "other")]
        facts += [_of(delattr, thing, name) for thing in things for name in ("x", "other")]
        facts += [_of(lambda a, b: a < b, a, b) for a, b in ((one(1), one(2)), (single(1), none()))]
        recursive = _of(_recursive, one)
        seen.append((facts, recursive, one.__eq__.__qualname__ if "eq" not in options else ""))
    assert seen[0] == seen[1]


def _described(cls):
    facts = [
        cls.__doc__,
        str(inspect.signature(cls)),
        cls.__init__.__qualname__,
        cls.__init__.__annotations__,
    ]
    return [*facts, type(vars(cls).get("__init__")) is types.FunctionType]


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"frozen": True},
        {"slots": True},
        {"kw_only": True},
        {"init": False},
        {"slots": True, "frozen": True},
    ],
)
def test_quick_dataclasses_are_made_alike(options):
    def classes(decorate) -> Any:
        @decorate
        class Plain:
            x: int
            y: list = dataclasses.field(default_factory=list)
            z: int = dataclasses.field(default=1, init=False)

        @decorate
        class WithDoc(Plain):
            """A class."""

        @decorate
        class After(Plain):
            w: dataclasses.InitVar[int] = 2

            def __post_init__(self, w):
                object.__setattr__(self, "x", (self.x, w))

        @decorate
        class NoFields:
            def __post_init__(self):
                raise KeyError("made")

        @decorate
        class Empty:
            pass

        @decorate
        class Own:
            x: int = 1

            def __init__(self):
                pass

        return Plain, WithDoc, After, NoFields, Empty, Own

    seen = []
    for context in (contextlib.nullcontext, quick_dataclasses):
        with context():
            made = classes(dataclasses.dataclass(**options))
        plain, _, after, no_fields, empty, own = made
        calls = [(plain, (1,)), (plain, (1, [2])), (plain, ()), (plain, (1, 2, 3)), (after, (1, [], 7))]
        calls += [(no_fields, ()), (empty, ()), (empty, (1,)), (own, ())]
        facts = [_of(lambda cls, given: repr(cls(*given)), cls, given) for cls, given in calls]
        facts += [_of(_replaced, plain), _of(lambda cls: repr(cls(x=3, w=7)), after)]
        seen.append((facts, [_described(cls) for cls in made if options != {"init": False}]))
    assert seen[0] == seen[1]


@pytest.mark.parametrize("frozen", [False, True])
@pytest.mark.parametrize("has_post_init", [False, True])
def test_inits_of_one_shape_differ_in_their_names_and_defaults(frozen, has_post_init):
    def classes() -> Any:
        made = []
        for a, b, c in (("x", "y", "z"), ("self", "_0", "_1"), ("_1", "_2", "_0")):
            factory = dataclasses.field(default_factory=lambda name=c: [name])
            fields: list[Any] = [(a, int), (b, str, b), (c, "list", factory)]
            if has_post_init:
                fields[1] = (b, dataclasses.InitVar[str], b)
            body = {"__post_init__": lambda it, given: it.z_.append(given), "z_": []} if has_post_init else {}
            made.append(dataclasses.make_dataclass("Shape", fields, frozen=frozen, namespace=body))
        return made

    seen = []
    for context in (contextlib.nullcontext, quick_dataclasses):
        with context():
            made = classes()
            first = made[0](1)
        calls: list[Any] = [((1,), {}), ((1, "b", [2]), {}), ((), {}), ((1,), {"y": 5}), ((1,), {"_0": 5})]
        calls += [((1, 2, 3, 4), {}), ((), {"_1": 7}), ((1,), {"z": None})]
        facts = [_of(lambda cls, a, k: repr(cls(*a, **k)), cls, a, k) for cls in made for a, k in calls]
        facts += [[str(inspect.signature(cls)) for cls in made], [cls.__init__.__module__ for cls in made]]
        facts += [first != made[0](1, "y", ["z"]), [getattr(cls, "z_", None) for cls in made]]
        seen.append([re.sub("0x[0-9a-f]+", "", str(fact)) for fact in facts])
    assert seen[0] == seen[1]


@pytest.mark.parametrize("has_post_init", [False, True])
@pytest.mark.parametrize("frozen", [False, True])
def test_inits_do_the_same_before_and_after_they_are_called_often(frozen, has_post_init):
    def classes() -> Any:
        log: list[Any] = []
        body = {"__post_init__": lambda it: log.append(it.assign), "log": log} if has_post_init else {}
        plain = [("assign", int), ("_1", object, 2), ("self_", object, 3), ("_0", str, "_1")]
        last: Any = ("more", list, dataclasses.field(default_factory=list))
        fixed: Any = ("fixed", list, dataclasses.field(default_factory=list, init=False))
        named: Any = ("named", int, dataclasses.field(kw_only=True))
        shapes: list[list[Any]] = [plain[:k] for k in (1, 2, 3, 4)]
        shapes += [[*plain, (f"_{k + 4}", int, k), *[last] * (k > 5)] for k in (1, 6)]
        shapes += [[*plain, last], [*plain, fixed], [*plain, named], [("assign", int, 1), last, named]]
        shapes[5:5] = [[*plain, *[(f"f{k}", int, k) for k in range(n)]] for n in (1, 2, 3, 4)]
        return [
            dataclasses.make_dataclass("One", fields, frozen=frozen, namespace={**body}) for fields in shapes
        ]

    given: list[Any] = [((1,), {}), ((1, 5), {}), ((), {"assign": 7}), ((1,), {"assign": 7}), ((), {})]
    given += [((1,), {"named": 3}), ((1, 2, 3, 4, 5), {}), ((1,), {"other": 3}), ((1,), {"fixed": 3})]
    given += [((1, 2, 3, 4, 5, 6, 7, 8, 9, 10), {}), ((1, 2), {"named": 3, "_1": 2})]
    seen = []
    for context in (contextlib.nullcontext, quick_dataclasses):
        with context():
            made = classes()
        facts: list[Any] = []
        for cls in made:
            for _ in range(3):
                facts += [_of(lambda cls, a, k: vars(cls(*a, **k)), cls, a, k) for a, k in given]
        facts += [getattr(cls, "log", None) for cls in made]
        facts += [
            [str(inspect.signature(cls)), cls.__init__.__annotations__, cls.__init__.__name__] for cls in made
        ]
        assert all(isinstance(vars(cls)["__init__"], types.FunctionType) for cls in made)
        seen.append(list(map(str, facts)))
    assert seen[0] == seen[1]


def test_an_init_is_compiled_when_it_is_called_often_only():
    with quick_dataclasses():
        made: Any = dataclasses.make_dataclass(
            "Unusual",
            [
                (f"of_a_shape_of_its_own_{k}", list, dataclasses.field(default_factory=list))
                for k in range(23)
            ],
        )
    kinds = []
    for _ in range(OFTEN + 1):
        assert made([1], [2]).of_a_shape_of_its_own_1 == [2]
        kinds.append(type(vars(made)["__init__"]))
    # Python 3.13 compiles one text for all methods of a class: nothing is gained by waiting.
    waits = sys.version_info < (3, 13)
    assert (kinds[OFTEN - 1] is not types.FunctionType) == waits and kinds[OFTEN] is types.FunctionType


Shared = ClassVar
Later = dataclasses.InitVar


def test_what_is_no_field_of_a_quick_dataclass():
    def classes() -> Any:
        @dataclasses.dataclass
        class Kinds(abc.ABC):
            x: int
            a: ClassVar[int] = 1
            b: Shared[int] = 2
            c: typing.ClassVar = 3
            d: Later[int] = 4
            e: types.EllipsisType | int = 5
            _: dataclasses.KW_ONLY
            f: int = 6

            @abc.abstractmethod
            def __repr__(self) -> str: ...

        @dataclasses.dataclass(repr=False)
        class Concrete(Kinds):
            def __repr__(self) -> str:
                return "concrete"

        @dataclasses.dataclass
        class Given(Kinds):
            pass

        return Kinds, Concrete, Given

    seen = []
    for context in (contextlib.nullcontext, quick_dataclasses):
        with context():
            made = classes()
        facts: list[Any] = [[field.name for field in dataclasses.fields(cls)] for cls in made]
        facts += [str(inspect.signature(cls)) for cls in made]
        facts += [sorted(cls.__abstractmethods__) for cls in made]
        facts += [_of(lambda cls: repr(cls(0)).rpartition(".")[2], cls) for cls in made]
        seen.append(facts)
    assert seen[0] == seen[1] and seen[0][0] == ["x", "e", "f"]


def _replaced(cls):
    return repr(dataclasses.replace(cls(x=1, y=[2]), x=2))


def test_a_subclass_calls_the_init_of_a_quick_dataclass():
    with quick_dataclasses():

        @dataclasses.dataclass
        class Base:
            x: int

        class Sub(Base):
            def __init__(self, x):
                super().__init__(x + 1)

        @dataclasses.dataclass
        class Below(Base):
            pass

    assert Sub(1).x == 2 and Below(1).x == 1 and Base(3).x == 3
    assert [cls.__init__.__qualname__.split(".")[-2] for cls in (Base, Sub, Below)] == [
        "Base",
        "Sub",
        "Below",
    ]


def test_a_quick_dataclass_with_fields_in_a_wrong_order_is_refused_at_once():
    with quick_dataclasses(), pytest.raises(TypeError, match="non-default argument 'y'"):
        dataclasses.make_dataclass("Wrong", [("x", int, 1), ("y", int)])


def _of(do, *arguments):
    try:
        return do(*arguments)
    except Exception as error:
        return type(error).__name__, str(error)


def _recursive(one):
    items = []
    items.append(one(1, items))
    return repr(items)


def test_dataclasses_are_usual_again_afterwards():
    names = ("_process_class", "_init_fn", "_repr_fn", "_hash_fn", "_cmp_fn", "_frozen_get_del_attr")
    before = [getattr(dataclasses, name, None) for name in names]
    with quick_dataclasses(), quick_dataclasses():
        pass
    assert [getattr(dataclasses, name, None) for name in names] == before


FAMILIES = """
import importlib, pkgutil
import nestor as nt
nt.jit
from nestor.frontend import calls, numpy_api
from nestor.frontend.numpy_api.registry import FUNCTIONS, METHODS
listed = {*map(id, FUNCTIONS)}, {*METHODS}
for module in pkgutil.iter_modules(numpy_api.__path__):
    importlib.import_module(f"{numpy_api.__name__}.{module.name}")
missing = [f for f in FUNCTIONS if id(f) not in listed[0]] + [m for m in METHODS if m not in listed[1]]
print(len(listed[0]) > 300, missing)
"""


def test_every_family_of_numpy_functions_is_found_by_a_lookup():
    done = subprocess.run([sys.executable, "-c", FAMILIES], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["True", "[]"]


LOADING = """
import sys, time
from pathlib import Path
from nestor.frontend.cold_start import load_llvm_meanwhile
load_llvm_meanwhile()
maps, end = Path("/proc/self/maps"), time.monotonic() + 30
while "libllvmlite" not in maps.read_text() and time.monotonic() < end:
    time.sleep(0.01)
print("llvmlite" in sys.modules, "libllvmlite" in maps.read_text())
import llvmlite.binding
"""


@pytest.mark.skipif(sys.platform != "linux", reason="/proc/self/maps tells what is loaded")
def test_llvm_is_loaded_before_it_is_imported():
    done = subprocess.run([sys.executable, "-c", LOADING], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["False", "True"]


def test_attributes_without_parameters_are_defined_the_same():
    """Of all attributes of xDSL's dialects: which have none, and what the others say."""
    from nestor.frontend.cold_start import _name_without_parameters
    from xdsl.dialects import get_all_dialects
    from xdsl.ir import ParametrizedAttribute
    from xdsl.irdl.attributes import ParamAttrDef

    attributes = [cls for make in get_all_dialects().values() for cls in make().attributes]
    parametrized = [cls for cls in attributes if issubclass(cls, ParametrizedAttribute)]
    found = 0
    for cls in parametrized:
        usual, name = ParamAttrDef.from_pyrdl(cls), _name_without_parameters(cls)
        assert name is None or usual == ParamAttrDef(name, [])
        assert name is not None or usual.parameters
        found += name is not None
    assert 20 < found < len(parametrized) - 20


@pytest.mark.parametrize("body", [{"what": 3}, {"name": None}], ids=["a value", "no name"])
def test_a_wrong_attribute_without_parameters_is_refused_alike(body):
    from xdsl.ir import ParametrizedAttribute
    from xdsl.irdl.attributes import ParamAttrDef

    def defined() -> Any:
        members = {"name": "t.wrong", **body}
        members = {name: value for name, value in members.items() if value is not None}
        return irdl.irdl_attr_definition(
            type("Wrong", (ParametrizedAttribute,), members)
        ).get_irdl_definition()

    usual = _of(defined)
    with definitions_on_demand():
        quick = _of(defined)
    assert usual == quick and not isinstance(usual, ParamAttrDef)

"""`--show-dialects --irdl`: Nestor's dialects in IRDL, for `mlir-opt --irdl-file`; and IR in the form that it reads then.

A definition in IRDL says less than one of ours: docs/opt-tool.md has the table of what it cannot say. What it
says is read off the definitions of the operations and the two tables that make operations, elementwise and schedule
primitives. (xDSL's own `dialect_to_irdl` says `irdl.any` of everything, and nothing of attributes and regions.)
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from io import StringIO

from xdsl.dialects.builtin import (
    AffineMapAttr,
    ArrayAttr,
    ArrayOfConstraint,
    ComplexType,
    DenseArrayBase,
    DenseIntOrFPElementsAttr,
    DictionaryAttr,
    FloatAttr,
    IntegerAttr,
    IntegerType,
    MemRefType,
    ModuleOp,
    StringAttr,
    SymbolNameConstraint,
    SymbolRefAttr,
    TensorType,
    UnitAttr,
    VectorType,
    i32,
)
from xdsl.dialects.llvm import UnreachableOp
from xdsl.ir import Attribute, Operation, ParametrizedAttribute, Region, SSAValue, TypeAttribute
from xdsl.irdl import (
    AllOf,
    BaseAttr,
    EqAttrConstraint,
    IRDLOperation,
    MessageConstraint,
    OperandDef,
    OptionalDef,
    OptPropertyDef,
    ParamAttrConstraint,
    RangeLengthConstraint,
    RangeOf,
    ResultDef,
    SingleBlockRegionDef,
    VarConstraint,
    VariadicDef,
)
from xdsl.printer import Printer
from xdsl.traits import IsTerminator

from ...dialects.checkpoint_policies import POLICIES
from ...dialects.diagnostic import fail
from ...dialects.nest import COMBINERS, ORDERS
from ...dialects.nest.loop import MARKS
from ...dialects.nt.elementwise import ELEMENTWISE
from ...dialects.nt.elementwise_ops import ElementwiseOp
from ...dialects.nt.reductions import REDUCTIONS
from ...dialects.registry import OWN, load_dialect
from ...dialects.schedule.ops import HANDLE_TYPES, MATCHED, MatchOp, PrimitiveOp


@dataclass(frozen=True)
class Words:
    """The names that a property may be, and which it is where it is absent."""

    names: tuple[str, ...]
    default: str | None = None


_BINARY = tuple(name for name, row in ELEMENTWISE.items() if row.arity == 2)

ENUMERATED: dict[tuple[str, str], Words] = {
    ("nt.reduce", "combiner"): Words((*REDUCTIONS, "custom")),
    ("nt.reduce", "order"): Words(ORDERS, "any"),
    ("nt.scan", "combiner"): Words(_BINARY),
    ("nt.checkpoint", "policy"): Words(tuple(POLICIES)),
    ("nest.for", "mark"): Words(MARKS, "serial"),
    ("nest.accumulate", "combiner"): Words((*COMBINERS, "custom")),
    ("nest.accumulate", "order"): Words(ORDERS, "any"),
    ("schedule.match", "kind"): Words(tuple(MATCHED)),
}
"""Properties that are one of several names."""

_BASES: dict[type[Attribute], str] = {
    AffineMapAttr: "#builtin.affine_map",
    ArrayAttr: "#builtin.array",
    DenseArrayBase: "#builtin.dense_array",
    DenseIntOrFPElementsAttr: "#builtin.dense_int_or_fp_elements",
    DictionaryAttr: "#builtin.dictionary",
    FloatAttr: "#builtin.float",
    IntegerAttr: "#builtin.integer",
    StringAttr: "#builtin.string",
    SymbolRefAttr: "#builtin.symbol_ref",
    UnitAttr: "#builtin.unit",
    ComplexType: "!builtin.complex",
    IntegerType: "!builtin.integer",
    MemRefType: "!builtin.memref",
    TensorType: "!builtin.tensor",
    VectorType: "!builtin.vector",
}
"""What MLIR calls the classes of attributes and types."""

_ANY = "irdl.any"
_SEGMENTS = ("operandSegmentSizes", "resultSegmentSizes")


def irdl_of(dialects: Iterable[str]) -> str:
    """The dialects as one file of IRDL. Raises KeyError for one that is not Nestor's."""
    return "\n".join(_dialect(name) for name in dialects)


def _dialect(name: str) -> str:
    dialect = load_dialect(name)
    lines = [f"irdl.dialect @{name} {{"]
    for attribute in sorted(dialect.attributes, key=lambda one: one.name):
        if issubclass(attribute, ParametrizedAttribute) and issubclass(attribute, TypeAttribute):
            lines.append(f"  irdl.type @{attribute.name.partition('.')[2]}")
    for operation in sorted(dialect.operations, key=lambda one: one.name):
        if issubclass(operation, IRDLOperation):
            lines += _Writer(operation).lines()
    return "\n".join([*lines, "}", ""])


SLOTS = 32
"""Operands or results of a field that may be of different types: IRDL wants those of one entry to be of one type."""


class _Writer:
    """One operation. Each constraint is a value of its own: uses of one value have to be equal."""

    def __init__(self, operation: type[IRDLOperation]):
        self.operation = operation
        self._lines: list[str] = []
        self._shared: dict[object, str] = {}

    def lines(self) -> list[str]:
        name = self.operation.get_irdl_definition().name
        operands = self._values("operands", _operands(self.operation))
        taken = {entry.name for entry in _operands(self.operation)}
        renamed = [
            replace(entry, name=f"{entry.name}_after") if entry.name in taken else entry
            for entry in _results(self.operation)
        ]
        ends = [operands, self._values("results", renamed), self._attributes(), self._regions()]
        return [
            f"  irdl.operation @{name.partition('.')[2]} {{",
            *[f"    {line}" for line in (*self._lines, *filter(None, ends))],
            "  }",
        ]

    def value(self, constraint: _Constraint) -> str:
        """A new value of a constraint, or the one that was made where it is to be equal to another."""
        if constraint.equal_to is not None and constraint.equal_to in self._shared:
            return self._shared[constraint.equal_to]
        alternatives = [self.value(_Constraint(text)) for text in constraint.one_of]
        text = f"irdl.any_of({', '.join(alternatives)})" if alternatives else constraint.text
        name = f"%{len(self._lines)}"
        self._lines.append(f"{name} = {text}")
        if constraint.equal_to is not None:
            self._shared[constraint.equal_to] = name
        return name

    def _values(self, kind: str, entries: Sequence[_Entry]) -> str:
        parts = [f"{entry.name}: {entry.number}{self.value(entry.constraint)}" for entry in entries]
        return f"irdl.{kind}({', '.join(parts)})" if parts else ""

    def _attributes(self) -> str:
        definition = self.operation.get_irdl_definition()
        parts = []
        for name, one in definition.properties.items():
            words = ENUMERATED.get((definition.name, name))
            if words is not None:
                constraint = _Constraint(one_of=tuple(f'irdl.is "{word}"' for word in words.names))
            elif isinstance(one, OptPropertyDef) or name in _SEGMENTS:
                continue  # what IRDL constrains has to be there; of segments it knows itself
            else:
                constraint = _constraint(one.constr)
            parts.append(f'"{name}" = {self.value(constraint)}')
        return f"irdl.attributes {{{', '.join(parts)}}}" if parts else ""

    def _regions(self) -> str:
        """An absent region is an empty one in the form for mlir-opt: the number is fixed, the number of blocks is not."""
        parts = []
        for name, one in self.operation.get_irdl_definition().regions:
            size = " with size 1" if type(one) is SingleBlockRegionDef else ""
            parts.append(f"{name}: {self.value(_Constraint(f'irdl.region{size}'))}")
        return f"irdl.regions({', '.join(parts)})" if parts else ""


@dataclass(frozen=True)
class _Constraint:
    """The text of a constraint, or of alternatives; those with the same `equal_to` are one value."""

    text: str = _ANY
    one_of: tuple[str, ...] = ()
    equal_to: object = None


@dataclass(frozen=True)
class _Entry:
    """An operand or result of IRDL; `number` is empty, `optional ` or `variadic `."""

    name: str
    number: str
    constraint: _Constraint
    slot: int | None = None
    """Of a field with slots: which of them it is."""
    field: str = ""


def _operands(operation: type[IRDLOperation]) -> list[_Entry]:
    if issubclass(operation, ElementwiseOp):
        row = operation.ROW
        return [
            _Entry(f"input{number}", "", _tensor(None if number == 0 and row.condition_first else "type"))
            for number in range(row.arity)
        ]
    if issubclass(operation, PrimitiveOp):
        return [
            _Entry(target.name, "variadic " if target.variadic else "", _handle(target.kind))
            for target in operation.ROW.targets
        ]
    return list(_defined(operation.get_irdl_definition().operands))


def _results(operation: type[IRDLOperation]) -> list[_Entry]:
    if issubclass(operation, ElementwiseOp):
        return [_Entry("result", "", _tensor("type" if operation.ROW.result == "same" else None))]
    if issubclass(operation, PrimitiveOp):
        return _results_of_step(operation)
    if issubclass(operation, MatchOp):
        kinds = tuple(_handle(kind).text for kind in HANDLE_TYPES)
        return [_Entry("handles", "variadic ", _Constraint(one_of=kinds))]
    return list(_defined(operation.get_irdl_definition().results))


def _results_of_step(operation: type[PrimitiveOp]) -> list[_Entry]:
    """One by one where at most one of them may be absent or several; else any number of handles of one kind."""
    results = operation.ROW.results
    loose = [result for result in results if result.variadic or result.when is not None]
    if len(loose) > 1:
        (kind,) = {result.kind for result in results}
        return [_Entry("handles", "variadic ", _handle(kind))]
    return [
        _Entry(
            result.name,
            "variadic " if result.variadic else "optional " if result.when is not None else "",
            _handle(result.kind),
        )
        for result in results
    ]


def _defined(entries: Sequence[tuple[str, OperandDef | ResultDef]]) -> Iterator[_Entry]:
    for field, one in entries:
        name, constraint = field.rstrip("_"), _range(one.constr)
        if isinstance(one, OptionalDef):
            yield _Entry(name, "optional ", constraint, field=field)
        elif not isinstance(one, VariadicDef):
            yield _Entry(name, "", constraint, field=field)
        elif constraint.text.startswith("irdl.is"):
            yield _Entry(name, "variadic ", constraint, field=field)
        else:
            for slot in range(SLOTS):
                yield _Entry(f"{name}_{slot}", "optional ", constraint, slot, field)


def _range(constraint: object) -> _Constraint:
    if isinstance(constraint, RangeLengthConstraint):
        return _range(constraint.constraint)
    return _constraint(constraint.constr) if isinstance(constraint, RangeOf) else _Constraint()


def _constraint(constraint: object) -> _Constraint:
    """The constraint in IRDL, `irdl.any` where it cannot be said."""
    if isinstance(constraint, BaseAttr | ParamAttrConstraint):
        attribute = constraint.attr if isinstance(constraint, BaseAttr) else constraint.base_attr
        return _base(attribute)
    if isinstance(constraint, EqAttrConstraint):
        return _Constraint(f"irdl.is {constraint.attr}")
    if isinstance(constraint, SymbolNameConstraint):
        return _base(StringAttr)
    if isinstance(constraint, ArrayOfConstraint):
        return _base(ArrayAttr)
    if isinstance(constraint, AllOf):
        parts = [_constraint(one) for one in constraint.attr_constrs]
        return next((part for part in parts if part != _Constraint()), _Constraint())
    if isinstance(constraint, MessageConstraint):
        return _constraint(constraint.constr)
    if isinstance(constraint, VarConstraint):
        return replace(_constraint(constraint.constraint), equal_to=constraint.name)
    return _Constraint()


def _base(attribute: type[Attribute]) -> _Constraint:
    name = _BASES.get(attribute)
    return _Constraint(f'irdl.base "{name}"') if name is not None else _Constraint()


def _tensor(equal_to: str | None) -> _Constraint:
    return replace(_base(TensorType), equal_to=equal_to)


def _handle(kind: str) -> _Constraint:
    return _Constraint(f"irdl.base @schedule::@{HANDLE_TYPES[kind].name.partition('.')[2]}")


def for_mlir_opt(module: ModuleOp) -> str:
    """The text of a module that `mlir-opt --irdl-file` reads; the module is as it was.

    It is the generic form with properties as attributes. In operations of Nestor's dialects an absent region is an empty
    one, an absent name is the one that it stands for, and blocks end in `llvm.unreachable`, for no operation of a
    dialect in IRDL can end one.
    """
    copy = module.clone()
    for operation in list(copy.walk()):
        if operation.name.partition(".")[0] in OWN:
            _adapt(operation, DEFAULTS.get(operation.name, {}))
    stream = StringIO()
    Printer(stream, print_generic_format=True, print_properties_as_attributes=True).print_op(copy)
    return stream.getvalue() + "\n"


DEFAULTS: Mapping[str, dict[str, str]] = {
    operation: {
        name: words.default
        for (owner, name), words in ENUMERATED.items()
        if owner == operation and words.default is not None
    }
    for operation, _ in ENUMERATED
}
"""What absent names stand for, by operation."""


def _adapt(operation: Operation, defaults: Mapping[str, str]) -> None:
    for name, word in defaults.items():
        operation.properties.setdefault(name, StringAttr(word))
    for region in operation.regions:
        for block in region.blocks:
            last = block.last_op
            if last is None or not last.has_trait(IsTerminator) or last.name.partition(".")[0] in OWN:
                block.add_op(UnreachableOp())
    if not isinstance(operation, IRDLOperation):
        return
    for kind, entries in (("operand", _operands(type(operation))), ("result", _results(type(operation)))):
        sizes = _segments(operation, kind, entries)
        if sizes is not None:
            operation.properties[f"{kind}SegmentSizes"] = DenseArrayBase.from_list(i32, sizes)
    missing = len(operation.get_irdl_definition().regions) - len(operation.regions)
    for _ in range(missing):
        operation.add_region(Region())


def _segments(operation: IRDLOperation, kind: str, entries: Sequence[_Entry]) -> list[int] | None:
    """How many there are of each entry; None where IRDL finds that out by itself."""
    if sum(entry.number != "" for entry in entries) < 2:
        return None
    sizes = []
    for entry in entries:
        there = getattr(operation, entry.field)
        count = 0 if there is None else 1 if isinstance(there, SSAValue) else len(there)
        if entry.slot is None:
            sizes.append(count)
            continue
        if count > SLOTS:
            message = (
                f"'{operation.name}' has {count} {kind}s '{entry.field}': its definition in IRDL has {SLOTS}"
            )
            raise fail(operation, message)
        sizes.append(int(entry.slot < count))
    return sizes

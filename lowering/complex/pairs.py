"""The rewriting of one function by nest-expand-complex: which two values, or which buffers, stand for a complex one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from xdsl.dialects import arith, func, memref
from xdsl.dialects import complex as complex_dialect
from xdsl.dialects.builtin import (
    ArrayAttr,
    ComplexType,
    DictionaryAttr,
    FloatAttr,
    FunctionType,
    IndexType,
    IntegerAttr,
    MemRefType,
    StringAttr,
    i64,
)
from xdsl.ir import Attribute, Block, BlockArgument, Operation, Region, SSAValue

from ...dialects.affine import AffineList
from ...dialects.attributes import DIMS, HANDS_OVER
from ...dialects.diagnostic import LoweringError, fail
from ...dialects.nest import AccumulateOp, AllocOp, LoadOp, StoreOp
from ...dialects.nest import YieldOp as NestYieldOp
from ...dialects.nt import expand_complex
from ...dialects.nt.expand import Emitter
from ..abi.handed_over import HAND_OVER, hand_over_name
from . import arithmetic, functions
from .arithmetic import Pair
from .memory import is_complex, parted

PARTS = (".re", ".im")
"""What statements and buffers of the parts are called, after the name of the whole."""

_COPY = "copy"
_REAL, _IMAGINARY = AffineList.of(0), AffineList.of(1)


class Pairs:
    """The pairs of one function, op by op in program order."""

    def __init__(self, function: func.FuncOp):
        self._function = function
        self._pairs: dict[SSAValue, Pair] = {}
        self._planes: dict[SSAValue, tuple[SSAValue, SSAValue]] = {}
        """Of buffers that are two: those of the parts."""
        self._wholes: dict[SSAValue, SSAValue] = {}
        """Of buffers with a last axis of 2: what they are now."""
        self._old: list[Operation] = []
        self._loads: list[LoadOp] = []
        self._replaced: list[BlockArgument] = []

    def run(self) -> None:
        """Rewrite the signature and the body."""
        self._signature()
        for block in self._function.body.blocks:
            self._block(block)
        for op in reversed(self._old):
            op.detach()
            op.erase()
        for arg in self._replaced:
            self._function.body.block.erase_arg(arg)
        for load in self._loads:
            if load.result.first_use is None:
                load.detach()
                load.erase()

    # ---- arguments ----------------------------------------------------------------------------------

    def _signature(self) -> None:
        function = self._function
        inputs = list(function.function_type.inputs)
        for k, old in enumerate(inputs):
            if isinstance(old, ComplexType):
                raise fail(
                    function,
                    f"argument {k} is a number of type {old}, and only buffers of complex numbers are passed",
                    hint=f"take a tensor of rank 0: tensor<{old}>",
                    error=LoweringError,
                )
        types = [parted(t) if isinstance(t, MemRefType) and is_complex(t) else t for t in inputs]
        name = function.sym_name.data
        if name.startswith(HAND_OVER) and isinstance(types[0], MemRefType) and types[0] != inputs[0]:
            function.properties["sym_name"] = StringAttr(
                hand_over_name(str(types[0].element_type), types[0].get_num_dims())
            )
            types.append(IndexType())
        function.properties["function_type"] = FunctionType.from_lists(
            types, function.function_type.outputs.data
        )
        if function.arg_attrs is not None:
            function.properties["arg_attrs"] = ArrayAttr(
                [_with_parts(a, t) for a, t in zip(function.arg_attrs, inputs, strict=True)]  # pyright: ignore
            )
        if not function.body.blocks:
            return
        block = function.body.block
        for arg, type_ in zip(list(block.args), types, strict=True):
            if arg.type == type_:
                continue
            new = block.insert_arg(type_, arg.index)
            new.name_hint, new.location = arg.name_hint, arg.location
            self._wholes[arg] = new
            self._replaced.append(arg)

    # ---- operations ---------------------------------------------------------------------------------

    def _block(self, block: Block) -> None:
        for op in list(block.ops):
            handler = _HANDLERS.get(type(op))
            if handler is not None:
                handler(self, op)
            elif any(is_complex(v.type) for v in (*op.operands, *op.results)):
                self._operation(op)
            for region in op.regions:
                for inner in region.blocks:
                    self._block(inner)

    def _operation(self, op: Operation) -> None:
        expansion = _EXPANSIONS.get(type(op))
        if expansion is None:
            raise fail(
                op,
                f"{op.name} on complex numbers has no form in real ones",
                hint="complex numbers are made, moved and computed by nest.load, nest.store, nest.accumulate, "
                "arith.select and the complex dialect",
                error=LoweringError,
            )
        operands = [self._pairs.get(v, v) for v in op.operands]
        self._define(op, expansion(self._emitter(op), *operands))

    def _emitter(self, op: Operation) -> Emitter:
        """Emits before `op`, with the flags that the user granted to it."""
        block = op.parent
        assert block is not None
        flags = op.properties.get("fastmath")

        def insert(new: Operation) -> None:
            if flags is not None and "fastmath" in new.properties:
                new.properties["fastmath"] = flags
            block.insert_op_before(new, op)

        return Emitter(insert, op.location)

    def _define(self, op: Operation, value: Any) -> None:
        """`value`, a pair or a real number, is the result of `op` from here on."""
        result = op.results[0]
        self._old.append(op)
        if not isinstance(value, tuple):
            result.replace_all_uses_with(value)
            return
        for part, suffix in zip(value, ("_re", "_im"), strict=True):
            if part.name_hint is None and result.name_hint is not None:
                part.name_hint = result.name_hint + suffix
        self._pairs[result] = value

    def _pair(self, value: SSAValue) -> Pair:
        return self._pairs[value]

    # ---- memory -------------------------------------------------------------------------------------

    def _places(self, buffer: SSAValue, indices: AffineList) -> list[tuple[SSAValue, AffineList]]:
        """Where the two parts of an element are."""
        planes = self._planes.get(buffer)
        if planes is not None:
            return [(plane, indices) for plane in planes]
        whole = self._wholes[buffer]
        return [(whole, indices.concat(part)) for part in (_REAL, _IMAGINARY)]

    def _alloc(self, op: AllocOp) -> None:
        type_ = op.memref.type
        assert isinstance(type_, MemRefType)
        if not is_complex(type_):
            return
        block = op.parent
        assert block is not None
        can_be_cut = all(isinstance(use.operation, LoadOp | StoreOp | AccumulateOp) for use in op.memref.uses)
        part = MemRefType(
            type_.element_type.element_type, type_.get_shape(), type_.layout, type_.memory_space
        )  # pyright: ignore
        kinds = [(part, suffix) for suffix in PARTS] if can_be_cut else [(parted(type_), "")]
        made: list[SSAValue] = []
        for kind, suffix in kinds:
            new = AllocOp(op.label.data + suffix, kind, list(op.sizes))
            new.location = op.location
            new.attributes.update(op.attributes)
            block.insert_op_before(new, op)
            made.append(new.memref)
        if can_be_cut:
            self._planes[op.memref] = made[0], made[1]
        else:
            self._wholes[op.memref] = made[0]
        self._old.append(op)

    def _load(self, op: LoadOp) -> None:
        if not is_complex(op.result.type):
            return
        self._define(op, self._read(op, op.memref, op.indices))

    def _read(self, op: Operation, buffer: SSAValue, indices: AffineList) -> Pair:
        """Both parts of an element, read before `op`; what nobody uses goes at the end."""
        block = op.parent
        assert block is not None
        parts: list[SSAValue] = []
        for whole, at in self._places(buffer, indices):
            load = LoadOp(whole, at)
            load.location = op.location
            block.insert_op_before(load, op)
            self._loads.append(load)
            parts.append(load.result)
        return parts[0], parts[1]

    def _store(self, op: StoreOp) -> None:
        if not is_complex(op.value.type):
            return
        self._write(op, self._pair(op.value), op.memref, op.statement)
        self._old.append(op)

    def _write(self, op: StoreOp | AccumulateOp, pair: Pair, buffer: SSAValue, label: str) -> None:
        block = op.parent
        assert block is not None
        places = self._places(buffer, op.indices)
        for value, (whole, at), suffix in zip(pair, places, PARTS, strict=True):
            named = label if label == _COPY else label and label + suffix
            store = StoreOp(value, whole, at, label=named, where=op.where, mask=op.mask)
            store.location = op.location
            store.attributes.update(op.attributes)
            block.insert_op_before(store, op)

    # ---- reductions ---------------------------------------------------------------------------------

    def _accumulate(self, op: AccumulateOp) -> None:
        if not any(is_complex(v.type) for v in op.values):
            return
        if op.combiner.data == "add":
            self._sums(op)
        elif all(not is_complex(m.type) or m in self._planes for m in op.memrefs):
            self._reduction(op)
        else:
            self._update(op)
        self._old.append(op)

    def _sums(self, op: AccumulateOp) -> None:
        """A sum is two sums."""
        block = op.parent
        assert block is not None
        places = self._places(op.memrefs[0], op.indices)
        for value, (whole, at), suffix in zip(self._pair(op.values[0]), places, PARTS, strict=True):
            label = op.statement and op.statement + suffix
            new = AccumulateOp(
                "add", [value], [whole], at, label=label, order=op.order_name, where=op.where, mask=op.mask
            )
            new.location = op.location
            block.insert_op_before(new, op)

    def _reduction(self, op: AccumulateOp) -> None:
        """A reduction of all parts at once, into the buffers of the parts."""
        block = op.parent
        assert block is not None
        values = _flat([self._pairs.get(v, v) for v in op.values])
        buffers = _flat([self._planes.get(m, m) for m in op.memrefs])
        new = AccumulateOp(
            "custom",
            values,
            buffers,
            op.indices,
            label=op.statement,
            order=op.order_name,
            where=op.where,
            mask=op.mask,
            identity=_flat_identity(op),
            combine=Region(self._combiner(op, [v.type for v in values])),
        )
        new.location = op.location
        block.insert_op_before(new, op)

    def _combiner(self, op: AccumulateOp, types: Sequence[Attribute]) -> Block:
        """What combines the parts: of a product it is written here, of others it is what their region does."""
        body = Block(arg_types=[*types, *types])
        if op.combine is None:
            args = body.args
            body.add_op(NestYieldOp(*self._combined(op, body.add_op, (args[0], args[1]), (args[2], args[3]))))
            return body
        new = iter(body.args)
        mapping: dict[SSAValue, SSAValue] = {}
        for old in op.combine.block.args:
            if is_complex(old.type):
                self._pairs[old] = next(new), next(new)
            else:
                mapping[old] = next(new)
        for old, value in mapping.items():
            old.replace_all_uses_with(value)
        for inner in list(op.combine.block.ops):
            inner.detach()
            body.add_op(inner)
        self._block(body)
        return body

    def _combined(self, op: AccumulateOp, insert: Callable[[Operation], object], a: Pair, b: Pair) -> Pair:
        """What the named combiner of `op` makes of two pairs: the operation on complex numbers, taken apart."""

        made: list[Operation] = []
        e = Emitter(made.append, op.location)
        combine, _ = _COMBINERS[op.combiner.data]
        result = combine(e, expand_complex.create(e, *a), expand_complex.create(e, *b))
        for new in made:
            insert(new)
        for new in made:
            if self._is_of_pairs(new):
                self._operation(new)
        return self._pair(result)

    def _yield(self, op: NestYieldOp) -> None:
        if any(is_complex(v.type) for v in op.values):
            op.operands = _flat([self._pairs.get(v, v) for v in op.values])

    def _update(self, op: AccumulateOp) -> None:
        """A reduction into elements whose parts are side by side: they are read, combined and written."""
        if len(op.values) != 1 or op.where is not None or op.mask is not None:
            raise fail(
                op,
                "a reduction of several buffers, or under a condition, into complex numbers of an argument has no form",
                hint="reduce into a buffer of the function (nest.alloc), and copy it",
                error=LoweringError,
            )
        old = self._read(op, op.memrefs[0], op.indices)
        new = self._pair(op.values[0])
        block = op.parent
        assert block is not None
        if op.combine is None:
            pair = self._combined(op, lambda one: block.insert_op_before(one, op), old, new)
        else:
            self._pairs.update(zip(op.combine.block.args, (old, new), strict=True))
            *inner, last = op.combine.block.ops
            for one in inner:
                one.detach()
                block.insert_op_before(one, op)
                if self._is_of_pairs(one):
                    (_HANDLERS.get(type(one)) or Pairs._operation)(self, one)
            pair = self._pair(last.operands[0])
        self._write(op, pair, op.memrefs[0], op.statement)

    @staticmethod
    def _is_of_pairs(op: Operation) -> bool:
        return any(is_complex(v.type) for v in (*op.operands, *op.results))

    # ---- what looks at whole buffers ----------------------------------------------------------------

    def _call(self, op: func.CallOp) -> None:
        for value in op.operands:
            if isinstance(value.type, ComplexType):
                raise fail(
                    op,
                    f"a call of {op.callee.string_value()} is given a complex number, and only buffers of them are passed",
                    error=LoweringError,
                )
        given = [self._wholes.get(v, v) for v in op.operands]
        if op.callee.string_value().startswith(HAND_OVER) and given[0] is not op.operands[0]:
            return self._hand_over(op, given)
        op.operands = given

    def _hand_over(self, op: func.CallOp, given: list[SSAValue]) -> None:
        """The parts are handed over as one more axis."""
        block = op.parent
        kind = given[0].type
        assert block is not None and isinstance(kind, MemRefType)
        two = arith.ConstantOp(IntegerAttr(2, IndexType()))
        name = hand_over_name(str(kind.element_type), kind.get_num_dims())
        new = func.CallOp(name, [*given, two.result], [])
        new.attributes.update(op.attributes)
        for one in (two, new):
            one.location = op.location
            block.insert_op_before(one, op)
        self._old.append(op)

    def _dim(self, op: memref.DimOp) -> None:
        op.operands = [self._wholes.get(v, v) for v in op.operands]

    def _cast(self, op: memref.CastOp) -> None:
        if not is_complex(op.source.type):
            return
        kind = op.dest.type
        assert isinstance(kind, MemRefType)
        block = op.parent
        assert block is not None
        new = memref.CastOp.create(operands=[self._wholes[op.source]], result_types=[parted(kind)])
        new.location = op.location
        new.results[0].name_hint = op.dest.name_hint
        block.insert_op_before(new, op)
        self._wholes[op.dest] = new.results[0]
        self._old.append(op)


def _flat(values: Sequence[Any]) -> list[SSAValue]:
    return [part for value in values for part in (value if isinstance(value, tuple) else (value,))]


def _flat_identity(op: AccumulateOp) -> ArrayAttr | None:
    if op.identity is not None:
        numbers = [part for one in op.identity for part in (one if isinstance(one, ArrayAttr) else (one,))]
        return ArrayAttr(numbers)
    if op.combine is not None:
        return None
    kind = op.values[0].type.element_type  # pyright: ignore
    _, identity = _COMBINERS[op.combiner.data]
    return ArrayAttr([FloatAttr(identity.real, kind), FloatAttr(identity.imag, kind)])


def _with_parts(attributes: DictionaryAttr, type_: Attribute) -> DictionaryAttr:
    """The attributes of an argument that has a last axis of 2 now, or of one that hands over what has."""
    handed = attributes.data.get(HANDS_OVER)
    if isinstance(handed, MemRefType) and is_complex(handed):
        return DictionaryAttr({**attributes.data, HANDS_OVER: parted(handed)})
    if not is_complex(type_) or DIMS not in attributes.data:
        return attributes
    dims = attributes.data[DIMS]
    assert isinstance(dims, ArrayAttr)
    return DictionaryAttr({**attributes.data, DIMS: ArrayAttr([*dims.data, IntegerAttr(2, i64)])})


def _select(e: Emitter, condition: SSAValue, a: Pair, b: Pair) -> Pair:
    return arithmetic.choose(e, condition, a, b)


def _power(e: Emitter, a: Pair, b: Pair) -> Pair:
    return arithmetic.power(e, a, b, functions.general_power)


def _expand_constant(pairs: Pairs, op: complex_dialect.ConstantOp) -> None:
    e = pairs._emitter(op)
    parts = [e.const(one.value.data, one.type) for one in op.value]  # pyright: ignore
    pairs._define(op, (parts[0], parts[1]))


_COMBINERS: dict[str, tuple[Callable[..., SSAValue], complex]] = {
    "mul": (expand_complex.multiply, 1 + 0j),
    "maximum": (expand_complex.maximum, complex("-inf-infj")),
    "minimum": (expand_complex.minimum, complex("inf+infj")),
}
"""Named combiners: the operation, and its identity."""

_EXPANSIONS: dict[type[Operation], Callable[..., Any]] = {
    arith.SelectOp: _select,
    complex_dialect.CreateOp: lambda e, real, imaginary: (real, imaginary),
    complex_dialect.ReOp: lambda e, a: a[0],
    complex_dialect.ImOp: lambda e, a: a[1],
    complex_dialect.AddOp: arithmetic.add,
    complex_dialect.SubOp: arithmetic.subtract,
    complex_dialect.MulOp: arithmetic.multiply,
    complex_dialect.DivOp: arithmetic.divide,
    complex_dialect.NegOp: arithmetic.negative,
    complex_dialect.ConjOp: arithmetic.conjugate,
    complex_dialect.AbsOp: arithmetic.absolute,
    complex_dialect.EqualOp: arithmetic.equal,
    complex_dialect.NotEqualOp: arithmetic.not_equal,
    complex_dialect.ExpOp: functions.exp,
    complex_dialect.LogOp: functions.log,
    complex_dialect.SqrtOp: functions.sqrt,
    complex_dialect.SinOp: functions.sin,
    complex_dialect.CosOp: functions.cos,
    complex_dialect.TanOp: functions.tan,
    complex_dialect.TanhOp: functions.tanh,
    complex_dialect.PowOp: _power,
}
"""What an operation is on pairs."""

_HANDLERS: dict[type[Operation], Callable[[Pairs, Any], None]] = {
    complex_dialect.ConstantOp: _expand_constant,
    AllocOp: Pairs._alloc,
    LoadOp: Pairs._load,
    StoreOp: Pairs._store,
    AccumulateOp: Pairs._accumulate,
    NestYieldOp: Pairs._yield,
    func.CallOp: Pairs._call,
    memref.DimOp: Pairs._dim,
    memref.CastOp: Pairs._cast,
}
"""What moves complex numbers, or names buffers of them."""

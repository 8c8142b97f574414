"""One specialisation of a Python function: its arguments' types, the nt module, and what the results mean."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np
from xdsl.dialects import func
from xdsl.dialects.builtin import (
    UNKNOWN_LOC,
    ArrayAttr,
    DictionaryAttr,
    IntegerAttr,
    ModuleOp,
    StringAttr,
    UnitAttr,
    f64,
    i1,
    i64,
)
from xdsl.ir import Attribute, Region, SSAValue
from xdsl.ir.affine import AffineBinaryOpKind

from ...dialects.attributes import (
    EXTENTS,
    NT_ALIAS_SET,
    NT_CALLEE_ALLOCATED,
    NT_DIMS,
    NT_FROZEN,
    NT_LAYOUT,
    NT_MUTATED,
    NT_WRITES_ARG,
    OWN_SCHEDULES,
)
from ...dialects.diagnostic import NestorError
from ...dialects.nt.derivative_ops import functions_named_by
from ...dialects.nt.types import scalar_type
from ...dialects.records import changed
from ..control.rows import rows_array
from ..control.which_object import joined_of
from ..frame.frame import Frame, ReturnSignal
from ..frame.objects import current, stored
from ..interface.argument_types import ArgumentType, is_open
from ..interface.captured import Captured, Step
from ..interface.errors import Respecialise, Stopped, UnsupportedError
from ..interface.forwarders import is_text_made
from ..interface.named_extents import Dim
from ..interface.outside_arrays import NO_INPUTS, Inputs, key_of
from ..interface.program_parts import Change, Guard, Leaf, Linear, OutputType, Program, Quotient, run_name
from ..interface.source import FunctionSource
from ..interface.static_values import held, is_object
from ..interface.structures import Again, Structure, Which
from ..values.aliases import alternatives, root_of, unknown_alias
from ..values.arithmetic import scalar_arguments
from ..values.contents import as_tensor
from ..values.extents import Affine, Assumption, Atom
from ..values.graph import INDEX, Graph, NamePlace, element_type, tensor_type
from ..values.list_counts import counted
from ..values.names import ir_name
from ..values.promotion import WEAK_DTYPES
from ..values.selection import drop_unread, settled
from ..values.tensors import dim_value, from_scalar, normal_order, transpose
from ..values.values import (
    READING,
    Array,
    Buffer,
    Chosen,
    Extents,
    Group,
    Index,
    Masked,
    Rows,
    Static,
    Tensor,
    Value,
    describe,
    whole,
)
from .bodies import run_body
from .functions import ENDED, TOO_DEEP
from .language import LANGUAGE

if TYPE_CHECKING:
    from ..jit.specialise.outside_arrays import OutsideArrays


def lower(
    source: FunctionSource,
    arguments: Sequence[ArgumentType],
    *,
    may_write: bool = True,
    boundscheck: bool = True,
    outside: OutsideArrays | None = None,
    flagged: frozenset[NamePlace] = frozenset(),
    dims: Mapping[str, Dim] = MappingProxyType({}),
) -> Program:
    """Compile the function for arguments of the given types, to the nt level; without `boundscheck`, indices that
    are known at run time only are taken to be in bounds. The last arguments are arrays that `outside` has; it is told
    of those that are found on the way, which become arguments too. Variables that are `flagged` may have no value.
    `dims` say what is known of named extents.

    Raises a diagnostic for what cannot be compiled, Respecialise when more must be known at compile time.
    """
    graph = Graph(LANGUAGE, may_write, boundscheck)
    graph.flagged = flagged
    try:
        return _Lowering(source, arguments, graph, outside, dims).run()
    except Respecialise as request:
        request.place = graph.place if graph.place.file else None
        raise
    except (NestorError, MemoryError, OSError, RecursionError):
        raise
    except Exception as error:
        from ...transforms.pass_manager import internal_failure

        failure = internal_failure("the frontend", error, advice="please report it with the function")
        failure.diagnostic.location = graph.place if graph.place.file else None
        raise failure from error


class _Lowering:
    def __init__(
        self,
        source: FunctionSource,
        arguments: Sequence[ArgumentType],
        graph: Graph,
        outside: OutsideArrays | None,
        dims: Mapping[str, Dim],
    ):
        self.source = source
        self.symbol = _symbol(source.node.name)
        self.arguments = tuple(arguments)
        self.graph = graph
        graph.symbol = self.symbol
        self.captured = Captured()
        graph.spreads_objects = not any(a.kind == "static" and is_object(held(a.value)) for a in arguments)
        self.frame = Frame(self.graph, source, self.captured)
        self.atoms: dict[str, Atom] = {}
        self.dims = dims
        self.alias_sets: dict[int, list[Buffer]] = {}
        self.attributes: list[dict[str, Attribute]] = []
        self.buffers: dict[int, Buffer] = {}
        self.structure: Structure | Again = Structure(tuple, None, ())
        self.given: dict[int, Group] = {}
        """Lists, dicts and objects of the arguments by their numbers, as they were; their refs say which they are now."""
        self.leaves: list[Value] = []
        self.objects: dict[Array, int] = {}
        """The arguments themselves: other arrays in their memory are views, also where they show all of it."""
        self.bases: dict[Buffer, _Base] = {}
        self.made: dict[str | int, int] = {}
        """The objects of the result that are made already, and as which number."""
        self.returned_objects: frozenset[str] = frozenset()
        """All that the objects of the result may be, of those that the program makes."""
        self.count = 0
        self.returned: list[SSAValue] = []
        self.outputs: list[OutputType] = []
        self.output_attributes: list[dict[str, Attribute]] = []
        self.told: dict[Atom, str] = {}
        """Integers of the run that results are made with, and their names."""
        self.outside = outside
        self.found: dict[tuple[Any, ...], Array] = {}
        """What stands for arrays from outside, by where they were found."""

    def run(self) -> Program:
        token = READING.set(self.captured)
        try:
            return self._run()
        except NestorError as error:
            unbound = frozenset(self.graph.unbound - self.graph.flagged)
            if unbound:
                names = ", ".join(sorted({place[-1] for place in unbound}))
                raise Respecialise(unbound=unbound, why=f"whether {names} has a value") from error
            place = self.graph.place
            if error.diagnostic.location is None and place.file and not is_text_made(place.file):
                error.diagnostic.location = place
            raise
        except RecursionError:
            name, times = _most_often(self.graph.entered)
            if times > MANY_CALLS:
                raise UnsupportedError(
                    TOO_DEEP.format(name),
                    self.graph.place if self.graph.place.file else None,
                    hint=ENDED,
                ) from None
            raise UnsupportedError(
                "expressions or calls are nested too deeply here to be compiled",
                self.graph.place if self.graph.place.file else None,
                hint="give parts of them names (t = ...), each in a statement of its own",
            ) from None
        finally:
            READING.reset(token)
            self.captured.take = None

    def _run(self) -> Program:
        self.frame.at(self.source.node)
        self.captured.function(self.source.function)
        inputs = () if self.outside is None else self.outside.inputs
        first = len(self.arguments) - len(inputs)
        for position, argument in enumerate(self.arguments[:first]):
            self._bind(position, argument)
        for position, one in enumerate(inputs, first):
            self.found[one.key] = self._array(position, self.arguments[position])
        if self.outside is not None:
            self.captured.take = self._take
        try:
            run_body(self.frame)
            value: Value = Static(None)
        except ReturnSignal as signal:
            value = signal.value
        except Stopped:
            value = Static(None)
        value = self._side_by_side(value)
        self._find_bases(value)
        for number, before in self.given.items():
            content = self._content(number)
            if _is_unchanged(content, before):
                continue
            assert before.ref is not None
            content = self.frame.variables[before.ref] = self._side_by_side(current(self.frame, content))
            self._find_bases(content)
        results = self._result(value)
        changes = self._changes()
        written = self._return_written()
        self.graph.insert(func.ReturnOp(*self.returned))
        drop_unread(self.graph)
        return Program(
            self.symbol,
            self._module(),
            tuple([self._with_final_names(a) for a in self.arguments]),
            results,
            self.outputs,
            written,
            [
                Guard(_linear(a.affine), a.exact, a.why)
                for a in (*self._declared(), *self.graph.assumptions.made)
            ],
            self.captured,
            raises=self.graph.raises,
            changes=changes,
            may_change=self.graph.changes_given,
            inputs=NO_INPUTS if self.outside is None else Inputs(self.outside.inputs),
        )

    def _final_name(self, name: str) -> str:
        """The name of an extent since others were found to be equal to it."""
        return self.atoms[name].root().dim or name

    def _with_final_names(self, argument: ArgumentType) -> ArgumentType:
        extents = [e if isinstance(e, int) else self._final_name(e) for e in argument.extents]
        return changed(argument, extents=tuple(extents))

    # ---- arguments ----------------------------------------------------------------------------------

    def _bind(self, position: int, argument: ArgumentType) -> None:
        if argument.kind == "static":
            self._set(argument, Static(held(argument.value)))
        elif argument.kind in ("same", "array"):
            self._set(argument, self._array(position, argument))
        else:
            self._set(argument, self._scalar(position, argument))

    def _set(self, argument: ArgumentType, value: Value) -> None:
        if argument.group is None:
            self.frame.variables[argument.name] = value
            return
        # The structure of an argument, and then its leaves.
        if isinstance(argument.value, Structure | Again):
            self.structure, self.leaves = argument.value, []
        else:
            self.leaves.append(value)
        if len(self.leaves) == self.structure.leaves:
            self.frame.variables[argument.group] = self.structure.built(iter(self.leaves), self._grouped)

    def _grouped(self, structure: Structure | Again, items: list[Value]) -> Value:
        """A structured argument; an object that can change becomes known by its number, too."""
        if isinstance(structure, Again):
            return replace(self.given[structure.number], items=())
        group = stored(self.frame, Group(tuple(items), structure.kind, structure.names))
        assert isinstance(group, Group)
        if structure.number is not None and group.ref is not None:
            content = self.frame.variables[group.ref]
            assert isinstance(content, Group)
            self.given[structure.number] = replace(content, ref=group.ref)
            self.graph.given_objects[group.ref] = structure.number
            self.graph.hidden[group.ref] = structure.hidden
        return group

    def _scalar(self, position: int, argument: ArgumentType) -> Value:
        dtype = argument.dtype
        assert dtype is not None
        if dtype.kind == "c":
            return self._complex(position, argument, dtype)
        kind: Attribute = {"int": i64, "float": f64, "bool": i1}.get(argument.kind) or scalar_type(
            element_type(dtype)
        )
        ssa = self._argument(argument, kind, {})
        if is_open(argument):
            return Tensor(from_scalar(self.graph, ssa, dtype), dtype, (), True, int)
        if argument.kind == "int":
            atom = Atom(lambda: self._index_argument(ssa), argument=position)
            return Index(Affine.of(atom))
        tensor = from_scalar(self.graph, ssa, dtype)
        if argument.kind == "scalar":
            return Tensor(tensor, dtype, (), True, arguments=frozenset([position]))
        weak = float if argument.kind == "float" else bool
        return Tensor(tensor, dtype, (), True, weak, None, frozenset([position]))

    def _complex(self, position: int, argument: ArgumentType, dtype: np.dtype) -> Tensor:
        """A complex number comes in memory."""
        ssa = self._argument(argument, tensor_type(dtype, ()), {NT_LAYOUT: StringAttr("c")})
        weak = complex if argument.kind == "complex" else None
        return Tensor(ssa, dtype, (), True, weak, None, frozenset([position]))

    def _index_argument(self, ssa: SSAValue) -> SSAValue:
        from xdsl.dialects.arith import IndexCastOp

        return self.graph.insert_at_entry(IndexCastOp.create(operands=[ssa], result_types=[INDEX]))

    def _take(self, owner: Any, step: Step, place: Any, value: Any) -> Array | None:
        """What stands for an array that was found outside; None for what is compiled in."""
        assert self.outside is not None
        key = key_of(owner, step, place)
        known = self.found.get(key)
        if known is not None or not self.outside.takes(value):
            return known
        argument = self.outside.take(self.captured, owner, step, place, value)
        position = len(self.arguments)
        self.arguments += (argument,)
        with self.graph.at_the_head():
            array = self.found[key] = self._array(position, argument)
        array.buffer.is_outside = True
        array.buffer.serial = -1  # it was there before whatever loop or branch is being compiled
        return array

    def _array(self, position: int, argument: ArgumentType) -> Array:
        """The array that an argument is."""
        if argument.kind == "same":
            array = whole(self.buffers[argument.value])
        else:
            array = whole(self._buffer(position, argument))
        self.objects[array] = position
        return array

    def _buffer(self, position: int, argument: ArgumentType) -> Buffer:
        dtype, order = argument.dtype, argument.order
        assert dtype is not None
        place = self.source.place(self.source.node)
        element_type(dtype, place)
        extents = self._extents(argument)
        stored = tuple([extents[a] for a in order]) if order else extents
        attributes: dict[str, Attribute] = {
            NT_LAYOUT: StringAttr("c" if argument.layout == "c" else "strided")
        }
        if argument.overlap is not None:
            attributes[NT_ALIAS_SET] = IntegerAttr(argument.overlap, i64)
        if argument.constant:
            attributes[NT_FROZEN] = UnitAttr()
        ssa = self._argument(argument, tensor_type(dtype, stored), attributes)
        for axis, extent in enumerate(stored):
            if extent.known is None:
                self._source_of_dim(extent, ssa, axis)
        tensor = Tensor(ssa, dtype, stored)
        if order:
            tensor = transpose(self.graph, tensor, [order.index(a) for a in range(len(order))])
            tensor.ssa.name_hint = ir_name(argument.name)
        overlapping = [] if argument.overlap is None else self.alias_sets.setdefault(argument.overlap, [])
        buffer = Buffer(
            tensor.ssa,
            dtype,
            extents,
            argument.name,
            normal_order(order) if order else argument.memory_order,
            argument=position,
            read_only=argument.read_only,
            shared=argument.overlap,
            overlapping=overlapping,
            dense=argument.layout == "c",
            frozen=f"'{argument.name}', elements of which share memory,"
            if argument.layout == "folded"
            else None,
        )
        overlapping.append(buffer)
        self.buffers[position] = buffer
        self.graph.shapes.append(extents)
        return buffer

    def _extents(self, argument: ArgumentType) -> Extents:
        return tuple(
            [Affine(e) if isinstance(e, int) else Affine.of(self._dim(e, w)) for e, w in argument.dims()]
        )

    def _dim(self, name: str, witness: int | None) -> Atom:
        atom = self.atoms.get(name)
        if atom is None:
            said = self.dims.get(name, Dim(name))
            high = None if said.max is None else Affine(said.max)
            atom = self.atoms[name] = Atom(
                _unbound,
                low=-(-max(2, said.min) // said.multiple_of) * said.multiple_of,
                high=high,
                dim=name,
                witness=witness,
                multiple=said.multiple_of,
            )
        return atom

    def _declared(self) -> Iterator[Assumption]:
        """What was said of the extents that are unknown: the program counts on it. They are at least 2 anyway."""
        for name, atom in self.atoms.items():
            said, extent, why = (
                self.dims.get(name, Dim(name)),
                Affine.of(atom.root()),
                "declared of the extent",
            )
            if said.min > 2:
                yield Assumption(extent - said.min, False, why)
            if said.max is not None:
                yield Assumption(-extent + said.max, False, why)
            if said.multiple_of > 1:
                key = AffineBinaryOpKind.Mod, extent, said.multiple_of
                yield Assumption(Affine.of(Atom(_unbound, low=0, key=key)), True, why)

    def _known_extents(self) -> dict[str, Attribute]:
        """The attribute that tells later levels of them."""
        found: dict[str, Attribute] = {}
        for atom in {atom.root(): None for atom in self.atoms.values()}:
            most = -1 if atom.high is None else atom.high.constant
            if atom.dim is not None and (atom.low != 2 or most >= 0 or atom.multiple > 1):
                found[atom.dim] = ArrayAttr(
                    [IntegerAttr(n, i64) for n in (atom.low or 0, most, atom.multiple)]
                )
        return {EXTENTS: DictionaryAttr(found)} if found else {}

    def _source_of_dim(self, extent: Affine, ssa: SSAValue, axis: int) -> None:
        atom = extent.terms[0][0]
        if atom._make is _unbound:
            atom._make = lambda: self._named_dim(ssa, axis, atom)

    def _named_dim(self, ssa: SSAValue, axis: int, atom: Atom) -> SSAValue:
        value = dim_value(self.graph, ssa, axis)
        value.name_hint = ir_name(atom.dim) if atom.dim and atom.dim.isidentifier() else None
        return value

    def _argument(
        self, argument: ArgumentType, kind: Attribute, attributes: dict[str, Attribute]
    ) -> SSAValue:
        ssa = self.graph.entry.insert_arg(kind, len(self.graph.entry.args))
        ssa.name_hint = ir_name(argument.name)
        self.attributes.append(attributes)
        return ssa

    # ---- results ------------------------------------------------------------------------------------

    def _side_by_side(self, value: Value) -> Value:
        """A result with what masks select in it as arrays."""
        if isinstance(value, Masked):
            return settled(self.graph, value)
        if not isinstance(value, Group):
            return value
        items = tuple(map(self._side_by_side, value.items))
        same = all(a is b for a, b in zip(items, value.items, strict=True))
        return value if same else replace(value, items=items)

    def _result(self, value: Value) -> Any:
        """The structure of the result: Leaf, or a Group of them. What is in it twice is made once."""
        key = value.ref if isinstance(value, Group | Rows) and value.ref is not None else id(value)
        if key in self.made:
            return Leaf("again", self.made[key])
        if isinstance(value, Group | Rows) and value.ref in self.graph.given_objects:
            result = self._given(self.graph.given_objects[value.ref])
        elif isinstance(value, Group):
            result = self._group(value)
        else:
            result = self._leaf(value)
        if not isinstance(value, Static | Index):
            self.made[key] = self.count
        self.count += 1
        return result

    def _group(self, value: Group) -> Any:
        """A structure; one that may be an object of the caller with the number of that one."""
        if value.ref is None:
            return value.kind, value.names, [self._result(item) for item in value.items]
        may_be = joined_of(self.graph, value.ref)
        if may_be.made & self.returned_objects:
            raise self.graph.error(
                UnsupportedError,
                f"{describe(value)} that is returned may be another result too, on some paths only",
                "return it once, or copies of it",
            )
        self.returned_objects |= may_be.made
        if may_be.number is None:
            return value.kind, value.names, [self._result(item) for item in value.items]
        number = self._output(Tensor(may_be.number, np.dtype(np.int64), (), True, int))
        self.outputs[number.output] = changed(self.outputs[number.output], kind="tag")
        self.count += 1
        made = (value.kind, value.names, [self._result(item) for item in value.items])
        self.count += 1
        given = [self._given(self.graph.given_objects[ref]) for ref in may_be.given]
        self.count += len(given)
        return Which, None, [number, made, *given]

    def _given(self, number: int) -> Leaf:
        """The object that the caller has passed."""
        return Leaf("argument", argument=len(self.arguments) + number)

    def _content(self, number: int) -> Value:
        """What an object of the arguments holds in the end."""
        before = self.given[number]
        assert before.ref is not None
        return self.frame.variables.get(before.ref, before)

    def _changes(self) -> list[Change]:
        """What the call does to lists, dicts and objects of the caller."""
        found = []
        for number, before in self.given.items():
            now = self._content(number)
            if _is_unchanged(now, before):
                continue
            if isinstance(now, Rows):
                found.append(Change(number, list, None, (self._leaf(now),)))
                self.count += 1
                continue
            assert isinstance(now, Group)
            change = self._change(number, before, now)
            if change is not None:
                found.append(change)
        return found

    def _change(self, number: int, before: Group, now: Group) -> Change | None:
        keys = before.names if before.names is not None else range(len(before.items))
        places = {self._identity(item): key for key, item in zip(keys, before.items, strict=True)}
        if now.kind in (list, dict):
            same = now.names == before.names and len(now.items) == len(before.items)
            if same and all(map(self._are_one, now.items, before.items)):
                return None
            return Change(
                number, now.kind, now.names, tuple([self._item(number, places, v) for v in now.items])
            )
        assert before.names is not None and now.names is not None
        old = dict(zip(before.names, before.items, strict=True))
        kept = [name for name in before.names if name in now.names]
        in_order = list(now.names[: len(kept)]) == kept
        deleted = [name for name in before.names if name not in now.names or not in_order]
        given = [
            (name, item)
            for name, item in zip(now.names, now.items, strict=True)
            if name in deleted or name not in old or not self._are_one(item, old[name])
        ]
        if not given and not deleted:
            return None
        items = tuple([self._item(number, places, item) for _, item in given])
        return Change(number, now.kind, tuple([name for name, _ in given]), items, tuple(deleted))

    def _identity(self, value: Value) -> Any:
        return value.ref if isinstance(value, Group | Rows) and value.ref is not None else id(value)

    def _are_one(self, a: Value, b: Value) -> bool:
        return self._identity(a) == self._identity(b)

    def _item(self, number: int, places: dict[Any, Any], value: Value) -> Any:
        """An item of a changed object: a number that it had is not made again."""
        key = places.get(self._identity(value))
        if key is None or isinstance(value, Array | Group | Rows):
            return self._result(value)
        self.count += 1
        return Leaf("item", key, argument=len(self.arguments) + number)

    def _leaf(self, value: Value) -> Leaf:
        """How a result that is no structure is made."""
        if isinstance(value, Rows):
            if value.ref in self.graph.shared_lists:
                raise self.graph.error(
                    UnsupportedError,
                    "returning a list with arrays that others share is not supported",
                    "append copies: ys.append(x[t].copy())",
                )
            value = counted(self.graph, value)
            if value.columns:
                columns = [self._leaf(column) for column in value.columns]
                return Leaf("zipped", value=(value.record, columns))
            array = self._output(rows_array(value))
            return Leaf(
                "rows", value=value.kind if isinstance(value.kind, type) else None, output=array.output
            )
        if isinstance(value, Chosen):
            made = self._output(as_tensor(self.graph, value.which))
            return Leaf("chosen", value.options, output=made.output)
        if isinstance(value, Static):
            if id(value.raw) in self.graph.made_objects:
                kind = type(value.raw).__name__
                raise self.graph.error(
                    UnsupportedError,
                    f"returning a {kind} that is made in compiled code is not supported",
                    "make it of what the function returns",
                )
            return Leaf("constant", value.raw)
        if isinstance(value, Index):
            if not _is_linear(value.affine):
                return self._output(as_tensor(self.graph, value))
            return Leaf("integer", _linear(value.affine))
        if isinstance(value, Array):
            shared = self._shared(value)
            if shared is not None:
                return shared
            if root_of(value).buffer.aliases:
                return self._choice(value)
        if not isinstance(value, Array | Tensor):
            raise self.graph.error(UnsupportedError, f"{describe(value)} cannot be returned")
        return self._own(value)

    def _own(self, value: Array | Tensor) -> Leaf:
        """A result in memory of its own; a view of it where NumPy gives one that cannot be written."""
        if isinstance(value, Array) and not value.buffer.name and value.buffer.value is not None:
            value.buffer.value.name_hint = value.buffer.value.name_hint or "result"
        made = self._output(value)
        is_read_only = isinstance(value, Array) and value.buffer.read_only
        return Leaf("read-only", output=made.output) if is_read_only else made

    def _choice(self, array: Array) -> Leaf:
        """A result that shares memory with an argument on some paths: the run says with which."""
        source = root_of(array)
        if source is not array and not (source.whole and array.whole):
            raise unknown_alias(self.graph)
        leaves: dict[int, Leaf] = {}
        for number, alias in alternatives(self.graph, source).items():
            leaf = self._shared(alias)
            if source is not array and leaf is not None and leaf.how in ("argument", "view", "reshape"):
                shape = tuple([self._linear(e) for e in array.extents])
                leaf = Leaf("reshape", leaf, argument=leaf.argument, view=(shape, None))
            elif source is not array or leaf is None:
                raise unknown_alias(self.graph)
            leaves[number] = leaf
        buffer = source.buffer
        assert buffer.tag is not None
        tag = self._output(Tensor(buffer.tag, np.dtype(np.int64), (), True, int))
        self.outputs[tag.output] = changed(self.outputs[tag.output], kind="tag")
        # Where it is an argument, what was written to that since is in the argument.
        buffer.lenders = tuple([(b, v) for b, v in buffer.lenders if b.argument is None])
        return Leaf("choice", leaves, output=self._output(array).output, tag=tag.output)

    def _find_bases(self, value: Value) -> None:
        """The arrays of the program's own that are results as a whole: views of them are made from them."""
        if isinstance(value, Group):
            for item in value.items:
                self._find_bases(item)
        elif isinstance(value, Array) and value.whole and _is_own(value.buffer):
            self.bases.setdefault(value.buffer, _Base(value))

    def _based(self, array: Array) -> Leaf | None:
        """A result that is another one, or a view of it."""
        base = self.bases.get(array.buffer)
        if base is None:
            return None
        if base.leaf is None:
            base.leaf = self._own(base.array)
        if array is base.array:
            return base.leaf
        return Leaf("view", base.leaf, view=self._recipe(array))

    def _shared(self, array: Array) -> Leaf | None:
        """A result that shares memory with an argument, or with another result, is made from it, as NumPy does."""
        buffer = array.buffer
        if buffer.argument is not None:
            if array in self.objects:
                return Leaf("argument", argument=self.objects[array])
            return Leaf("view", argument=buffer.argument, view=self._recipe(array))
        based = self._based(array)
        if based is not None:
            return based
        if buffer.derived is None:
            return None
        source, how, *given = buffer.derived
        inner = self._shared(source)
        may_be_copy = how in ("reshape", "ravel")
        if inner is None or (may_be_copy and _may_be_older(source, buffer)):
            return None
        parameters = given[0] if given else tuple([self._linear(e) for e in buffer.extents])
        window = None if array.whole else self._recipe(array)
        return Leaf(how, inner, argument=inner.argument, view=(parameters, window))

    def _output(self, value: Array | Tensor) -> Leaf:
        tensor = as_tensor(self.graph, value)
        order = tensor.order
        stored = transpose(self.graph, tensor, order) if order else tensor
        if not all(map(_is_linear, tensor.extents)):
            return self._allocated(stored, order)
        kind = "array"
        if isinstance(value, Tensor):
            kind = value.weak.__name__ if value.weak else "scalar" if not value.extents else "array"
        extents = tuple([_linear(e) for e in tensor.extents])
        self.outputs.append(OutputType(tensor.dtype, extents, order, kind))
        self.returned.append(stored.ssa)
        self.output_attributes.append(_dims_attribute(stored.extents))
        return Leaf("output", output=len(self.outputs) - 1)

    def _allocated(self, stored: Tensor, order: tuple[int, ...] | None) -> Leaf:
        """A result of extents that only the run knows: the program allocates it."""
        axes = len(stored.extents) + (
            stored.dtype.kind == "c"
        )  # the parts of complex numbers are along one more
        self.outputs.append(OutputType(stored.dtype, (), order, "array", axes))
        self.returned.append(stored.ssa)
        self.output_attributes.append({NT_CALLEE_ALLOCATED: UnitAttr()})
        return Leaf("output", output=len(self.outputs) - 1)

    def _linear(self, affine: Affine) -> Linear:
        """What the dispatcher computes from the call, and from integers that the program tells it."""
        if not _is_linear(affine):
            seen = self.graph.visible(affine)
            if seen is None:  # known on one path only
                raise unknown_alias(self.graph)
            affine = seen
        for atom in affine.atoms():
            if atom.key is None and atom.dim is None and atom.argument is None and atom not in self.told:
                tensor = as_tensor(self.graph, Index(Affine.of(atom)))
                told = self._output(tensor).output
                self.outputs[told] = changed(self.outputs[told], kind="told")
                self.told[atom] = run_name(told)
        return _linear(affine, self.told)

    def _recipe(self, array: Array) -> Any:
        """A view as (fixed axes, axes): what the dispatcher indexes its base with."""
        fixed = tuple([(axis, self._linear(offset)) for axis, offset in array.fixed])
        axes = tuple([(a.root, self._linear(a.offset), a.stride, self._linear(a.extent)) for a in array.axes])
        return fixed, axes

    def _return_written(self) -> list[int]:
        """Arguments that were written are results that go back where they came from."""
        written = []
        for position, buffer in self.buffers.items():
            if not buffer.version:
                continue
            assert buffer.value is not None
            place = self._place_of(position)
            self.attributes[place][NT_MUTATED] = UnitAttr()
            self.returned.append(buffer.value)
            self.output_attributes.append(
                {NT_WRITES_ARG: IntegerAttr(place, i64), **_dims_attribute(buffer.extents)}
            )
            written.append(position)
        return written

    def _place_of(self, position: int) -> int:
        """The position among the arguments of the compiled function."""
        return sum(1 for a in self.arguments[:position] if a.kind not in ("static", "same"))

    def _module(self) -> ModuleOp:
        entry = self.graph.entry
        places = [a for a in self.arguments if a.kind not in ("static", "same")]
        for attributes, argument in zip(self.attributes, places, strict=True):
            if argument.kind == "array" and not all(isinstance(e, int) for e, _ in argument.dims()):
                extents = self._extents(argument)
                stored = tuple([extents[a] for a in argument.order]) if argument.order else extents
                attributes.update(_dims_attribute(stored))
        function = func.FuncOp(
            self.symbol,
            ([a.type for a in entry.args], [v.type for v in self.returned]),
            Region(entry),
            arg_attrs=ArrayAttr([DictionaryAttr(a) for a in self.attributes]),
            res_attrs=ArrayAttr([DictionaryAttr(a) for a in self.output_attributes]),
        )
        function.attributes.update(self._known_extents())
        self.frame.at(self.source.node)
        function.location = self.graph.location
        externals = [
            func.FuncOp.external(name, list(kind.inputs), list(kind.outputs))
            for name, kind in self.graph.externals.items()
        ]
        used = _functions_used(function, self.graph)
        called = {
            op.callee.string_value()
            for f in (function, *used)
            for op in f.walk()
            if isinstance(op, func.CallOp)
        }
        declared = [op for name, op in self.graph.declarations.items() if name in called]
        module = ModuleOp([*externals, *declared, *used, function])
        module.location = UNKNOWN_LOC
        if self.graph.own_schedules:
            module.attributes[OWN_SCHEDULES] = DictionaryAttr(
                {
                    name: DictionaryAttr({target: StringAttr(text) for target, text in texts.items()})
                    for name, texts in self.graph.own_schedules.items()
                }
            )
        return module


def _is_unchanged(content: Value, before: Group) -> bool:
    """Whether an object of the arguments holds what it held before the call."""
    return isinstance(content, Group) and content.items is before.items and content.names is before.names


MANY_CALLS = 8
"""Calls of one function in each other that are recursion, where what is compiled is too deep."""


def _most_often(names: Sequence[str]) -> tuple[str, int]:
    name = max(names, key=names.count, default="")
    return name, names.count(name)


def _functions_used(function: func.FuncOp, graph: Graph) -> list[func.FuncOp]:
    """The private functions that operations name, in the order in which they were made."""
    used: set[str] = set()
    rest = [function]
    while rest:
        names = {name for op in rest.pop().walk() for name in functions_named_by(op)}
        new = [name for name in graph.functions if name in names - used]
        used.update(new)
        rest += [graph.functions[name] for name in new]
    return [op for name, op in graph.functions.items() if name in used]


class _Base:
    """An array of the program's own that is a result as a whole, and how it is made, once that is known."""

    def __init__(self, array: Array):
        self.array = array
        self.leaf: Leaf | None = None


def _is_own(buffer: Buffer) -> bool:
    """Whether the program made the memory of a buffer, on every path."""
    return buffer.argument is None and buffer.derived is None and not buffer.aliases


def _may_be_older(source: Array, buffer: Buffer) -> bool:
    """Whether a reshaped array may be a copy that NumPy made before what it was made of was written."""
    assert buffer.origin is not None
    if buffer.through is not None:
        return False
    origin, age = buffer.origin
    is_view = source.whole and source.buffer.dense and source.buffer.order is None
    return origin.age != age and not is_view


_RUNTIME_NAMES = frozenset({
    "aligned_alloc", "realloc", "free", "memmove",
    "sin", "cos", "tan", "asin", "acos", "atan", "atan2", "sinh", "cosh", "asinh", "acosh", "atanh",
    "cbrt", "erf", "pow", "fma", "fmod",
})  # fmt: skip
"""What compiled code or LLVM may call; of the functions for doubles, those for singles too."""


def _symbol(name: str) -> str:
    """The symbol of the function: a name of the C library would be that function to everything below."""
    name = ir_name(name)
    taken = not {name, name.removesuffix("f")}.isdisjoint(_RUNTIME_NAMES)
    return f"{name}_" if taken else name


def _unbound() -> SSAValue:
    raise AssertionError("an extent without an array")


def _dims_attribute(extents: Extents) -> dict[str, Attribute]:
    """`nt.dims`, when some extent is unknown."""
    if all(e.known is not None for e in extents):
        return {}
    entries: list[Attribute] = []
    for extent in extents:
        known = extent.known
        atom = extent.terms[0][0].root() if extent.terms else None
        plain = (
            atom is not None and len(extent.terms) == 1 and extent.terms[0][1] == 1 and not extent.constant
        )
        if known is not None:
            entries.append(IntegerAttr(known, i64))
        elif plain and atom is not None and atom.dim is not None:
            entries.append(StringAttr(atom.dim))
        else:
            entries.append(StringAttr(str(_linear(extent))))
    return {NT_DIMS: ArrayAttr(entries)}


def _is_linear(affine: Affine) -> bool:
    """Whether the dispatcher can compute it from the call."""
    return all(a.key is not None or a.dim is not None or a.argument is not None for a in affine.atoms())


def _linear(affine: Affine, told: Mapping[Atom, str] = MappingProxyType({})) -> Linear:
    """What the dispatcher computes from the call, and from integers of the run with the names in `told`."""
    terms: list[tuple[Any, int]] = []
    for atom, coefficient in affine.terms:
        atom = atom.root()
        if atom.key is not None:
            kind, numerator, divisor = atom.key
            terms.append((Quotient(_linear(numerator, told), divisor, kind.name == "Mod"), coefficient))
        elif atom.dim is not None:
            terms.append((atom.dim, coefficient))
        elif atom.argument is not None:
            terms.append((atom.argument, coefficient))
        elif atom in told:
            terms.append((told[atom], coefficient))
        else:
            raise UnsupportedError(
                "a result whose extent is known only while the kernel runs is not supported",
                hint="slice with bounds that are extents or constants",
            )
    return Linear(affine.constant, tuple(terms))


__all__ = ["WEAK_DTYPES", "Leaf", "Linear", "OutputType", "Program", "lower", "scalar_arguments"]

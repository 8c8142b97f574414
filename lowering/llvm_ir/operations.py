"""LLVM IR text of each operation of the `llvm` dialect: one speller per kind of instruction, one table."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from xdsl.dialects import llvm
from xdsl.dialects.builtin import DenseArrayBase, IntegerAttr
from xdsl.ir import Operation, SSAValue

from ...dialects.attributes import BRANCH_COUNTS, BRANCH_WEIGHTS
from ...dialects.diagnostic import LoweringError, fail
from ...dialects.ext import llvm as ext
from ...dialects.ext import llvm_intrinsics as intr
from .values import intrinsic_suffix, symbol_text, type_text

if TYPE_CHECKING:
    from .emit import FunctionEmitter

Speller = Callable[["FunctionEmitter", Any, list[str]], str]

_FASTMATH_ORDER = ("reassoc", "nnan", "ninf", "nsz", "arcp", "contract", "afn")
_fastmath_cache: dict[Any, str] = {}


def fastmath_text(op: Any) -> str:
    """`nnan nsz ` (with the trailing blank), empty for IEEE."""
    flags = op.properties.get("fastmathFlags")
    if flags is None:
        return ""
    text = _fastmath_cache.get(flags)
    if text is None:
        words = {str(flag) for flag in flags.data}
        every = len(words) == len(_FASTMATH_ORDER)
        text = "fast " if every else "".join(f"{word} " for word in _FASTMATH_ORDER if word in words)
        _fastmath_cache[flags] = text
    return text


def _binary(mnemonic: str) -> Speller:
    def spell(f: FunctionEmitter, op: Any, lines: list[str]) -> str:
        return f"{mnemonic} {type_text(op.lhs.type)} {f.names[op.lhs]}, {f.names[op.rhs]}"

    return spell


def _wrapping(mnemonic: str) -> Speller:
    suffixes = {0: "", 1: " nsw", 2: " nuw", 3: " nuw nsw"}

    def spell(f: FunctionEmitter, op: Any, lines: list[str]) -> str:
        flags = suffixes[op.overflowFlags.value.data] if op.overflowFlags else ""
        return f"{mnemonic}{flags} {type_text(op.lhs.type)} {f.names[op.lhs]}, {f.names[op.rhs]}"

    return spell


def _exact(mnemonic: str) -> Speller:
    def spell(f: FunctionEmitter, op: Any, lines: list[str]) -> str:
        flag = " exact" if op.is_exact else ""
        return f"{mnemonic}{flag} {type_text(op.lhs.type)} {f.names[op.lhs]}, {f.names[op.rhs]}"

    return spell


def _disjoint(f: FunctionEmitter, op: Any, lines: list[str]) -> str:
    flag = " disjoint" if op.is_disjoint else ""
    return f"or{flag} {type_text(op.lhs.type)} {f.names[op.lhs]}, {f.names[op.rhs]}"


def _float_binary(mnemonic: str) -> Speller:
    def spell(f: FunctionEmitter, op: Any, lines: list[str]) -> str:
        return f"{mnemonic} {fastmath_text(op)}{type_text(op.lhs.type)} {f.names[op.lhs]}, {f.names[op.rhs]}"

    return spell


def _cast(mnemonic: str) -> Speller:
    def spell(f: FunctionEmitter, op: Operation, lines: list[str]) -> str:
        return f"{mnemonic} {f.typed(op.operands[0])} to {type_text(op.results[0].type)}"

    return spell


def _trunc(f: FunctionEmitter, op: llvm.TruncOp, lines: list[str]) -> str:
    flags = op.overflowFlags.data if op.overflowFlags else ()
    words = "".join(f" {flag.value}" for flag in flags)
    return f"trunc{words} {f.typed(op.arg)} to {type_text(op.res.type)}"


def _zext(f: FunctionEmitter, op: llvm.ZExtOp, lines: list[str]) -> str:
    return f"zext{' nneg' if op.non_neg else ''} {f.typed(op.arg)} to {type_text(op.res.type)}"


def _fneg(f: FunctionEmitter, op: llvm.FNegOp, lines: list[str]) -> str:
    return f"fneg {fastmath_text(op)}{f.typed(op.arg)}"


def _icmp(f: FunctionEmitter, op: llvm.ICmpOp, lines: list[str]) -> str:
    predicate = llvm.ICmpPredicateFlag.from_int(op.predicate.value.data).value
    return f"icmp {predicate} {f.typed(op.lhs)}, {f.names[op.rhs]}"


def _fcmp(f: FunctionEmitter, op: ext.FCmpOp, lines: list[str]) -> str:
    predicate = llvm.FCmpPredicateFlag.from_int(op.predicate.value.data).value.lstrip("_")
    return f"fcmp {fastmath_text(op)}{predicate} {f.typed(op.lhs)}, {f.names[op.rhs]}"


def _select(f: FunctionEmitter, op: ext.SelectOp, lines: list[str]) -> str:
    return f"select {fastmath_text(op)}{f.typed(op.cond)}, {f.typed(op.lhs)}, {f.typed(op.rhs)}"


# --- memory ----------------------------------------------------------------------------------------------


def _gep(f: FunctionEmitter, op: llvm.GEPOp, lines: list[str]) -> str:
    flags = op.noWrapFlags.value.data | (3 if op.inbounds else 0)
    words = " inbounds" if flags & 1 else " nusw" if flags & 2 else ""
    words += " nuw" if flags & 4 else ""
    dynamic = iter(op.ssa_indices)
    indices = [
        f.typed(next(dynamic)) if index == llvm.GEP_USE_SSA_VAL else f"i32 {index}"
        for index in op.rawConstantIndices.iter_values()
    ]
    return f"getelementptr{words} {type_text(op.elem_type)}, {f.typed(op.ptr)}, {', '.join(indices)}"


def _alignment(op: Any) -> str:
    return f", align {op.alignment.value.data}" if op.alignment else ""


def _refuse_atomic(op: Any) -> None:
    if op.ordering is not None and op.ordering.value.data:
        raise fail(op, "atomic loads and stores have no LLVM IR spelling here", error=LoweringError)


def _load(f: FunctionEmitter, op: llvm.LoadOp, lines: list[str]) -> str:
    _refuse_atomic(op)
    return f"load {type_text(op.dereferenced_value.type)}, {f.typed(op.ptr)}{_alignment(op)}"


def _store(f: FunctionEmitter, op: llvm.StoreOp, lines: list[str]) -> str:
    _refuse_atomic(op)
    volatile = " volatile" if op.volatile_ else ""
    streaming = f", !nontemporal {f.module.metadata_node('!{i32 1}')}" if op.nontemporal else ""
    return f"store{volatile} {f.typed(op.value)}, {f.typed(op.ptr)}{_alignment(op)}{streaming}"


def _atomic_update(f: FunctionEmitter, op: ext.AtomicRMWOp, lines: list[str]) -> str:
    update, ordering = op.words
    return f"atomicrmw {update} {f.typed(op.ptr)}, {f.typed(op.val)} {ordering}"


def _alloca(f: FunctionEmitter, op: llvm.AllocaOp, lines: list[str]) -> str:
    return f"alloca {type_text(op.elem_type)}, {f.typed(op.size)}{_alignment(op)}"


def _masked_load(f: FunctionEmitter, op: intr.MaskedLoadOp, lines: list[str]) -> str:
    if op.pass_thru is None:
        raise fail(op, "a masked load needs a pass-through value", error=LoweringError)
    vector = type_text(op.res.type)
    mask = type_text(op.mask.type)
    name = f"llvm.masked.load.{intrinsic_suffix(op.res.type)}.p0"
    f.module.declare(name, f"declare {vector} @{name}(ptr, {mask}, {vector})")
    pointer = f"ptr align {op.alignment.value.data} {f.names[op.data]}"
    return f"call {vector} @{name}({pointer}, {f.typed(op.mask)}, {f.typed(op.pass_thru)})"


def _masked_store(f: FunctionEmitter, op: intr.MaskedStoreOp, lines: list[str]) -> str:
    name = f"llvm.masked.store.{intrinsic_suffix(op.value.type)}.p0"
    f.module.declare(
        name, f"declare void @{name}({type_text(op.value.type)}, ptr, {type_text(op.mask.type)})"
    )
    pointer = f"ptr align {op.alignment.value.data} {f.names[op.data]}"
    return f"call void @{name}({f.typed(op.value)}, {pointer}, {f.typed(op.mask)})"


def _masked_gather(f: FunctionEmitter, op: intr.MaskedGatherOp, lines: list[str]) -> str:
    vector, pointers, mask = (type_text(v.type) for v in (op.res, op.ptrs, op.mask))
    name = f"llvm.masked.gather.{intrinsic_suffix(op.res.type)}.{intrinsic_suffix(op.ptrs.type)}"
    f.module.declare(name, f"declare {vector} @{name}({pointers}, {mask}, {vector})")
    addresses = f"{pointers} align {op.alignment.value.data} {f.names[op.ptrs]}"
    return f"call {vector} @{name}({addresses}, {f.typed(op.mask)}, {f.typed(op.pass_thru)})"


def _masked_scatter(f: FunctionEmitter, op: intr.MaskedScatterOp, lines: list[str]) -> str:
    vector, pointers, mask = (type_text(v.type) for v in (op.value, op.ptrs, op.mask))
    name = f"llvm.masked.scatter.{intrinsic_suffix(op.value.type)}.{intrinsic_suffix(op.ptrs.type)}"
    f.module.declare(name, f"declare void @{name}({vector}, {pointers}, {mask})")
    addresses = f"{pointers} align {op.alignment.value.data} {f.names[op.ptrs]}"
    return f"call void @{name}({f.typed(op.value)}, {addresses}, {f.typed(op.mask)})"


def _prefetch(f: FunctionEmitter, op: intr.PrefetchOp, lines: list[str]) -> str:
    f.module.declare("llvm.prefetch.p0", "declare void @llvm.prefetch.p0(ptr, i32, i32, i32)")
    numbers = ", ".join(f"i32 {n.value.data}" for n in (op.rw, op.hint, op.cache))
    return f"call void @llvm.prefetch.p0({f.typed(op.addr)}, {numbers})"


# --- vectors ---------------------------------------------------------------------------------------------


def _extract_element(f: FunctionEmitter, op: ext.ExtractElementOp, lines: list[str]) -> str:
    return f"extractelement {f.typed(op.vector)}, {f.typed(op.position)}"


def _insert_element(f: FunctionEmitter, op: llvm.InsertElementOp, lines: list[str]) -> str:
    return f"insertelement {f.typed(op.vector)}, {f.typed(op.value)}, {f.typed(op.index)}"


def _shuffle(f: FunctionEmitter, op: llvm.ShuffleVectorOp, lines: list[str]) -> str:
    indices = tuple(op.mask.iter_values())
    if any(indices):
        mask = "<" + ", ".join("i32 poison" if k < 0 else f"i32 {k}" for k in indices) + ">"
    else:
        mask = "zeroinitializer"
    return f"shufflevector {f.typed(op.v1)}, {f.typed(op.v2)}, <{len(indices)} x i32> {mask}"


# --- calls and intrinsics --------------------------------------------------------------------------------


def _call(f: FunctionEmitter, op: llvm.CallOp, lines: list[str]) -> str:
    if op.callee is None:
        raise fail(op, "an indirect call has no LLVM IR spelling here", error=LoweringError)
    result = type_text(op.results[0].type) if op.results else "void"
    arguments = ", ".join(map(f.typed, op.args))
    return f"call {fastmath_text(op)}{result} {symbol_text(op.callee.string_value())}({arguments})"


def _call_intrinsic(f: FunctionEmitter, op: llvm.CallIntrinsicOp, lines: list[str]) -> str:
    result, name = type_text(op.ress.type) if op.ress is not None else "void", op.intrin.data
    f.module.declare(
        name, f"declare {result} {symbol_text(name)}({', '.join(type_text(v.type) for v in op.args)})"
    )
    return f"call {fastmath_text(op)}{result} {symbol_text(name)}({', '.join(map(f.typed, op.args))})"


def _intrinsic(name: str, overload: int | None = None, flag: str | None = None) -> Speller:
    """An intrinsic overloaded on its result type, or on the operand numbered `overload`."""

    def spell(f: FunctionEmitter, op: Operation, lines: list[str]) -> str:
        result = op.results[0].type
        key = result if overload is None else op.operands[overload].type
        full = f"llvm.{name}.{intrinsic_suffix(key)}"
        types = [type_text(v.type) for v in op.operands]
        arguments = [f.typed(v) for v in op.operands]
        if flag is not None:
            types.append("i1")
            arguments.append("i1 true" if op.properties[flag].value.data else "i1 false")  # type: ignore[attr-defined]
        f.module.declare(full, f"declare {type_text(result)} @{full}({', '.join(types)})")
        return f"call {fastmath_text(op)}{type_text(result)} @{full}({', '.join(arguments)})"

    return spell


# --- control flow ----------------------------------------------------------------------------------------


def _br(f: FunctionEmitter, op: llvm.BrOp, lines: list[str]) -> str:
    source = _block_of(op)
    return f"br {f.branch(source, op.successor, _edge(f, op.arguments))}{f.loop_metadata(op)}"


def _cond_br(f: FunctionEmitter, op: llvm.CondBrOp, lines: list[str]) -> str:
    source = _block_of(op)
    if op.then_block is op.else_block:
        merged = [
            _merge(f, op, pair, lines) for pair in zip(op.then_arguments, op.else_arguments, strict=True)
        ]
        return f"br {f.branch(source, op.then_block, merged)}{f.loop_metadata(op)}"
    _count(f, op, lines)
    taken = f.branch(source, op.then_block, _edge(f, op.then_arguments))
    other = f.branch(source, op.else_block, _edge(f, op.else_arguments))
    return f"br i1 {f.names[op.cond]}, {taken}, {other}{_weights(f, op)}{f.loop_metadata(op)}"


def _count(f: FunctionEmitter, op: llvm.CondBrOp, lines: list[str]) -> None:
    """Count which way a branch goes. Threads may lose a count: it is about how often."""
    address = op.attributes.get(BRANCH_COUNTS)
    if not isinstance(address, IntegerAttr):
        return
    way, place, count, more = (f.fresh(stem) for stem in ("way", "place", "count", "more"))
    base = f"ptr inttoptr (i64 {address.value.data} to ptr)"
    lines.append(f"{way} = zext i1 {f.names[op.cond]} to i64")
    lines.append(f"{place} = getelementptr i64, {base}, i64 {way}")
    lines.append(f"{count} = load i64, ptr {place}")
    lines.append(f"{more} = add i64 {count}, 1")
    lines.append(f"store i64 {more}, ptr {place}")


def _weights(f: FunctionEmitter, op: llvm.CondBrOp) -> str:
    weights = op.attributes.get(BRANCH_WEIGHTS)
    if not isinstance(weights, DenseArrayBase):
        return ""
    numbers = ", ".join([f"i32 {n}" for n in weights.get_values()])
    node = f.module.metadata_node(f'!{{!"branch_weights", {numbers}}}')
    return f", !prof {node}"


def _merge(f: FunctionEmitter, op: llvm.CondBrOp, pair: tuple[SSAValue, SSAValue], lines: list[str]) -> str:
    """A phi may not list one predecessor with two values: with both edges to one block, select first."""
    taken, other = pair
    if taken is other:
        return f.names[taken]
    name = f.fresh("sel")
    lines.append(f"{name} = select i1 {f.names[op.cond]}, {f.typed(taken)}, {f.typed(other)}")
    return name


def _edge(f: FunctionEmitter, values: Any) -> list[str]:
    return [f.names[value] for value in values]


def _block_of(op: Operation) -> Any:
    return op.parent_block()


def _return(f: FunctionEmitter, op: llvm.ReturnOp, lines: list[str]) -> str:
    return f"ret {f.typed(op.arg)}" if op.arg is not None else "ret void"


def _extract_value(f: FunctionEmitter, op: llvm.ExtractValueOp, lines: list[str]) -> str:
    return f"extractvalue {f.typed(op.container)}, " + ", ".join(map(str, op.position.iter_values()))


INSTRUCTIONS: dict[str, Speller] = {
    "llvm.add": _wrapping("add"),
    "llvm.sub": _wrapping("sub"),
    "llvm.mul": _wrapping("mul"),
    "llvm.shl": _wrapping("shl"),
    "llvm.udiv": _exact("udiv"),
    "llvm.sdiv": _exact("sdiv"),
    "llvm.lshr": _exact("lshr"),
    "llvm.ashr": _exact("ashr"),
    "llvm.urem": _binary("urem"),
    "llvm.srem": _binary("srem"),
    "llvm.and": _binary("and"),
    "llvm.or": _disjoint,
    "llvm.xor": _binary("xor"),
    "llvm.icmp": _icmp,
    "llvm.trunc": _trunc,
    "llvm.zext": _zext,
    "llvm.sext": _cast("sext"),
    "llvm.fadd": _float_binary("fadd"),
    "llvm.fsub": _float_binary("fsub"),
    "llvm.fmul": _float_binary("fmul"),
    "llvm.fdiv": _float_binary("fdiv"),
    "llvm.frem": _float_binary("frem"),
    "llvm.fneg": _fneg,
    "llvm.bitcast": _cast("bitcast"),
    "llvm.sitofp": _cast("sitofp"),
    "llvm.fpext": _cast("fpext"),
    "llvm.fptrunc": _cast("fptrunc"),
    "llvm.ptrtoint": _cast("ptrtoint"),
    "llvm.inttoptr": _cast("inttoptr"),
    "llvm.getelementptr": _gep,
    "llvm.load": _load,
    "llvm.store": _store,
    "llvm.alloca": _alloca,
    "llvm.insertelement": _insert_element,
    "llvm.shufflevector": _shuffle,
    "llvm.extractvalue": _extract_value,
    "llvm.call": _call,
    "llvm.call_intrinsic": _call_intrinsic,
    "llvm.br": _br,
    "llvm.cond_br": _cond_br,
    "llvm.return": _return,
    "llvm.unreachable": lambda f, op, lines: "unreachable",
    "llvm.intr.fabs": _intrinsic("fabs"),
    "llvm.intr.sqrt": _intrinsic("sqrt"),
    "llvm.intr.ceil": _intrinsic("ceil"),
    "llvm.intr.floor": _intrinsic("floor"),
    "llvm.intr.copysign": _intrinsic("copysign"),
    "llvm.intr.fma": _intrinsic("fma"),
    "llvm.intr.maxnum": _intrinsic("maxnum"),
    "llvm.intr.minnum": _intrinsic("minnum"),
    "llvm.intr.vector.reduce.fadd": _intrinsic("vector.reduce.fadd", overload=1),
    "llvm.intr.vector.reduce.fmul": _intrinsic("vector.reduce.fmul", overload=1),
    "llvm.freeze": lambda f, op, lines: f"freeze {f.typed(op.val)}",
    "llvm.fptosi": _cast("fptosi"),
    "llvm.fptoui": _cast("fptoui"),
    "llvm.uitofp": _cast("uitofp"),
    "llvm.fcmp": _fcmp,
    "llvm.select": _select,
    "llvm.extractelement": _extract_element,
    "llvm.atomicrmw": _atomic_update,
    "llvm.intr.masked.load": _masked_load,
    "llvm.intr.masked.store": _masked_store,
    "llvm.intr.masked.gather": _masked_gather,
    "llvm.intr.masked.scatter": _masked_scatter,
    "llvm.intr.prefetch": _prefetch,
    "llvm.intr.maximum": _intrinsic("maximum"),
    "llvm.intr.minimum": _intrinsic("minimum"),
    "llvm.intr.round": _intrinsic("round"),
    "llvm.intr.roundeven": _intrinsic("roundeven"),
    "llvm.intr.trunc": _intrinsic("trunc"),
    "llvm.intr.smax": _intrinsic("smax"),
    "llvm.intr.smin": _intrinsic("smin"),
    "llvm.intr.umax": _intrinsic("umax"),
    "llvm.intr.umin": _intrinsic("umin"),
    "llvm.intr.abs": _intrinsic("abs", flag="is_int_min_poison"),
    "llvm.intr.ctlz": _intrinsic("ctlz", flag="is_zero_poison"),
    "llvm.intr.cttz": _intrinsic("cttz", flag="is_zero_poison"),
    "llvm.intr.ctpop": _intrinsic("ctpop"),
    "llvm.intr.vector.reduce.fmaximum": _intrinsic("vector.reduce.fmaximum", overload=0),
    "llvm.intr.vector.reduce.fminimum": _intrinsic("vector.reduce.fminimum", overload=0),
    "llvm.intr.vector.reduce.fmax": _intrinsic("vector.reduce.fmax", overload=0),
    "llvm.intr.vector.reduce.fmin": _intrinsic("vector.reduce.fmin", overload=0),
    "llvm.intr.vector.reduce.add": _intrinsic("vector.reduce.add", overload=0),
    "llvm.intr.vector.reduce.mul": _intrinsic("vector.reduce.mul", overload=0),
    "llvm.intr.vector.reduce.and": _intrinsic("vector.reduce.and", overload=0),
    "llvm.intr.vector.reduce.or": _intrinsic("vector.reduce.or", overload=0),
    "llvm.intr.vector.reduce.xor": _intrinsic("vector.reduce.xor", overload=0),
    "llvm.intr.vector.reduce.smax": _intrinsic("vector.reduce.smax", overload=0),
    "llvm.intr.vector.reduce.smin": _intrinsic("vector.reduce.smin", overload=0),
    "llvm.intr.vector.reduce.umax": _intrinsic("vector.reduce.umax", overload=0),
    "llvm.intr.vector.reduce.umin": _intrinsic("vector.reduce.umin", overload=0),
}
"""How every operation of the llvm dialect that Nestor makes is spelled."""

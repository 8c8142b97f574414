"""The LLVM IR emitter: a module of the `llvm` dialect -> LLVM IR text.

    llvm.func @axpy(%x: !llvm.ptr {llvm.noalias}, %a: f32) -> i32 attributes {no_unwind} {
      %v = llvm.load %x {alignment = 4 : i64} : !llvm.ptr -> f32
      ...

    define i32 @axpy(ptr noalias %x, float %a) #0 {
    entry:
      %v = load float, ptr %x, align 4
      ...

Constants are printed where they are used, block arguments become phis, values keep the names of the
Python variables they compute. The text is complete: intrinsics are declared, attribute groups and
metadata follow. It needs no llvmlite.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from xdsl.dialects import llvm
from xdsl.dialects.builtin import (
    ArrayAttr,
    DictionaryAttr,
    IntegerAttr,
    ModuleOp,
    StringAttr,
)
from xdsl.ir import Attribute, Block, Operation, SSAValue

from ...dialects.diagnostic import LoweringError, fail, op_location
from ...dialects.ext.llvm import LoopAnnotationAttr
from .operations import INSTRUCTIONS
from .values import constant_text, symbol_text, type_text


def emit_llvm_ir(module: ModuleOp, *, locations: bool = False) -> str:
    """The LLVM IR text of a module of the `llvm` dialect; `locations` adds source places as comments.

    Raises `LoweringError` at the first operation that is not of the llvm dialect.
    """
    return ModuleEmitter(locations).emit(module)


_BAD_NAME = re.compile(r"[^A-Za-z0-9_.$-]")
_PARAMETER_FLAGS = {
    "llvm.noalias": "noalias",
    "llvm.readonly": "readonly",
    "llvm.writeonly": "writeonly",
    "llvm.readnone": "readnone",
    "llvm.nonnull": "nonnull",
    "llvm.noundef": "noundef",
    "llvm.nocapture": "captures(none)",
    "llvm.signext": "signext",
    "llvm.zeroext": "zeroext",
}
_PARAMETER_INTEGERS = {
    "llvm.dereferenceable": "dereferenceable({})",
    "llvm.align": "align {}",
}
_MEMORY_EFFECTS = {"0": "memory(none)"}
_INTEGER_VALUED = frozenset(("memory",))


class ModuleEmitter:
    """What is shared by the functions of a module: declarations, attribute groups, metadata."""

    def __init__(self, locations: bool):
        self.locations = locations
        self.declarations: dict[str, str] = {}
        self.defined: set[str] = set()
        self.attribute_groups: dict[str, int] = {}
        self.metadata: list[str] = []
        self.metadata_ids: dict[str, int] = {}

    def emit(self, module: ModuleOp) -> str:
        functions = []
        for op in module.body.block.ops:
            if type(op) is not llvm.FuncOp:
                raise fail(
                    op,
                    f"{op.name} is not of the llvm dialect",
                    hint="run -p convert-to-llvm (or the whole pipeline, -p cpu) before emitting LLVM IR",
                    error=LoweringError,
                )
            functions.append(self.function(op))
        declarations = [text for name, text in self.declarations.items() if name not in self.defined]
        groups = [f"attributes #{k} = {{ {text} }}" for text, k in self.attribute_groups.items()]
        metadata = [f"!{k} = {text}" for k, text in enumerate(self.metadata)]
        sections = ["\n\n".join(functions), "\n".join(declarations), "\n".join(groups), "\n".join(metadata)]
        return "\n\n".join(section for section in sections if section) + "\n"

    def function(self, op: llvm.FuncOp) -> str:
        name = op.sym_name.data
        self.defined.add(name)
        group = self.attribute_group(op)
        result = type_text(op.function_type.output)
        if op.res_attrs and op.res_attrs.data:
            result = f"{_parameter_attributes(op, op.res_attrs.data[0]).strip()} {result}".strip()
        linkage = op.linkage.linkage.data
        prefix = "" if linkage == "external" else linkage + " "
        parameter_attributes = op.arg_attrs.data if op.arg_attrs else ()
        parameters = []
        for k, type in enumerate(op.function_type.inputs):
            extra = _parameter_attributes(op, parameter_attributes[k]) if parameter_attributes else ""
            parameters.append(type_text(type) + extra)
        if not op.body.blocks:
            return f"declare {prefix}{result} {symbol_text(name)}({', '.join(parameters)}){group}"
        body = FunctionEmitter(self, op)
        header = ", ".join(
            f"{text} {body.names[arg]}" for text, arg in zip(parameters, op.body.blocks[0].args, strict=True)
        )
        return f"define {prefix}{result} {symbol_text(name)}({header}){group} {{\n{body.emit()}\n}}"

    def attribute_group(self, op: llvm.FuncOp) -> str:
        words = []
        flags = {**op.attributes, **op.properties}
        if "no_unwind" in flags:
            words.append("nounwind")
        if "no_inline" in flags:
            words.append("noinline")
        passthrough = flags.get("passthrough")
        words += [_function_attribute(entry) for entry in passthrough] if passthrough else []  # type: ignore[union-attr]
        if not words:
            return ""
        text = " ".join(words)
        return f" #{self.attribute_groups.setdefault(text, len(self.attribute_groups))}"

    def declare(self, name: str, text: str) -> None:
        self.declarations.setdefault(name, text)

    def metadata_node(self, text: str) -> str:
        """The reference `!k` of a uniqued metadata node."""
        if text not in self.metadata_ids:
            self.metadata_ids[text] = len(self.metadata)
            self.metadata.append(text)
        return f"!{self.metadata_ids[text]}"

    def loop_node(self, annotation: LoopAnnotationAttr) -> str:
        """The reference of a fresh loop id, distinct from that of every other loop."""
        properties = []
        if annotation.no_vectorize.value.data:
            properties.append(self.metadata_node('!{!"llvm.loop.vectorize.enable", i1 false}'))
        if annotation.no_unroll.value.data:
            properties.append(self.metadata_node('!{!"llvm.loop.unroll.disable"}'))
        own = f"!{len(self.metadata)}"
        self.metadata.append(f"distinct !{{{', '.join([own, *properties])}}}")
        return own


def _parameter_attributes(op: Operation, attributes: DictionaryAttr) -> str:
    words = []
    for key, value in attributes.data.items():
        if key in _PARAMETER_FLAGS:
            words.append(_PARAMETER_FLAGS[key])
        elif key in _PARAMETER_INTEGERS and isinstance(value, IntegerAttr):
            words.append(_PARAMETER_INTEGERS[key].format(value.value.data))
        elif key.startswith("llvm."):
            raise fail(op, f"parameter attribute {key} has no LLVM IR spelling", error=LoweringError)
    return "".join(" " + word for word in words)


def _function_attribute(entry: Attribute) -> str:
    if isinstance(entry, StringAttr):
        return entry.data
    assert isinstance(entry, ArrayAttr)
    key, value = (part.data for part in entry.data)
    return _MEMORY_EFFECTS[value] if key in _INTEGER_VALUED else f'"{key}"="{value}"'


class FunctionEmitter:
    """One function: names first (phis refer forward), then the text block by block."""

    def __init__(self, module: ModuleEmitter, op: llvm.FuncOp):
        self.module = module
        self.op = op
        self.names: dict[SSAValue, str] = {}
        self.labels: dict[Block, str] = {}
        self.incoming: dict[Block, list[tuple[str, Sequence[str]]]] = {}
        self._taken: set[str] = set()
        self._counts: dict[str, int] = {}
        """Of names that several values want, the last number that was given."""
        self._unnamed = 0
        self._name_everything()

    def _name_everything(self) -> None:
        for k, block in enumerate(self.op.body.blocks):
            self.labels[block] = f"bb{k}" if k else "entry"
            self._taken.add(self.labels[block])
        for block in self.op.body.blocks:
            for arg in block.args:
                self._name(arg)
            for op in block.ops:
                if op.name in _INLINE:
                    self.names[op.results[0]] = _INLINE[op.name](op)
                elif op.results:
                    self._name(op.results[0])

    def _name(self, value: SSAValue) -> None:
        hint = value.name_hint
        if hint is None:
            self.names[value] = f"%{self._unnamed}"
            self._unnamed += 1
            return
        name = stem = _BAD_NAME.sub("_", hint)
        count = self._counts.get(stem, 0)
        while name in self._taken:
            count += 1
            name = f"{stem}.{count}"
        self._counts[stem] = count
        self._taken.add(name)
        self.names[value] = "%" + name

    def fresh(self, stem: str) -> str:
        """A name for a value that the dialect has no operation for."""
        count = 0
        while f"{stem}.{count}" in self._taken:
            count += 1
        self._taken.add(f"{stem}.{count}")
        return f"%{stem}.{count}"

    def typed(self, value: SSAValue) -> str:
        """`float %x`."""
        return f"{type_text(value.type)} {self.names[value]}"

    def branch(self, source: Block, target: Block, arguments: Sequence[str]) -> str:
        """`label %bb3`, noting what the edge passes on."""
        self.incoming.setdefault(target, []).append((self.labels[source], arguments))
        return f"label %{self.labels[target]}"

    def loop_metadata(self, op: Operation) -> str:
        annotation = op.attributes.get("loop_annotation") or op.properties.get("loop_annotation")
        return f", !llvm.loop {self.module.loop_node(annotation)}" if annotation else ""  # type: ignore[arg-type]

    def emit(self) -> str:
        bodies: list[tuple[Block, list[str]]] = []
        for block in self.op.body.blocks:
            lines: list[str] = []
            for op in block.ops:
                self._instruction(op, lines)
            bodies.append((block, lines))
        # Edges are known once every terminator is printed: phis come last, at the top of their block.
        parts = []
        for block, lines in bodies:
            phis = self._phis(block) if block in self.incoming else []
            parts.append("\n  ".join([self.labels[block] + ":", *phis, *lines]))
        return "\n\n".join(parts)

    def _instruction(self, op: Operation, lines: list[str]) -> None:
        if op.name in _INLINE:
            return
        spell = INSTRUCTIONS.get(op.name)
        if spell is None:
            raise fail(op, f"{op.name} has no LLVM IR spelling", error=LoweringError)
        text = spell(self, op, lines)
        if op.results:
            text = f"{self.names[op.results[0]]} = {text}"
        if self.module.locations and (place := op_location(op)):
            text = f"{text} ; {place}"
        lines.append(text)

    def _phis(self, block: Block) -> list[str]:
        edges = self.incoming[block]
        return [
            f"{self.names[arg]} = phi {type_text(arg.type)} "
            + ", ".join(f"[ {arguments[k]}, %{label} ]" for label, arguments in edges)
            for k, arg in enumerate(block.args)
        ]


def _inline_constant(op: Operation) -> str:
    assert isinstance(op, llvm.ConstantOp)
    return constant_text(op.value, op.result.type)


def _inline_zero(op: Operation) -> str:
    return "null" if isinstance(op.results[0].type, llvm.LLVMPointerType) else "zeroinitializer"


def _inline_address(op: Operation) -> str:
    assert isinstance(op, llvm.AddressOfOp)
    return symbol_text(op.global_name.string_value())


_INLINE = {
    "llvm.mlir.constant": _inline_constant,
    "llvm.mlir.zero": _inline_zero,
    "llvm.mlir.addressof": _inline_address,
    "llvm.mlir.undef": lambda op: "undef",
    "llvm.mlir.poison": lambda op: "poison",
}
"""Operations that LLVM IR spells at their uses."""

__all__ = ["FunctionEmitter", "emit_llvm_ir"]

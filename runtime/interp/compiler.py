"""The compiler of the reference interpreter: a block of nest operations as the source of a Python function.

`run.py` runs what it writes. In a kernel each value is a variable; an access follows a line that traps where it is
out of bounds, and in adversarial mode where it reads what was never written: `b1_w` tells of the buffer `b1`
which elements are.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from xdsl.dialects import arith, cf, func, memref, scf
from xdsl.dialects.builtin import IndexType, MemRefType, ModuleOp
from xdsl.ir import Block, Operation, SSAValue

from ...analysis.nest.check_sites import checked_index, raises
from ...analysis.nest.sets.domains import DIVISIONS, domain_of
from ...dialects.affine import AffineList
from ...dialects.attributes import CUSTOM_CALL, KIND, SITE
from ...dialects.diagnostic import LoweringError, fail
from ...dialects.nest import (
    AccumulateOp,
    AllocOp,
    BarrierOp,
    ForOp,
    IfOp,
    IndexOp,
    LoadOp,
    LookupOp,
    PrefetchOp,
    StoreOp,
    YieldOp,
)
from ...lowering.abi.error_codes import CALL_ERROR, ERROR_CODES, INDEX_ERROR, RAISED
from ...lowering.abi.handed_over import HAND_OVER
from .. import custom_calls, handed_over, printing, scalar_eval
from ..errors import KernelError
from .source import Source

_COMBINE = {
    "add": "({0} + {1})",
    "mul": "({0} * {1})",
    "maximum": "larger({0}, {1})",
    "minimum": "smaller({0}, {1})",
    "maxsi": "({0} if {0} > {1} else {1})",
    "minsi": "({0} if {0} < {1} else {1})",
    "maxui": "({0} if {0}.view({u}) > {1}.view({u}) else {1})",
    "minui": "({0} if {0}.view({u}) < {1}.view({u}) else {1})",
    "and": "({0} & {1})",
    "or": "({0} | {1})",
    "xor": "({0} ^ {1})",
}


class Compiler(Source):
    """Writes the Python source of a block."""

    # ---- functions and blocks ----

    def function(self, block: Block, parameters: Sequence[SSAValue], unwritten: set[int]) -> str:
        names = [self.fresh("a") for _ in parameters]

        def body() -> None:
            for k, (value, name) in enumerate(zip(parameters, names, strict=True)):
                self.names[value] = name
                if isinstance(value.type, MemRefType):
                    self.bind_buffer(value, name)
                    self.shadow(value, fresh=k in unwritten and self.adversarial)
            self.block(block)

        self.nested(f"def kernel(rng, {', '.join(names)}):" if names else "def kernel(rng):", body)
        return "\n".join(self.lines) + "\n"

    def block(self, block: Block) -> None:
        for op in block.ops:
            self.operation(op)

    def operation(self, op: Operation) -> None:
        handler = _HANDLERS.get(type(op))
        if handler is not None:
            return handler(self, op)
        if len(op.results) != 1 or not op.operands or op.regions:
            raise fail(op, f"the interpreter does not know the operation '{op.name}'", error=LoweringError)
        operands = [self.names[v] for v in op.operands]
        self.define(op.results[0], scalar_eval.expression(op, operands))

    # ---- operations ----

    def constant(self, op: arith.ConstantOp) -> None:
        value = scalar_eval.constant(op)
        if isinstance(op.result.type, IndexType):
            self.names[op.result] = f"({value})"
            return
        name = self.fresh("c")
        self.namespace[name] = value
        self.names[op.result] = name

    def dim(self, op: memref.DimOp) -> None:
        self.define(op.result, f"{self.names[op.source]}.shape[{self.names[op.index]}]")

    def needed(self, op: Operation) -> str | None:
        """Whether a load or a division is needed, as an expression; None when it always is."""
        guards = self.guards.of(op)
        return None if guards is None else " or ".join(f"({self.condition(domain)})" for domain in guards)

    def division(self, op: Operation) -> None:
        operands = [self.names[v] for v in op.operands]
        quotient, needed = scalar_eval.expression(op, operands), self.needed(op)
        self.define(
            op.results[0], quotient if needed is None else f"{quotient} if {needed} else {operands[0]}"
        )

    def load(self, op: LoadOp) -> None:
        name = self.fresh()
        self.names[op.result] = name + self.lane
        needed = self.needed(op)

        def read() -> None:
            self.read(op, op.memref, op.indices, name + self.lane)

        if needed is None:
            return read()
        self.nested(f"if {needed}:", read)
        filler = self.fresh("c")
        self.namespace[filler] = scalar_eval.scalar(1, op.result.type)
        self.nested("else:", lambda: self.line(f"{name}{self.lane} = {filler}"))

    def statement(self, op: StoreOp | AccumulateOp, body: Callable[[], None]) -> None:
        domain = domain_of(op)
        if domain.is_everywhere:
            return body()
        self.nested(f"if {self.condition(domain)}:", body)

    def store(self, op: StoreOp) -> None:
        def body() -> None:
            subscript = self.checked_indices(op, self.names[op.memref], op.indices)
            self.write(op.memref, subscript, self.names[op.value])

        self.statement(op, body)

    def accumulate(self, op: AccumulateOp) -> None:
        def body() -> None:
            old = [self.fresh("o") for _ in op.memrefs]
            new = [self.names[v] for v in op.values]
            subscript = ""
            for buffer, target in zip(op.memrefs, old, strict=True):
                subscript = self.read(op, buffer, op.indices, target)
            for buffer, value in zip(op.memrefs, self.combined(op, old, new), strict=True):
                self.write(buffer, subscript, value)

        self.statement(op, body)

    def combined(self, op: AccumulateOp, old: list[str], new: list[str]) -> list[str]:
        if op.combine is None:
            name = scalar_eval.type_name(op.values[0].type)
            text = _COMBINE[op.combiner.data].format(old[0], new[0], u="u" + name[1:])
            return [f"bf16({text})" if name == "bf16" else text]
        lane, self.lane = self.lane, ""
        for arg, name in zip(op.combine.block.args, old + new, strict=True):
            self.names[arg] = name
        self.block(op.combine.block)
        self.lane = lane
        last = op.combine.block.last_op
        assert last is not None
        return [self.names[v] for v in last.operands]

    def alloc(self, op: AllocOp) -> None:
        buffer = op.memref.type
        assert isinstance(buffer, MemRefType)
        sizes = iter([self.names[v] for v in op.sizes])
        shape = [next(sizes) if extent < 0 else str(extent) for extent in buffer.get_shape()]
        fill, dtype = self.fresh("c"), self.fresh("c")
        self.namespace[fill] = scalar_eval.poison(buffer.element_type)
        self.namespace[dtype] = scalar_eval.dtype_of(buffer.element_type)
        name = self.fresh("b")
        self.names[op.memref] = name
        self.line(f"{name} = np.full(({''.join(s + ', ' for s in shape)}), {fill}, {dtype})")
        self.bind_buffer(op.memref, name)
        self.shadow(op.memref, fresh=self.adversarial)

    def call(self, op: func.CallOp) -> None:
        """The body of the function called stands here, on the arguments; a call that prints prints."""
        name = op.callee.string_value()
        if name in printing.FUNCTIONS:
            self.namespace[name] = printing.FUNCTIONS[name]
            self.line(f"{name}({', '.join(self.names[v] for v in op.arguments)})")
            return
        if raises(op):
            numbers = "".join([f"int({self.names[v]}), " for v in op.arguments])
            self.line(f"raise KernelError({RAISED}, {self.sites.get(op, -1)}, 0, 0, ({numbers}))")
            return
        if name.startswith(HAND_OVER):
            return self.hand_over(op)
        callee = _callee(op)
        if CUSTOM_CALL in callee.attributes:
            return self.call_python(op, callee)
        if callee in self.calls:
            raise fail(op, f"@{callee.sym_name.data} calls itself", error=LoweringError)
        body = callee.body.block
        for argument, value in zip(body.args, op.arguments, strict=True):
            self.names[argument] = self.names[value]
            self.inherits_shadow(argument, value)
        self.calls.append(callee)
        self.block(body)
        self.calls.pop()

    def hand_over(self, op: func.CallOp) -> None:
        """An array that the caller gets: its first elements, which must all have been written."""
        buffer, words, *extents = [self.names[v] for v in op.arguments]
        value, into = op.arguments[0], op.arguments[1]
        self.namespace["hand_over"] = handed_over.give
        shape = f"({''.join(f'int({e}), ' for e in extents)})"
        if value in self.shadowed:
            first = f"{buffer}_w.reshape(-1)[:int(np.prod({shape}))]"
            self.line(f"if not {first}.all(): trap(operations, {self.known(op)}, (), True)")
        self.line(f"hand_over({buffer}, {words}, {shape})")
        if into in self.shadowed:
            self.line(f"{words}_w[...] = True")

    def call_python(self, op: func.CallOp, callee: func.FuncOp) -> None:
        """A call of Python on the buffers as they are; the last ones are written."""
        run = self.fresh("c")
        call = custom_calls.call_of(callee)
        self.namespace[run] = call.on_arrays
        buffers = [self.names[v] for v in op.arguments]
        for value, name in zip(op.arguments, buffers, strict=True):
            if value in self.shadowed and value in list(op.arguments)[: call.inputs]:
                self.line(f"if not {name}_w.all(): trap(operations, {self.known(op)}, (), True)")
        failed = f"raise KernelError({CALL_ERROR}, {self.sites.get(op, -1)})"
        self.nested(f"if not {run}({', '.join(buffers)}):", lambda: self.line(failed))
        for value, name in zip(list(op.arguments)[call.inputs :], buffers[call.inputs :], strict=True):
            if value in self.shadowed:
                self.line(f"{name}_w[...] = True")

    def lookup(self, op: LookupOp) -> None:
        looked = self.fresh("c")
        site = self.sites.get(op, -1)

        def found(value: Any, extent: Any) -> int:
            if not -extent <= value < extent:
                raise KernelError(INDEX_ERROR, site, int(value), int(extent))
            return int(value if value >= 0 else value + extent)

        self.namespace[looked] = found
        text = f"{looked}({self.names[op.value]}, {self.names[op.extent]})"
        needed = self.needed(op)
        self.define(op.result, text if needed is None else f"{text} if {needed} else 0")

    def index(self, op: IndexOp) -> None:
        value, extent = (self.fresh("k"), self.fresh("k"))
        texts = self.affines(AffineList.from_op(op.map, op.map_operands))
        self.line(f"{value} = {texts[0]}")
        self.line(f"{extent} = {texts[1]}")
        self.nested(
            f"if not -{extent} <= {value} < {extent}:",
            lambda: self.line(
                f"raise KernelError({INDEX_ERROR}, {self.sites.get(op, -1)}, {value}, {extent})"
            ),
        )
        self.define(op.result, f"{value} if {value} >= 0 else {value} + {extent}")

    def assertion(self, op: cf.AssertOp) -> None:
        kind, site = op.attributes.get(KIND), op.attributes.get(SITE)
        code = ERROR_CODES[kind.data if kind is not None else "AssertionError"]  # pyright: ignore
        number = self.sites.get(op, -1) if site is None else site.value.data  # pyright: ignore
        details = ["0" if v is None else self.names[v] for v in checked_index(op.arg)]
        self.nested(
            f"if not {self.names[op.arg]}:",
            lambda: self.line(f"raise KernelError({code}, {number}, {', '.join(details)})"),
        )

    def branch(self, op: IfOp) -> None:
        self.nested(f"if {self.names[op.condition]}:", lambda: self.block(op.then_region.block))
        orelse = op.else_region
        if orelse is not None:
            self.nested("else:", lambda: self.block(orelse.block))

    def repeat(self, op: scf.WhileOp) -> None:
        """A `scf.while` without operands and results: what it carries is in buffers."""
        if op.arguments or op.results:
            raise fail(op, "the interpreter runs scf.while without operands and results", error=LoweringError)
        before, after = op.before_region.block, op.after_region.block
        condition = before.last_op
        assert isinstance(condition, scf.ConditionOp)

        def turn() -> None:
            self.block(before)
            self.line(f"if not {self.names[condition.operands[0]]}: break")
            self.block(after)

        self.nested("while True:", turn)

    # ---- loops ----

    def loop(self, op: ForOp) -> None:
        span = self.span(op)
        if self.adversarial and op.kind == "vectorized" and _is_simple(op):
            return self.lockstep(op, span)
        if self.adversarial and op.kind not in ("serial", "unrolled", "vectorized"):
            span = f"shuffled(rng, {span})"
        name = self.fresh("i")
        self.names[op.iv] = name
        self.nested(f"for {name} in {span}:", lambda: self.block(op.body.block))

    def span(self, op: ForOp) -> str:
        lower, upper = self.affines(op.lower), self.affines(op.upper)
        start = f"max({', '.join(lower)})" if len(lower) > 1 else lower[0]
        stop = f"min({', '.join(upper)})" if len(upper) > 1 else upper[0]
        return f"range({start}, {stop}, {op.step_value})"

    def lockstep(self, op: ForOp, span: str) -> None:
        """Every operation for all lanes before the next one, the lanes in random order."""
        lanes, lane = self.fresh("L"), self.fresh("l")
        self.line(f"{lanes} = {span}")
        self.names[op.iv] = f"{lanes}[{lane}]"
        self.lane = f"[{lane}]"
        for member in op.body.block.ops:
            if isinstance(member, arith.ConstantOp):
                self.constant(member)
                continue
            for _ in member.results:
                self.line(f"v{self.counter + 1} = [None] * len({lanes})")
            self.nested(
                f"for {lane} in shuffled(rng, range(len({lanes}))):", lambda op=member: self.operation(op)
            )
        self.lane = ""


def _is_simple(loop: ForOp) -> bool:
    """Whether the loop can run in lockstep: nothing but loads, statements and scalar operations."""
    return all(
        isinstance(op, LoadOp | StoreOp | AccumulateOp)
        or (not op.regions and type(op) not in _HANDLERS)
        or isinstance(op, arith.ConstantOp)
        for op in loop.body.block.ops
    )


def _callee(op: func.CallOp) -> func.FuncOp:
    """The function that a call runs."""
    name = op.callee.string_value()
    around = op.parent_op()
    while around is not None and not isinstance(around, ModuleOp):
        around = around.parent_op()
    functions = [f for f in around.ops if isinstance(f, func.FuncOp)] if around is not None else []
    for function in functions:
        if function.sym_name.data == name:
            if CUSTOM_CALL in function.attributes:
                return function
            if len(function.body.blocks) != 1 or function.function_type.outputs.data:
                reason = f"calls @{name}, which is not one block without results"
                raise fail(op, reason, error=LoweringError)
            return function
    raise fail(op, f"calls @{name}, which is not a function of this module", error=LoweringError)


def _nothing(compiler: Compiler, op: Operation) -> None:
    """Terminators: the region they end is emitted where it is used. Barriers: all that is before has been done.

    Prefetches: no value depends on them.
    """


_HANDLERS: dict[type, Callable[[Compiler, Any], None]] = {
    arith.ConstantOp: Compiler.constant,
    memref.DimOp: Compiler.dim,
    memref.CollapseShapeOp: Compiler.collapse_shape,
    memref.CastOp: Compiler.cast,
    memref.SubviewOp: Compiler.subview,
    func.CallOp: Compiler.call,
    ForOp: Compiler.loop,
    **dict.fromkeys(DIVISIONS, Compiler.division),
    LoadOp: Compiler.load,
    StoreOp: Compiler.store,
    AccumulateOp: Compiler.accumulate,
    AllocOp: Compiler.alloc,
    IndexOp: Compiler.index,
    LookupOp: Compiler.lookup,
    IfOp: Compiler.branch,
    scf.WhileOp: Compiler.repeat,
    scf.ConditionOp: _nothing,
    scf.YieldOp: _nothing,
    cf.AssertOp: Compiler.assertion,
    YieldOp: _nothing,
    BarrierOp: _nothing,
    PrefetchOp: _nothing,
    func.ReturnOp: _nothing,
}

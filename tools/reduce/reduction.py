"""Delta debugging of IR: smaller modules that are still of interest.

    func.func @f(%x: memref<8xf32>, %y: memref<8xf32>) {
      nest.for "i" %i = 0 to 8 {
        %a = nest.load %x[%i] : memref<8xf32>
        %b = math.exp %a : f32
        nest.store "y" %b, %y[%i] : memref<8xf32>
      }
      func.return
    }
  where what is of interest is an error on `math.exp`, becomes
    func.func @f(%a: f32) {
      %b = math.exp %a : f32
      func.return
    }

Five edits, the coarse ones first, until none helps: erase operations that nobody uses (in halves, quarters ... of all, as
Zeller and Hildebrandt's ddmin does); let what uses a result use another value of its type; put the body of an operation in
its place; drop arguments and results of functions; drop attributes. Each candidate is valid IR.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from xdsl.dialects import arith, scf
from xdsl.dialects.builtin import ArrayAttr, FunctionType, IndexType, IntegerAttr, ModuleOp
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Block, Operation, SSAValue
from xdsl.traits import IsTerminator

from ...dialects.diagnostic import NestorError
from ...dialects.nest import ForOp
from ...dialects.verifier import verify

Ask = Callable[[ModuleOp], bool]
"""Whether a module is still of interest."""

MOST_REPLACEMENTS = 4
"""How many other values are tried in the place of a result."""


def reduce_module(module: ModuleOp, ask: Ask, tell: Callable[[ModuleOp], None] = lambda _: None) -> ModuleOp:
    """The smallest module that the edits find; `tell` hears of each that is smaller than the one before."""
    search = _Search(module, ask, tell)
    while search.goes_on():
        for edits in (_erasures, _replacements, _bodies, _signatures, _attributes):
            search.run(edits)
    return search.module


class _Search:
    """The smallest module so far."""

    def __init__(self, module: ModuleOp, ask: Ask, tell: Callable[[ModuleOp], None]):
        self.module, self._ask, self._tell = module, ask, tell
        self._has_found = True

    def goes_on(self) -> bool:
        """Whether the last round over all edits has found something."""
        found, self._has_found = self._has_found, False
        return found

    def run(self, edits: Callable[[ModuleOp], Iterator[Edit]]) -> None:
        """Try the edits of a kind, again after each that was taken, from where that one stood."""
        position = 0
        while True:
            for k, edit in enumerate(edits(self.module)):
                if k >= position and self._takes(edit):
                    position = k
                    break
            else:
                return

    def _takes(self, edit: Edit) -> bool:
        candidate = self.module.clone()
        try:
            if not edit(candidate):
                return False
            verify(candidate)
        except (NestorError, ValueError, AssertionError, IndexError):  # an edit that does not fit here
            return False
        if not self._ask(candidate):
            return False
        self.module, self._has_found = candidate, True
        self._tell(candidate)
        return True


Edit = Callable[[ModuleOp], bool]
"""Changes a clone of the module, in which operations have the same positions; whether it did."""


def _operations(module: ModuleOp) -> list[Operation]:
    return [op for op in module.walk() if op is not module]


# ---- erasing ------------------------------------------------------------------------------------------


def _erasures(module: ModuleOp) -> Iterator[Edit]:
    """Erase pieces of all operations, from large ones to single operations, the last operations first."""
    count = len(_operations(module))
    size = count
    while size >= 1:
        for end in range(count, 0, -size):
            yield _erasure(range(max(0, end - size), end))
        size //= 2


def _erasure(positions: Sequence[int]) -> Edit:
    def edit(module: ModuleOp) -> bool:
        ops = _operations(module)
        chosen = [ops[k] for k in positions]
        erased = False
        for op in reversed(chosen):
            if op.has_trait(IsTerminator) or any(result.uses for result in op.results):
                continue
            assert op.parent is not None
            op.parent.erase_op(op)
            erased = True
        return erased

    return edit


# ---- other values in the place of results -------------------------------------------------------------


def _replacements(module: ModuleOp) -> Iterator[Edit]:
    """Let the users of an operation's results use other values, which were there before it."""
    ops = _operations(module)
    for k in range(len(ops) - 1, -1, -1):
        if any(result.uses for result in ops[k].results):
            for choice in range(MOST_REPLACEMENTS):
                yield _replacement(k, choice)


def _replacement(position: int, choice: int) -> Edit:
    def edit(module: ModuleOp) -> bool:
        op = _operations(module)[position]
        found = [_others(op, result) if result.uses else [result] for result in op.results]
        if not all(found) or choice >= max(map(len, found)):
            return False
        for result, others in zip(op.results, found, strict=True):
            if others[0] is not result:
                result.replace_all_uses_with(others[min(choice, len(others) - 1)])
        assert op.parent is not None
        op.parent.erase_op(op)
        return True

    return edit


def _others(op: Operation, result: SSAValue) -> list[SSAValue]:
    """Values of the type of `result` that are there before `op`: its operands first, then arguments, then results."""
    found = dict.fromkeys(value for value in op.operands if value.type == result.type)
    around: Operation | None = op
    while around is not None and isinstance(block := around.parent, Block):
        found.update(dict.fromkeys(a for a in block.args if a.type == result.type))
        before = around.prev_op
        while before is not None:
            found.update(dict.fromkeys(r for r in before.results if r.type == result.type))
            before = before.prev_op
        around = around.parent_op()
    return list(found)


# ---- bodies in the place of what they are in ----------------------------------------------------------


def _bodies(module: ModuleOp) -> Iterator[Edit]:
    """Put what is in an operation in its place, for each of its regions."""
    for k, op in enumerate(_operations(module)):
        for region in range(len(op.regions)):
            if not isinstance(op, FuncOp):
                yield _body(k, region)


def _body(position: int, region: int) -> Edit:
    def edit(module: ModuleOp) -> bool:
        op = _operations(module)[position]
        if len(op.regions[region].blocks) != 1:
            return False
        block, target = op.regions[region].block, op.parent
        assert target is not None
        starts = _starts(op)
        for argument in block.args:
            value = starts[argument.index] if argument.index < len(starts) else None
            if value is None and isinstance(argument.type, IndexType):
                zero = arith.ConstantOp(IntegerAttr(0, IndexType()))
                target.insert_op_before(zero, op)
                value = zero.result
            if value is not None:
                argument.replace_all_uses_with(value)
            elif argument.uses:
                return False
        last = block.last_op
        given = list(last.operands) if last is not None and last.has_trait(IsTerminator) else []
        for inner in list(block.ops):
            if inner is last and inner.has_trait(IsTerminator):
                continue
            inner.detach()
            target.insert_op_before(inner, op)
        for result, value in zip(op.results, given, strict=False):
            result.replace_all_uses_with(value)
        target.erase_op(op)
        return True

    return edit


def _starts(op: Operation) -> list[SSAValue | None]:
    """What the arguments of a body are at first."""
    if isinstance(op, ForOp):
        return [None]
    if isinstance(op, scf.ForOp):
        return [op.lb, *op.iter_args]
    return list(op.operands)


# ---- functions ----------------------------------------------------------------------------------------


def _signatures(module: ModuleOp) -> Iterator[Edit]:
    """Drop a result of a function, or an argument that it does not use; give it one in the place of an operation."""
    for k, op in enumerate(_operations(module)):
        if isinstance(op, FuncOp) and op.body.blocks:
            for index in range(len(op.function_type.outputs) - 1, -1, -1):
                yield _without_result(k, index)
            for index in range(len(op.function_type.inputs) - 1, -1, -1):
                yield _without_argument(k, index)
        elif op.results and all(result.uses for result in op.results):
            yield _as_arguments(k)


def _without_result(position: int, index: int) -> Edit:
    def edit(module: ModuleOp) -> bool:
        function = _operations(module)[position]
        assert isinstance(function, FuncOp)
        last = function.body.blocks[-1].last_op
        if not isinstance(last, ReturnOp):
            return False
        last.operands = [v for k, v in enumerate(last.operands) if k != index]
        _set_type(function, None, index)
        return True

    return edit


def _without_argument(position: int, index: int) -> Edit:
    def edit(module: ModuleOp) -> bool:
        function = _operations(module)[position]
        assert isinstance(function, FuncOp)
        argument = function.body.block.args[index]
        if argument.uses:
            return False
        function.body.block.erase_arg(argument)
        _set_type(function, index, None)
        return True

    return edit


def _as_arguments(position: int) -> Edit:
    """The results of an operation become arguments of the function that it is in."""

    def edit(module: ModuleOp) -> bool:
        op = _operations(module)[position]
        function = op.parent_op()
        while function is not None and not isinstance(function, FuncOp):
            function = function.parent_op()
        if function is None or len(function.body.blocks) != 1:
            return False
        block = function.body.block
        for result in op.results:
            argument = block.insert_arg(result.type, len(block.args))
            argument.name_hint = result.name_hint
            result.replace_all_uses_with(argument)
        assert op.parent is not None
        op.parent.erase_op(op)
        inputs = [a.type for a in block.args]
        function.properties["function_type"] = FunctionType.from_lists(
            inputs, list(function.function_type.outputs)
        )
        function.properties.pop("arg_attrs", None)
        return True

    return edit


def _set_type(function: FuncOp, argument: int | None, result: int | None) -> None:
    """Drop an argument or a result of the type of a function, and its attributes."""
    kept = function.function_type
    inputs = [t for k, t in enumerate(kept.inputs) if k != argument]
    outputs = [t for k, t in enumerate(kept.outputs) if k != result]
    function.properties["function_type"] = FunctionType.from_lists(inputs, outputs)
    for name, index in (("arg_attrs", argument), ("res_attrs", result)):
        attributes = function.properties.get(name)
        if index is not None and isinstance(attributes, ArrayAttr):
            function.properties[name] = ArrayAttr([a for k, a in enumerate(attributes) if k != index])


# ---- attributes ---------------------------------------------------------------------------------------


def _attributes(module: ModuleOp) -> Iterator[Edit]:
    for k, op in enumerate([module, *_operations(module)]):
        for name in op.attributes:
            yield _without_attribute(k, name)


def _without_attribute(position: int, name: str) -> Edit:
    def edit(module: ModuleOp) -> bool:
        return [module, *_operations(module)][position].attributes.pop(name, None) is not None

    return edit

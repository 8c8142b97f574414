"""The text of `f.explain(...)`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from ....analysis.nest.values.trip_counts import largest_extent
from .explain_derivatives import Halves, derivative_lines, half_text

if TYPE_CHECKING:
    from xdsl.dialects.builtin import ModuleOp
    from xdsl.ir import Operation

    from ....dialects.diagnostic import Diagnostic
    from ...interface.program_parts import Program


def explain(
    program: Program,
    target: str,
    log: Sequence[str],
    compiled: bool,
    machine: str | None,
    strategies: bool = False,
) -> str:
    """Which specialisation serves a call, what it assumes, what its nests do, and what it does not compile."""
    lines = [f"{program.name} on {target}, {'compiled' if compiled else 'not compiled yet'}", "arguments:"]
    first = len(program.arguments) - len(program.inputs)
    lines += [f"  {one}" for one in program.arguments[:first]]
    lines += [f"  {one} (from outside, read at each call)" for one in program.arguments[first:]]
    if program.guards:
        lines += [
            "assumes:",
            *[f"  {guard}" + (f"   ({guard.why})" if guard.why else "") for guard in program.guards],
        ]
    constant = [one.name for one in program.arguments if one.constant]
    if constant:
        lines.append(
            f"frozen: {', '.join(constant)}; what is computed from them alone is computed once an array"
        )
    halves = Halves(program.module)
    said = derivative_lines(halves)
    module = halves.lowered()
    lines += ["nests:", *_nests(module)]
    lines += said
    if target == "cpu" and (products := _products(module)):
        lines += [
            "products (in tiles of our own, no BLAS: docs/decisions/0014-products-without-blas.md):",
            *products,
        ]
    if target.startswith("cuda") and (said := _schedule_remarks(program.module, machine)):
        lines += ["kernels (what the schedule has to say of them):", *said]
    if strategies:
        lines += [
            "strategies (tried in this order, for each nest until one applies):",
            *_strategies(program.module, target, machine),
        ]
    calls = _calls(module)
    if calls:
        lines += ["calls of Python:", *calls]
    if program.remarks:
        lines += ["remarks:", *[f"  {line}" for r in program.remarks for line in r.render().splitlines()]]
    lines += ["history:", *[f"  {entry}" for entry in log]]
    return "\n".join(lines)


def _nests(module: ModuleOp) -> list[str]:
    """A line for each outermost loop: its name and its memory accesses an iteration of the innermost."""
    lines = [f"  {names}: {accesses}{half_text(loop)}" for loop, names, accesses in _loops(module)]
    return lines or ["  none: nothing is computed element by element"]


def nest_accesses(module: ModuleOp) -> Iterator[tuple[str, str]]:
    """The names of the loops of each nest, and its accesses an iteration of the innermost: `8 loads, 1 store`."""
    for _, names, accesses in _loops(module):
        yield names, accesses


def _loops(module: ModuleOp) -> Iterator[tuple[Operation, str, str]]:
    from ....dialects.nest import AccumulateOp, ForOp, LoadOp, StoreOp

    for loop in module.walk():
        if not isinstance(loop, ForOp) or isinstance(loop.parent_op(), ForOp):
            continue
        inner = list(loop.walk())
        names = ", ".join(op.label for op in inner if isinstance(op, ForOp))
        loads = sum(isinstance(op, LoadOp) for op in inner)
        stores = sum(isinstance(op, StoreOp | AccumulateOp) for op in inner)
        yield loop, names, f"{_count(loads, 'load')}, {_count(stores, 'store')}"


def _products(module: ModuleOp) -> list[str]:
    """A line for each nest that is a product of matrices large enough for tiles."""
    from ....analysis.nest.loop_structure import perfect_band
    from ....dialects.nest import ForOp
    from ....transforms.schedulers.patterns.products import product_in

    lines: list[str] = []
    for loop in module.walk():
        if not isinstance(loop, ForOp) or isinstance(loop.parent_op(), ForOp):
            continue
        if (product := product_in(perfect_band(loop))) is not None:
            sizes = [largest_extent(one) or "?" for one in (product.row, product.term, product.column)]
            lines.append(f"  {loop.label}: {sizes[0]} x {sizes[1]} by {sizes[1]} x {sizes[2]}")
    return lines


def _schedule_remarks(module: ModuleOp, machine: str | None) -> list[str]:
    """What the automatic schedule of the GPU remarks: why loops are one thread, what goes to memory, which checks wait."""
    from ....dialects.remarks import listening
    from ..specialise.stages import lowered_copy

    heard: list[str] = []
    with listening(lambda said: heard.extend(said.render().splitlines())):
        lowered_copy(module, ("cuda-to-parts", "nest-schedule-cuda"), machine=machine)
    return [f"  {line}" for line in dict.fromkeys(heard)]


def _strategies(module: ModuleOp, target: str, machine: str | None) -> list[str]:
    """The strategies that the automatic schedule tries for each nest, in turn, and what came of each."""
    from ....dialects.remarks import listening
    from ....transforms.schedulers.refusals import NOT_TAKEN
    from ....transforms.schedulers.strategies import Tried, watching
    from ..specialise.stages import lowered_copy

    if target == "interp":
        return ["  none: the interpreter runs nests as they are written"]
    tried: list[Tried] = []
    pipeline = (
        ("cuda-to-parts", "nest-schedule-cuda") if target != "cpu" else ("to-parts", "nest-schedule-cpu")
    )
    left_out: list[str] = []

    def hear(said: Diagnostic) -> None:
        if said.message.startswith(NOT_TAKEN):
            left_out.extend(said.render().splitlines())

    with watching(tried.append), listening(hear):
        lowered_copy(module, pipeline, machine=machine)
    lines: list[str] = []
    nest = None
    for one in tried:
        if one.nest != nest:
            nest = one.nest
            lines.append(f"  {nest}")
        lines.append(f"    {one}")
    lines += [f"  {line}" for line in left_out]
    return lines or ["  none: there are no nests"]


def _calls(module: ModuleOp) -> list[str]:
    """A line for each call of Python: the function, and where it stands."""
    from ....dialects.diagnostic import op_location
    from ....lowering.nest_common.custom_calls import called, declarations, target_of

    targets = {f.sym_name.data: target_of(f) for f in declarations(module)}
    lines: list[str] = []
    for op in filter(called, module.walk()):
        where = op_location(op)
        place = f"   ({where.file}:{where.line})" if where is not None else ""
        lines.append(f"  {targets[op.callee.string_value()]}{place}")  # pyright: ignore
    return lines


def _count(number: int, what: str) -> str:
    return f"{number} {what}{'' if number == 1 else 's'}"

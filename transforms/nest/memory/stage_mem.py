"""nest-stage-mem: an iteration loads a window of a buffer, works on it, and stores it back.

    nest.for "i" %i = 0 to 8 {
      nest.for "j" %j = 0 to 4 {
        %a = nest.load %x[4 * %i + %j] : memref<32xf32>
        %b = arith.mulf %a, %a : f32
        nest.store "x" %b, %x[4 * %i + %j] : memref<32xf32>
      }
    }

with buffer=x, loop=i becomes

    nest.for "i" %i = 0 to 8 {
      %x_local = nest.alloc "x_local" : memref<4xf32>
      nest.for "x_local.load.ax0" %d = 0 to 4 {
        %e = nest.load %x[4 * %i + %d] : memref<32xf32>
        nest.store "x_local" %e, %x_local[%d] : memref<4xf32>
      }
      nest.for "j" %j = 0 to 4 {
        %a = nest.load %x_local[%j] : memref<4xf32>
        %b = arith.mulf %a, %a : f32
        nest.store "x" %b, %x_local[%j] : memref<4xf32>
      }
      nest.for "x_local.back.ax0" %d = 0 to 4 {
        %e = nest.load %x_local[%d] : memref<4xf32>
        nest.store "x" %e, %x[4 * %i + %d] : memref<32xf32>
      }
    }

The window is what the loop touches, or is stated: window="16*i:16*i+18, k, 0:n", a range an axis, in terms of loop
names and of index values by their SSA names. It must hold every access, and may extend beyond the buffer. Nothing
is stored back where the loop only reads, nothing loaded where all of the window is stored before it is read.

Refused as nest-cache-read and nest-cache-write are, and when an access is not proved to be in the window that is
stated. `stage_mem` in Exo; `cache_read` with `cache_write` in TVM; without a name in Halide; `cacheAccesses` in NNC.
"""

from __future__ import annotations

from dataclasses import replace

from xdsl.dialects.builtin import IndexType, MemRefType
from xdsl.ir import Block, SSAValue

from ....analysis.nest.loop_structure import enclosing_function, enclosing_loops
from ....analysis.nest.sets.accesses import Access
from ....analysis.nest.sets.dependence import Dependences, analyse
from ....analysis.nest.sets.integer_sets import System
from ....analysis.nest.sets.regions import Window
from ....dialects.affine import AffineList, constant_of
from ....dialects.diagnostic import NestorError
from ....dialects.nest import AllocOp, ForOp, StoreOp
from ..rewrite.affine_options import parse_window
from .staging import Plan, Request, plan_reads, plan_updates, request_for
from .staging_copies import carry_out


def why_not_stage_mem(
    buffer: AllocOp | SSAValue,
    loop: ForOp,
    window: str | None = None,
    space: str = "global",
    axes: tuple[int, ...] = (),
    dependences: Dependences | None = None,
) -> NestorError | None:
    """The diagnostic that refuses to stage a window of `buffer` in `loop`, None when it is legal."""
    plan = _plan(buffer, loop, window, space, axes, dependences)
    return plan if isinstance(plan, NestorError) else None


def stage_mem(
    buffer: AllocOp | SSAValue,
    loop: ForOp,
    window: str | None = None,
    space: str = "global",
    name: str | None = None,
    axes: tuple[int, ...] = (),
    dependences: Dependences | None = None,
) -> tuple[AllocOp, ForOp | None, ForOp | None]:
    """Let an iteration of `loop` work on a copy: the new buffer, and the loops that load it and store it back.

    A loop is None where there is nothing to do, or one element to copy. Raises the diagnostic of
    `why_not_stage_mem`.
    """
    plan = _plan(buffer, loop, window, space, axes, dependences)
    if isinstance(plan, NestorError):
        raise plan
    return carry_out(plan, space, name)


def _plan(
    buffer: AllocOp | SSAValue,
    loop: ForOp,
    window: str | None,
    space: str,
    axes: tuple[int, ...],
    dependences: Dependences | None,
) -> Plan | NestorError:
    dependences = dependences or analyse(loop)
    request = request_for("stage", buffer, loop, space, axes, dependences)
    own = [a for a in dependences.accesses_in(loop) if a.buffer is request.buffer]
    if window is not None:
        stated = _stated(request, window, own)
        if isinstance(stated, NestorError):
            return stated
        request = replace(request, window=stated)
    return plan_updates(request) if any(a.writes for a in own) else plan_reads(request)


def _stated(request: Request, text: str, accesses: list[Access]) -> Window | NestorError:
    """The window given as text, when every access is in it."""
    buffer, loop = request.buffer, request.loop
    assert isinstance(buffer.type, MemRefType)
    names = _names(loop)
    known = f"known here: {', '.join(names) or 'nothing'}"
    rank = buffer.type.get_num_dims()
    try:
        origin, extents = parse_window(text, loop, lambda name: names.get(name), known, rank)
    except NestorError as error:
        return error
    window = Window(origin, extents)
    for access in accesses:
        for axis in range(rank):
            if access.indices is None or not _is_in(window, axis, access):
                return request.refuse(
                    f"an access is not proved to be in the window along axis {axis}",
                    notes=[(access.op, "the access is here")],
                )
    return window


def _names(loop: ForOp) -> dict[str, AffineList]:
    """What the text of a window can name: the loop and those around it, and index values from before."""
    names: dict[str, AffineList] = {}
    function = enclosing_function(loop)
    values = [r for op in function.walk() for r in op.results]
    values += [a for region in function.regions for block in region.blocks for a in block.args]
    for value in values:
        hint = value.name_hint
        if hint is None or value.type != IndexType() or constant_of(value) is not None:
            continue
        owner = value.owner
        home = owner if isinstance(owner, Block) else owner.parent
        if _holds(home, loop, owner):
            names[hint] = AffineList.of(value)
    for around in (*enclosing_loops(loop), loop):
        names[around.label] = AffineList.of(around.iv)
    return names


def _holds(home: Block | None, loop: ForOp, owner) -> bool:
    """Whether a value of block `home` is defined before `loop`, which is inside it."""
    inner = loop
    while inner is not None and inner.parent is not home:
        inner = inner.parent_op()
    return inner is not None and (isinstance(owner, Block) or owner.is_before_in_block(inner))


def _is_in(window: Window, axis: int, access: Access) -> bool:
    """Whether the index along `axis` is in the window wherever the access runs."""
    assert access.indices is not None
    index, origin = access.indices[axis], window.origin[axis]
    for gap in (index.minus(origin), origin.plus(window.extents[axis]).minus(index).add(-1)):
        numbers = gap.constants()
        if numbers is not None and numbers[0] >= 0:
            continue
        system = System(access.op)
        for loop in enclosing_loops(access.op):
            system.name(loop.iv, "s")
        where = access.op.where if isinstance(access.op, StoreOp) else access.where
        for constraint in system.expressions(where, "s") if where is not None else ():
            system.require(f"{constraint} >= 0")
        system.require(f"{system.expressions(gap, 's')[0]} < 0")
        if system.has_solution():
            return False
    return True

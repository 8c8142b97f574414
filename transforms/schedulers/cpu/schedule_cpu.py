"""nest-schedule-cpu: vectorize the inner loops of every nest and give the outer ones to threads.

    nest.for "i" %i = 0 to 999 {
      nest.for "j" %j = 0 to 1000 {
        %v = nest.load %x[%i, %j] : memref<999x1000xf32>
        nest.store "y" %v, %y[%i, %j] : memref<999x1000xf32>
      }
    }
  becomes
    %x_flat = memref.collapse_shape %x [[0, 1]] : memref<999x1000xf32> into memref<999000xf32>
    %y_flat = memref.collapse_shape %y [[0, 1]] : memref<999x1000xf32> into memref<999000xf32>
    nest.for "i_j.o" %o = 0 to 15609 parallel attributes {nestor.grain = 1024 : i64} {
      nest.for "i_j.i" %v = 0 to 64 vectorized(64) {
        ... %x_flat[64 * %o + %v] ...
      }
    }
    nest.for "i_j.t" %t = 0 to 24 vectorized(32) { ... }

What is done to a nest, from the outside in, wherever the primitives find it legal:

* Loops that memory allows to are made one (nest-flatten); a loop whose accesses are contiguous goes inside, an
  independent one outside (nest-reorder).
* The outermost independent loop is parallel; its grain is the iterations below which a thread does not pay.
* An innermost loop becomes vectors of several registers, the remainder one masked vector. A reduction gets one
  accumulator per lane (nest-rfactor), in blocks when it is a long sum of floats, so that errors do not grow
  with its length.
* A long reduction is done in parts, a number of them that depends on extents alone, by threads, and sums of columns a
  few rows at a time (cpu/reductions.py).
* Reductions of tuples are done base by base, those of many terms a part at a time (patterns/tuples.py).
* Sums of columns of narrow matrices stay in registers, a row at a time (kept_rows.py).
* A sum of a big array and the squares around its mean are taken a part at a time (moments.py).
* A product of matrices is computed in tiles of sums that stay in registers (patterns/products.py);
  with few rows, columns or terms memory is the limit, and the big matrix is read once, where it is (skinny_products.py).
* A sum over several loops (a convolution) is done so, too, a block of the result at a time with what it is computed
  from and what is computed from it (cpu/convolutions.py, convolution_blocks.py).
* A reduction over windows (pooling, convolutions of separate channels) is computed in tiles of vectors of results
  (cpu/windows.py).
* A matrix that serves one sum only is made in tiles, and never whole (pairs.py).
* What is read across what is written is computed in tiles that are transposed in registers (cpu/transposes.py).
* Matrices of batches are made and used slice by slice (batch_slices.py), a stack of them times one matrix is one product
  (matrix_stacks.py).
* Sums of independent rows whose order is given stand side by side (recurrences.py).
* A long scan is computed in blocks, by threads (cpu/scans.py).
* Where only an outer loop is contiguous (sums over columns) that one becomes vectors, around the inner loops.
  What these update in each iteration is kept in registers (nest-registerise), and a variable of the body gets an
  element per lane (nest-expand-buffer).
* Big arrays are prefetched, where they are read and where they are written; stores are non-temporal
  (`nestor.nontemporal`) where much is read for them, or where the machine is faster so (streams.py). Where several
  passes are made over a row, the later ones fetch the next row (cpu/row_programs.py).
* What goes through a big array again does it from the end, which is still in the caches (sweeps.py).

What stays serial or scalar is said in a remark, with the dependence or the access that is the reason.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from functools import partial

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.passes import ModulePass

from ....analysis.machine import DEFAULT_CPU, Cpu, cpu
from ....analysis.nest.loop_structure import functions, loops_in
from ....analysis.nest.sets.dependence import Dependences
from ....dialects.attributes import ONE_THREAD
from ....dialects.diagnostic import fail
from ....dialects.nest import AccumulateOp, AllocOp, ForOp
from ...nest.mapping.parallel import why_not_parallel
from ..refusals import never_refused, optional
from ..strategies import Strategy, each_of, first_of
from .vectors import DEFAULT, Machine, joined_neighbours, outermost_loops, schedule_innermost


def schedule_nests(function: FuncOp, machine: Machine = DEFAULT) -> None:
    """Schedule all nests of a function: first those that take others into their blocks. Never refuses."""
    never_refused(function, machine.steps, lambda: _schedule_nests(function, machine))


def _schedule_nests(function: FuncOp, machine: Machine) -> None:
    nests = list(outermost_loops(function))
    if any(isinstance(op, AccumulateOp | AllocOp) for op in function.walk()):
        from .reductions import in_turn
        from .whole_functions import schedule_whole

        nests = in_turn(schedule_whole(function, machine))
    for nest in nests:
        optional(partial(schedule, nest, machine))
    if sum(loop.kind == "parallel" for loop in outermost_loops(function)) > 1:
        each_of(SWEEPS, function.sym_name.data, (function, machine), machine.steps)


def schedule(nest: ForOp, machine: Machine = DEFAULT) -> None:
    """Schedule one nest. Loops that are marked already stay as they are."""
    if any(loop.kind != "serial" for loop in loops_in(nest)):
        return
    band = joined_neighbours(nest, machine)
    if first_of(PLAIN, nest.label, (band, machine)) is not None:
        return
    from .dispatch import schedule_nest

    schedule_nest(band[0], machine, for_threads=machine.cpu.threads != 1)


def _schedule_plain(nest: tuple[list[ForOp], Machine]) -> bool:
    band, machine = nest
    if (dependences := _plain(band)) is None:
        return False
    schedule_innermost(band[0], machine, machine.cpu.threads != 1, dependences)
    return True


def _plain(band: list[ForOp]) -> Dependences | None:
    """The dependences (none are carried) of a nest that is one loop over independent statements; None for another."""
    loop = band[0]
    if any(isinstance(op, ForOp | AccumulateOp | AllocOp) for op in loop.body.walk()):
        return None
    dependences = Dependences(loop)
    return dependences if why_not_parallel(loop, dependences) is None else None


def _turn_back(whole: tuple[FuncOp, Machine]) -> None:
    from .sweeps import turn_back

    function, machine = whole
    turn_back(function, machine.cpu, machine.steps)


SWEEPS = (Strategy("sweeps turned back", "nests that pass over the same big arrays", _turn_back),)
"""Done last, to what threads share."""

PLAIN = (Strategy("plain loop", "loops over independent statements alone", _schedule_plain),)
"""Tried first: a program of such nests does not import the other rows, which are in dispatch.py."""


@dataclass(frozen=True, eq=False)
class NestScheduleCpuPass(ModulePass):
    """Vectorize and parallelize every nest for a `machine` of `analysis/machine.py`; the other options take the place of
    fields of its description. `threads=1`, or the attribute `nestor.one_thread` of a function, makes no parallel loops; 2
    lets long scans suit two of them."""

    name = "nest-schedule-cpu"

    machine: str = DEFAULT_CPU
    vector_bits: int | None = None
    registers: int | None = None
    threads: int | None = None
    l1_kib: int | None = None
    l2_kib: int | None = None
    l3_kib: int | None = None
    non_temporal: bool | None = None
    amx: bool | None = None
    vnni: bool | None = None
    bf16: bool | None = None

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        cpu = self._cpu(op)
        for function in functions(op):
            own = cpu._replace(threads=1) if ONE_THREAD in function.attributes else cpu
            schedule_nests(function, Machine(own))

    def _cpu(self, op: ModuleOp) -> Cpu:
        """The description, with what the options say otherwise."""
        own = {option.name: getattr(self, option.name) for option in fields(self)}
        bits = self.vector_bits
        if bits is not None and (bits < 64 or bits & (bits - 1)):
            raise fail(op, f"vector-bits is {bits}; a power of two of at least 64 is expected")
        for name in ("registers", "l1_kib", "l2_kib", "l3_kib"):
            if own[name] is not None and own[name] < 1:
                raise fail(op, f"{name.replace('_', '-')} is {own[name]}; a positive number is expected")
        return cpu(own.pop("machine"), **own)

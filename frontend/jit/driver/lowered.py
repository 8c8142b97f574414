"""The stages of a jitted function that are had without calling it: what it was lowered to, and the machine code of that."""

from __future__ import annotations

import difflib
import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ....dialects.diagnostic import NestorError
from ....dialects.tracebacks import boundaries
from ...interface.argument_types import ArgumentType, binding, static_type
from ...interface.errors import DTypeError, NotPickledError, UnsupportedError
from ...interface.pickling import OneValue
from ...interface.structures import Again, Seen, Structure
from ..call.invoke import Invocation
from ..specialise import progress
from ..specialise.arguments import Default
from ..specialise.specialiser import COMPILING, be_strict
from .adoption import Adoption, LeavesOfLibrary, adoption
from .refused_program import Refused

if TYPE_CHECKING:
    from ....analysis.costs.program_costs import CostAnalysis
    from ....analysis.costs.program_memory import MemoryAnalysis
    from ....dialects.schedule.ops import SequenceOp
    from ....runtime.cuda.kernel_resources import KernelResources
    from ....runtime.cuda_sim.faults import Fault
    from ....runtime.cuda_sim.report import ProfileReport
    from ...interface.program_parts import Program
    from ..specialise.stages import Kernel
    from .jit_function import JitFunction
    from .schedule_steps import Schedule


@boundaries
class Lowered(OneValue):
    """A function at the nt level, for one specialisation."""

    def __init__(self, owner: JitFunction, program: Program):
        self.owner = owner
        self.program = program

    def __repr__(self) -> str:
        arguments = ", ".join(map(str, self.program.arguments))
        return f"<{self.program.name} lowered for {arguments or 'no arguments'}>"

    def __str__(self) -> str:
        return self.as_text()

    def _repr_html_(self) -> str:
        from .lowered_html import of_lowered

        return of_lowered(self)

    def __reduce_ex__(self, protocol: Any) -> Any:
        raise NotPickledError(
            f"'{self.program.name}' as lower() gives it is IR of this process, and cannot be pickled",
            hint="pickle the jitted function, or what compile() gives",
        )

    def as_text(self, level: str = "nt", schedule: Any = None) -> str:
        """Its text at a level: nt, nt-fused, nest, scf, llvm, llvm-ir, asm, gpu, cuda, ptx; `schedule` as for `compile`.

        nt-fused is the end of nt: derivatives are written out, and what becomes one nest is a fusion.
        """
        from ..specialise.stages import text_of

        return text_of(self.program.module, level, _sequences(schedule), self.owner.machine)

    def diff(self, before: str = "nt", after: str = "nt-fused", schedule: Any = None) -> Difference:
        """Its texts at two levels, and what differs: print it, or let a notebook show them side by side.

        Levels and `schedule` as for `as_text`, which raises the same errors.
        """
        return Difference((before, after), [self.as_text(one, schedule) for one in (before, after)])

    def svg(self) -> str:
        """A picture of its derivatives: forward half, backward half, and what crosses between them.

        Raises UnsupportedError where it has no derivative (by `nt.grad`, `nt.value_and_grad`, `nt.vjp`).
        """
        from ..explain.derivative_picture import derivative_svg

        return derivative_svg(self.program.module)

    def graph(self, format: str = "svg") -> str:
        """Its operations as a picture: types, lines of Python, what is fused, loops and branches, both halves of a gradient.

        `format` is "svg", or "html" for a page of its own. Light and dark come from the viewer's preference.
        """
        from ....lowering.pictures.nt_graph import emit_nt_graph, emit_nt_graph_html
        from ..specialise.stages import lowered_copy

        emitters = {"svg": emit_nt_graph, "html": emit_nt_graph_html}
        if format not in emitters:
            raise DTypeError(f"format={format!r}", hint=f"formats: {', '.join(emitters)}")
        return emitters[format](
            lowered_copy(self.program.module, ("to-fusions",), machine=self.owner.machine)
        )

    def cost_analysis(self, extents: Mapping[str, int | Sequence[int]] | None = None) -> CostAnalysis:
        """What a call costs: floating-point operations, and the bytes that its nests have to read and write; print it.

        `extents` gives numbers for what is open in the program: shapes by the names of arrays (`{"x": (100, 50)}`),
        extents by their own names (`{"x_0": 100}`), integers by the names of arguments. What only the run knows (rounds
        of a `while` loop, branches that data decides) is not counted: numbers are then least ones, and the result says
        why. Raises UnsupportedError where an extent is missing, or is none that the program is for.
        """
        from .inspection import cost_analysis

        return cost_analysis(self.program, extents)

    def memory_analysis(
        self, extents: Mapping[str, int | Sequence[int]] | None = None, threads: int | None = None
    ) -> MemoryAnalysis:
        """How many bytes a call takes: arguments, results, temporaries and their peak, the tape of a gradient; print it.

        As the automatic schedule of the function's target allocates, on `threads` threads (as many as calls use, where
        none are given), value by value. `extents` as for `cost_analysis`, which raises the same errors.
        """
        from .inspection import memory_analysis

        return memory_analysis(self.program, extents, threads, self.owner.target, self.owner.machine)

    def schedule(self, target: str | None = None) -> Schedule:
        """The schedule in use for a target (`cpu` or `cuda`): to print, to go on with, to save and edit."""
        from .schedule_steps import automatic

        wanted = target or self.owner.target
        name = "cuda" if wanted.partition(":")[0] == "cuda-sim" else wanted
        return automatic(self.program, name, self.owner.machine)

    def compile(self, target: str | None = None, schedule: Any = None, arch: str | None = None) -> Compiled:
        """Machine code for a target.

        `schedule` takes the place of the automatic one: what `nt.schedule` or `low.schedule` gave, the path of a
        file, or the text of a schedule. `arch` ("sm_90") is what target "cuda" compiles for where no GPU is there to
        say: the result is a `CompiledCuda`, to look at and to keep. Raises NestorError, which names the step, where a
        schedule is not legal here, and where there is no GPU and no `arch`; UnsupportedError for what `strict` of the
        function makes an error.
        """
        from ....dialects.remarks import listening
        from ..specialise.stages import build

        name, chosen, wanted = self.program.name, _sequences(schedule), target or self.owner.target
        said = list(self.program.remarks)
        with COMPILING, progress.shown(name), listening(said.append):
            kernel, engine = build(self.program.module, name, wanted, chosen, arch, self.owner.machine)
        if self.owner.strict:
            be_strict(said, also_slow=self.owner.strict == "fast")
        make = CompiledCuda if wanted == "cuda" else Compiled
        return make(self.owner, self.program, kernel, engine, wanted, chosen)


@boundaries
class Compiled(OneValue):
    """A compiled specialisation. Call it with arguments of the types it was lowered for."""

    def __init__(
        self,
        owner: Any,
        program: Program,
        kernel: Kernel,
        engine: Any,
        target: str = "cpu",
        chosen: Sequence[SequenceOp] | None = None,
    ):
        self._owner = owner
        self.program = program
        self._kernel = kernel
        self.engine = engine
        self.target = target
        self.chosen = chosen
        """The schedule that took the place of the automatic one."""

    def __repr__(self) -> str:
        arguments = ", ".join(map(str, self.program.arguments))
        return f"<{self.program.name} compiled for {self.target}: {arguments or 'no arguments'}>"

    def _repr_html_(self) -> str:
        from .lowered_html import of_compiled

        return of_compiled(self)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self._call(self._kernel, args, kwargs)

    def __reduce_ex__(self, protocol: Any) -> Any:
        from .saved import contents, name_of

        try:
            self._check_outside()
        except UnsupportedError as error:
            name, found = name_of(self._owner), error.diagnostic
            raise NotPickledError(f"'{name}' cannot be pickled: {found.message}", hint=found.hint) from None
        parts = self._owner, self.program, self._kernel
        return _unpickled, (contents(*parts, "pickled", NotPickledError, _OTHERWISE),)

    def check(self, *args: Any, **kwargs: Any) -> list[Fault]:
        """What its kernels do that CUDA leaves undefined; for target `cuda-sim`. An empty list: nothing was found.

        The program runs on copies of the arguments, with its threads and blocks in three orders: races, indices out of
        bounds, barriers that are not reached by all, reads of what nothing has written (runtime/cuda_sim/faults.py). Then
        on arrays that begin at odd addresses, which take kernels another way. Last, what it computes is compared with
        what the interpreter does (for arrays of more than 65536 elements together, with what the target `cpu` does).
        """
        from ..specialise.stages import build
        from .simulated_check import differences, unaligned

        engine, found = self.engine, []
        if not hasattr(engine, "check"):
            raise UnsupportedError("only the simulator checks kernels", hint='compile with target="cuda-sim"')

        def kernel(arguments: Sequence[Any]) -> None:
            record, faults = engine.check(*arguments)
            found.extend(faults)
            if record.code and not faults:
                self._kernel(arguments)  # raises the exception of the check that failed
            if record.code:
                return
            known = {fault.key for fault in faults}
            _, more = engine.check(*unaligned(arguments))
            found.extend(fault for fault in more if fault.key not in known)
            if not found:
                found.extend(differences(arguments, self._kernel, reference, engine.plan.names))

        def reference(target: str) -> Kernel:
            return build(self.program.module, self.program.name, target, machine=self._owner.machine)[0]

        self._call(kernel, args, kwargs)
        return found

    def profile(self, *args: Any, **kwargs: Any) -> ProfileReport:
        """What its memory accesses cost on a GPU, line by line; for target `cuda-sim`.

        The program runs once in the simulator, on copies of the arguments: print the result, or see
        `runtime/cuda_sim/report.py`. Raises what a call raises, and SimulatorFault.
        """
        engine, reports = self.engine, []
        if not hasattr(engine, "profile"):
            raise UnsupportedError("only the simulator profiles", hint='compile with target="cuda-sim"')

        def kernel(arguments: Sequence[Any]) -> None:
            record, report = engine.profile(*arguments)
            reports.append(report)
            if record.code:
                self._kernel(arguments)  # raises the exception of the check that failed

        self._call(kernel, args, kwargs)
        return reports[0]

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write it to a file, from which `nt.load` gives it back in a process that has neither compiler nor function.

        The file holds data and machine code, for processors like this one. What the function found outside is compiled in
        as it is now. Raises UnsupportedError for what needs Python or this process (target other than `cpu`, prints,
        arrays from outside, results of the program's own classes), FileError where the file cannot be written.
        """
        from .saved import save

        self._check_outside()
        save(self, path)

    def export_c(
        self,
        folder: str | os.PathLike[str],
        name: str | None = None,
        *,
        threads: str = "openmp",
        cc: str | None = None,
    ) -> list[str]:
        """Write it as a C library, for programs without Python: header, source of the interface, object file, static and
        shared library, packages of CMake and pkg-config, and an example. The paths of the files.

        `name` is that of the C function (the function's where none is given), `threads` "openmp" (libgomp) or "none", `cc`
        the C compiler (else CC, else cc). What the function found outside is compiled in as it is now. Raises
        UnsupportedError for what C has no form for or where there is no C compiler, FileError where the folder cannot be
        written.
        """
        from ..export.export_c import export_c

        self._check_outside()
        return export_c(self, folder, name, threads, cc)

    def _call(self, kernel: Kernel, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        adopted = self._adoption(args, kwargs)
        if adopted is None:
            return self._call_plain(kernel, args, kwargs)
        try:
            result = self._call_plain(kernel, adopted.args, adopted.kwargs)
        finally:
            arguments = self.program.arguments
            written = {arguments[k].group or arguments[k].name for k in self.program.written}
            adopted.note_writes(written if self._owner._has_out else {*written, "out"})
        return adopted.results(result)

    def _call_plain(self, kernel: Kernel, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """A call with NumPy arrays, or arrays of the device."""
        self._check_outside()
        out = None if self._owner._has_out else kwargs.pop("out", None)
        call = self._owner._with_inputs(self._owner._leaves(args, kwargs), self.program.inputs)
        if call is None:
            raise self._changed("an array from outside")
        names, values, groups = call
        values = self._adopted(names, values)
        _check_constants(self.program.arguments, values)
        types = self._owner._types(names, self._described(values), groups)
        extents = binding(self.program.arguments, types) if _agree(self.program.arguments, types) else None
        broken = (
            None if extents is None else next((g for g in self.program.guards if not g.holds(extents)), None)
        )
        if extents is None or broken is not None:
            assumed = (
                "" if broken is None else f", where {broken}" + (f" ({broken.why})" if broken.why else "")
            )
            raise DTypeError(
                "these arguments are not of the types it was compiled for: "
                + ", ".join(map(str, self.program.arguments))
                + assumed,
                hint="call the jitted function, which compiles again",
            )
        if self.program.may_change:
            raise UnsupportedError(
                "a function that changes lists, dicts or objects of its arguments is called by nt.jit only",
                hint="call the jitted function",
            )
        seen = Seen()
        self._owner._bound_leaves(args, kwargs, seen)
        everything = [*values, *seen.objects]
        invocation = self._invocation(values)(self.program, kernel, types)
        if isinstance(call, LeavesOfLibrary):
            return call.results(self.program, lambda: invocation(everything, out))
        return invocation(everything, out)

    def _check_outside(self) -> None:
        """What was read outside the function is part of what was compiled."""
        other = next((read for read in self.program.captured if not read.holds()), None)
        if other is not None:
            raise self._changed(str(other))

    def _changed(self, what: str) -> UnsupportedError:
        return UnsupportedError(
            f"{what} is not what it was when the function was lowered",
            hint="lower it again, or call the jitted function, which compiles again",
        )

    # What arrays of a call are: here NumPy's.

    def _adoption(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Adoption | None:
        return adoption(self._owner, args, kwargs)

    def _adopted(self, names: list[str], values: list[Any]) -> list[Any]:
        return values

    def _described(self, values: list[Any]) -> list[Any]:
        return values

    def _invocation(self, values: list[Any]) -> type[Invocation]:
        return Invocation


class Difference:
    """Two texts, and what differs between them."""

    def __init__(self, names: tuple[str, str], texts: Sequence[str]):
        self.names = names
        self.before, self.after = texts

    def __str__(self) -> str:
        """As `diff -u` prints it."""
        lines = difflib.unified_diff(
            self.before.splitlines(), self.after.splitlines(), *self.names, lineterm=""
        )
        return "\n".join(lines) + "\n"

    def __repr__(self) -> str:
        return f"<{self.names[0]} and {self.names[1]}, {str(self).count(chr(10))} lines of difference>"

    def _repr_html_(self) -> str:
        from ..explain.cell_html import of_difference

        return of_difference(self.before, self.after, self.names)


_OTHERWISE = ", or pickle the jitted function, which compiles where it is called"


def _unpickled(data: bytes) -> Compiled | Refused:
    """The program that was pickled, as `compiled.save` writes it."""
    from .saved import opened

    try:
        owner, program, kernel = opened("the pickled program", data)
    except NestorError as error:
        return Refused(_unpickled, data, error)
    return Compiled(owner, program, kernel, kernel.engine)


@boundaries
class CompiledCuda(Compiled):
    """A specialisation compiled for a GPU; calling it needs one, looking at it does not."""

    def _call(self, kernel: Kernel, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """A call; results are in the kind of the first array of the device."""
        from .device_adoption import device_adoption
        from .device_calls import loaded_cupy

        cupy = loaded_cupy()
        taken = None if cupy is None else device_adoption(self._owner, cupy, args, kwargs)
        if taken is None:
            return super()._call(kernel, args, kwargs)
        arguments = self.program.arguments
        written = {arguments[k].group or arguments[k].name for k in self.program.written}
        try:
            result = super()._call(kernel, taken.args, taken.kwargs)
        finally:
            taken.note_writes(written if self._owner._has_out else {*written, "out"})
        return taken.results(result)

    def _adoption(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Adoption | None:
        return adoption(self._owner, args, kwargs, leaves_devices=True)

    def _adopted(self, names: list[str], values: list[Any]) -> list[Any]:
        from ....runtime.cuda.engine import load_cupy
        from .device_calls import adopted

        load_cupy()
        return adopted(names, values)

    def _described(self, values: list[Any]) -> list[Any]:
        from .device_calls import descriptions

        return descriptions(values)

    def _invocation(self, values: list[Any]) -> type[Invocation]:
        from .device_calls import invocation_for

        return invocation_for(values)

    @property
    def cuda(self) -> str:
        """The CUDA C text of its kernels."""
        return self.engine.cuda

    @property
    def ptx(self) -> str:
        """The PTX that NVRTC makes of it."""
        return self.engine.ptx

    @property
    def cubin(self) -> bytes:
        """The machine code, as the driver loads it."""
        return self.engine.cubin.image

    @property
    def kernels(self) -> tuple[KernelResources, ...]:
        """Registers, shared memory and spills of each kernel."""
        return self.engine.cubin.kernels

    def report(self) -> str:
        """A table of the kernels: registers, shared memory, spills, and the part of the warps that can be resident."""
        return self.engine.cubin.report()


def _sequences(schedule: Any) -> Any:
    if schedule is None:
        return None
    from .schedule_steps import sequences_of

    return sequences_of(schedule)


def _check_constants(pattern: Sequence[ArgumentType], values: Sequence[Any]) -> None:
    """Raise where an argument whose value was compiled in has another one."""
    for p, value in zip(pattern, values, strict=False):
        if p.kind != "static" or isinstance(p.value, Structure | Again):
            continue
        given = static_type(p.name, value.value if isinstance(value, Default) else value)
        same = given.text == p.text and type(given.value) is type(p.value) and given.value == p.value
        if not same:
            raise DTypeError(
                f"argument '{p.name}' is {given.value!r}, and the program was compiled for {p.value!r}",
                hint="call the jitted function, which compiles again",
            )


def _agree(pattern: Sequence[ArgumentType], types: Sequence[ArgumentType]) -> bool:
    return (
        len(pattern) == len(types)
        and all(
            (p.kind, p.dtype, len(p.extents), p.layout, p.order, p.read_only, p.overlap)
            == (t.kind, t.dtype, len(t.extents), t.layout, t.order, t.read_only, t.overlap)
            for p, t in zip(pattern, types, strict=True)
            if p.kind != "static"
        )
        and [p.value for p in pattern if isinstance(p.value, Structure | Again)]
        == [t.value for t in types if isinstance(t.value, Structure | Again)]
    )

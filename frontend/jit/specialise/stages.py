"""From the nt module of a program to every other level, and to something that runs."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextvars import ContextVar
from io import StringIO
from typing import TYPE_CHECKING, Any, NamedTuple

from ....dialects.attributes import NT_MUTATED, NT_WRITES_ARG, ROLE, SITES
from ...interface.errors import UnsupportedError
from ...values.exceptions import registered
from ..call.cpu_kernel import CpuKernel, FrozenDescription
from ..call.kernel_errors import kernel_error
from . import progress
from .dump import dump, is_dumping
from .faults import ADVICE, check_dominance, stage
from .history import is_heard, tell
from .machines import check_runs, cpu_of, gpu_of, masked
from .own_texts import own_texts

if TYPE_CHECKING:
    from xdsl.dialects.builtin import ModuleOp

    from ....dialects.schedule.ops import SequenceOp
    from ....transforms.pass_manager import PassNode
    from .branches import Counts, Ways

    Schedule = Sequence[SequenceOp] | None

TARGETS = ("cpu", "cuda", "cuda-sim", "interp")
WATCHES: ContextVar[list[Any] | None] = ContextVar("WATCHES", default=None)
"""Where there is a list, programs for the interpreter watch for NaN and infinities, and put what notes them there."""

BRANCHES: ContextVar[Counts | Ways | None] = ContextVar("BRANCHES", default=None)
"""What programs for the CPU count of their branches, or are told of them."""

SCHEDULED = {
    "cpu": ("to-parts", "nest-schedule-own", "nest-apply-strategies", "nest-schedule-cpu"),
    "cuda": (
        "cuda-to-parts",
        "nest-schedule-own{target=cuda}",
        "nest-apply-strategies",
        "nest-schedule-cuda",
    ),
}
"""Pipelines that lead from nt to nests as they are scheduled for a target."""

LEVELS: dict[str, tuple[str, ...]] = {
    "nt": (),
    "nt-fused": ("to-fusions",),
    "nest": (*SCHEDULED["cpu"], "nest-freeze"),
    "scf": ("cpu-to-scf",),
    "llvm": ("cpu",),
    "llvm-ir": ("cpu",),
    "asm": ("cpu",),
    "gpu": ("cuda-small",),
    "cuda": ("cuda-small",),
    "ptx": ("cuda-small",),
}
"""Pipelines that lead from nt to each level that `as_text` prints."""


def run_pipeline(
    module: ModuleOp, names: Sequence[str], schedule: Schedule = None, machine: str | None = None
) -> ModuleOp:
    """Run the passes on `module`, in place, for a machine; a `schedule` takes the place of the automatic one."""
    from ....dialects.registry import make_context
    from ....runtime.collector import collector_paused
    from ....transforms.pass_manager import PassManager

    with collector_paused():
        manager = PassManager(make_context(), verify=False, advice=ADVICE)
        manager.run(passes_of(module, names, schedule, machine), module)
    return module


def passes_of(
    module: ModuleOp, names: Sequence[str], schedule: Schedule = None, machine: str | None = None
) -> Iterator[PassNode]:
    """The passes, each made when those before it have run: what the module has not is not imported."""
    from ....analysis.machine import pass_options
    from ....transforms.pass_manager import PassNode
    from ....transforms.pipelines import AUTOMATIC, OUTLINING, OWN, expand, name_and_options
    from ....transforms.registry import IDLE_WITHOUT, load_pass

    machines = cpu_of(machine), gpu_of(machine)
    for text in expand(names):
        name, options = name_and_options(text)
        if name in IDLE_WITHOUT and not any(op.name in IDLE_WITHOUT[name] for op in module.walk()):
            continue
        if schedule is not None and name in (*OUTLINING, *OWN):
            continue
        if name in OWN and OWN[name] not in module.attributes:
            continue
        progress.at(name)
        if schedule is not None and name in AUTOMATIC:
            from ....transforms.schedule.apply_schedule import ApplySequencesPass

            yield PassNode(Step("apply-schedule"), ApplySequencesPass(tuple(schedule)))
            continue
        pass_class = load_pass(name)
        for described in machines:
            options |= pass_options(pass_class, described)
        yield PassNode(Step(name), pass_class(**options))


class Step(NamedTuple):
    """A pass of a pipeline."""

    name: str


def lowered_copy(
    module: ModuleOp, names: Sequence[str], schedule: Schedule = None, machine: str | None = None
) -> ModuleOp:
    """`module` lowered, the original left as it is."""
    return run_pipeline(module.clone(), names, schedule, machine)


def text_of(module: ModuleOp, level: str, schedule: Schedule = None, machine: str | None = None) -> str:
    """The text of a program, given at the nt level, at another level for a machine; nests as the `schedule` leaves them."""
    if level not in LEVELS:
        raise UnsupportedError(f"no level '{level}'", hint=f"levels: {', '.join(LEVELS)}")
    lowered = lowered_copy(module, LEVELS[level], schedule, machine)
    if level == "llvm-ir" or level == "asm":
        text = _llvm_ir(lowered)
        if level == "llvm-ir":
            return text
        from ....runtime.cpu.engine import emit_assembly

        with stage("LLVM", lowered):
            return emit_assembly(text, machine=masked(machine))
    if level == "cuda" or level == "ptx":
        from ....lowering.cuda_c.emit import emit_cuda

        check_dominance(lowered, "the lowering to GPUs")
        with stage("the emitter of CUDA C", lowered):
            source = emit_cuda(lowered)
        with own_texts(lowered):
            return source if level == "cuda" else _ptx(source)
    return print_module(lowered)


def _llvm_ir(module: ModuleOp) -> str:
    """The LLVM IR of a module of the llvm dialect, which is checked first: LLVM would say less about a fault."""
    from ....lowering.llvm_ir.emit import emit_llvm_ir

    check_dominance(module, "the lowering to LLVM")
    with stage("the emitter of LLVM IR", module):
        return emit_llvm_ir(module)


def _ptx(source: str) -> str:
    from ....runtime.cuda.nvrtc import compile_ptx

    return compile_ptx(source)


def print_module(module: ModuleOp, places: bool = False) -> str:
    """The module as text, without locations, or with the `places` in Python."""
    from xdsl.printer import Printer

    stream = StringIO()
    Printer(stream, print_debuginfo=places).print_op(module)
    return stream.getvalue() + "\n"


# ---- running ----------------------------------------------------------------------------------------

Kernel = Callable[[Sequence[Any]], None]
"""Runs the compiled function on its arguments (outputs last); raises the Python exception of a failed check."""


def build(
    module: ModuleOp,
    name: str,
    target: str,
    schedule: Schedule = None,
    arch: str | None = None,
    machine: str | None = None,
) -> tuple[Kernel, Any]:
    """Compile a module given at the nt level (left as it is); the kernel, and the engine that owns its code.

    A `schedule` takes the place of the automatic one; `arch` that of the GPU which is there; `machine` is what
    it is scheduled for. Target `cuda-sim` takes
    options after a colon (runtime/cuda_sim/options.py): `cuda-sim:checked,reverse`.
    """
    base, colon, options = target.partition(":")
    if base not in TARGETS or (colon and base != "cuda-sim"):
        raise UnsupportedError(f"no target '{target}'", hint=f"targets: {', '.join(TARGETS)}")
    if is_dumping():
        folder = dump(name, base, lambda level: text_of(module, level, schedule, machine))
        tell("compile", f"{name}: levels are in {folder}")
    check_dominance(module, "the frontend")
    tell("fusion", lambda: f"{name}: {_fusions(module)}")
    if is_heard("schedule"):
        from ....transforms.schedulers.strategies import APPLIED, Tried, watching

        def note(tried: Tried) -> None:
            if tried.outcome is APPLIED:
                tell("schedule", f"{name}: {tried.nest}: {tried.strategy.name}")

        with watching(note), stage(f"target {base}", module):
            return _build(module, name, base, options if colon else None, schedule, arch, machine, target)
    with stage(f"target {base}", module):
        return _build(module, name, base, options if colon else None, schedule, arch, machine, target)


def _build(
    module: ModuleOp,
    name: str,
    base: str,
    options: str | None,
    schedule: Schedule,
    arch: str | None,
    machine: str | None,
    target: str,
) -> tuple[Kernel, Any]:
    if base == "cuda":
        return _build_cuda(module, name, schedule, arch, machine)
    if arch is not None:
        raise UnsupportedError(
            f"arch={arch!r} names a GPU, and the target is '{target}'",
            hint=f'compile(target="cuda", arch={arch!r})',
        )
    if base == "cuda-sim":
        return _build_simulated(module, name, schedule, options, machine)
    return _BUILDERS[base](module, name, schedule, machine)


def _fusions(module: ModuleOp) -> str:
    """What becomes one nest each."""
    from ....dialects.nt import FusionOp

    lowered = lowered_copy(module, ("to-fusions",))
    fusions = [op for op in lowered.walk() if isinstance(op, FusionOp)]
    texts = [
        f"{op.label.data}: {', '.join(inner.name.removeprefix('nt.') for inner in list(op.body.block.ops)[:-1])}"
        for op in fusions
    ]
    return f"{len(texts)} fusions" + "".join(f"\n  {text}" for text in texts)


def _build_cpu(module: ModuleOp, name: str, schedule: Schedule, machine: str | None) -> tuple[Kernel, Any]:
    from ....analysis.nest.calls import declarations
    from ....lowering.abi.print_calls import PRINT_CALLS
    from ....lowering.nest_common.custom_calls import is_code
    from ....runtime.abi import Packer
    from ....runtime.cpu.engine import compile_llvm_ir
    from ....runtime.cpu.native_code import CodeError

    target = masked(machine)
    if target is not None:
        check_runs(target)
    upstream = lowered_copy(module, ("cpu-to-scf",), schedule, machine)
    branches = BRANCHES.get()
    if branches is not None:
        from .branches import with_branches

        with_branches(upstream, branches)
    function = _function(upstream, name)
    declared = declarations(upstream)
    native = _native_code(upstream, [one for one in declared if is_code(one)], target)
    calls: Sequence[Any] = ()
    if not all(map(is_code, declared)):
        from ....runtime.custom_calls import forms_of, provide

        provide(calls := forms_of(upstream))
    packer, sites = Packer.for_function(function), _sites(function)
    frozen = _frozen_description(upstream, function)
    run_pipeline(upstream, ("cpu-to-llvm",), machine=machine)
    text = _llvm_ir(upstream)
    with stage("LLVM", upstream):
        try:
            engine = compile_llvm_ir(text, machine=target, native=native)
        except CodeError as error:
            raise UnsupportedError(str(error), hint=error.hint) from None
    prints = any(symbol in PRINT_CALLS for symbol in _symbols(module))
    return CpuKernel(engine, name, packer, sites, prints, frozen, calls), engine


def _native_code(module: ModuleOp, declared: Sequence[Any], machine: Any) -> Any:
    """The code of the user's that a module calls. Raises UnsupportedError, at the line of the call, where it is wrong."""
    from ....runtime.cpu.native_code import CodeError, native_code, together

    found = []
    for one in declared:
        try:
            found.append(native_code(one, machine))
        except CodeError as error:
            raise _refused_code(module, one, error, error.hint) from None
    return together(found)


def _refused_code(module: ModuleOp, declared: Any, reason: Exception, hint: str | None) -> UnsupportedError:
    """The error for code that cannot be part of a program, at its first call."""
    from ....analysis.nest.calls import target_of
    from ....dialects.diagnostic import op_location
    from ....lowering.nest_common.custom_calls import called

    name = declared.sym_name.data
    call = next((o for o in module.walk() if called(o) and o.callee.string_value() == name), declared)  # pyright: ignore
    what = f"the code of {target_of(declared)} cannot be used: {reason}"
    return UnsupportedError(what, op_location(call), hint=hint)


def _frozen_description(module: ModuleOp, function: Any) -> FrozenDescription | None:
    """What fills the last arguments of a function, where that is done once: plain data."""
    from ....analysis.nest.values.frozen_arguments import frozen_function
    from ....runtime.abi import Packer

    found = frozen_function(function)
    if found is None:
        return None
    name, arguments = found
    return name, Packer.for_function(_function(module, name)).forms, tuple(arguments)


def _build_interp(module: ModuleOp, name: str, schedule: Schedule, machine: str | None) -> tuple[Kernel, Any]:
    from ....analysis.nest.check_sites import check_sites, site_table
    from ....runtime.errors import KernelError
    from ....runtime.interp.run import compile_nest
    from ....runtime.printing import raise_error
    from ....transforms.schedule.apply_schedule import apply_sequence

    lowered = lowered_copy(module, ("to-nest",))
    for sequence in schedule or ():
        apply_sequence(sequence, lowered)
    function = _function(lowered, name)
    watches = WATCHES.get()
    run = compile_nest(function, mode="program" if watches is None else "watching")
    if watches is not None:
        watches.append(run.watch)  # pyright: ignore
    sites = _site_entries(site_table(check_sites(function)))

    def kernel(arguments: Sequence[Any]) -> None:
        try:
            run(*arguments)
        except KernelError as error:
            failed = error
        else:
            return raise_error()
        raise_error()
        raise kernel_error(sites, failed.code, failed.site, failed.value, failed.extent, failed.numbers)

    return kernel, function


def _build_simulated(
    module: ModuleOp, name: str, schedule: Schedule, text: str | None, machine: str | None
) -> tuple[Kernel, Any]:
    """A simulator with the options in `text`; with those of the environment without any."""
    from ....runtime.cuda_sim.engine import SimEngine
    from ....runtime.cuda_sim.options import parse_options
    from ..call.simulated_kernel import SimulatedKernel

    options = parse_options(text)
    versions = _Versions(
        (module, name, schedule, machine),
        lambda lowered, outputs: SimEngine(lowered, name, options, outputs),
    )
    return SimulatedKernel(versions), versions.small


def _build_cuda(
    module: ModuleOp, name: str, schedule: Schedule, arch: str | None, machine: str | None
) -> tuple[Kernel, Any]:
    from ....runtime.cuda.engine import CudaEngine, load_cupy
    from ....runtime.cuda.host_plan import HostPlan
    from ..call.cuda_kernel import CudaKernel

    if arch is None:
        load_cupy()  # what cannot run is not compiled
    versions = _Versions(
        (module, name, schedule, machine), lambda lowered, _: CudaEngine(HostPlan(lowered, name), arch)
    )
    return CudaKernel(versions, _roles(_function(module, name))), versions.small


class _Versions:
    """A GPU program compiled for indices of 32 bits, and of 64 once a call needs them.

    An engine is told how many of the last arguments are results, which hold nothing before they are written.
    """

    def __init__(
        self,
        program: tuple[ModuleOp, str, Schedule, str | None],
        make_engine: Callable[[ModuleOp, int], Any],
    ):
        self._program = program
        self._make_engine = make_engine
        self._made: dict[str, tuple[Any, list[dict[str, Any]]]] = {}
        self.small = self._version("cuda-small")[0]

    def run(self, arguments: Sequence[Any], on_device: Sequence[Any]) -> tuple[Any, BaseException | None]:
        """Run on arguments; the engine that did, and the failed check."""
        engine, sites = self.of(arguments)
        record = engine(*on_device)
        return engine, kernel_error(sites, *record) if record[0] else None

    def of(self, arguments: Sequence[Any]) -> tuple[Any, list[dict[str, Any]]]:
        """The engine for arguments, and its checks."""
        from ....runtime.cuda.host_program import is_small

        return self._version("cuda-small" if all(map(is_small, arguments)) else "cuda")

    def first(self) -> tuple[Any, list[dict[str, Any]]]:
        """The one with indices of 32 bits."""
        return self._version("cuda-small")

    def long(self) -> tuple[Any, list[dict[str, Any]]]:
        """The one with indices of 64 bits."""
        return self._version("cuda")

    def _version(self, pipeline: str) -> tuple[Any, list[dict[str, Any]]]:
        found = self._made.get(pipeline)
        if found is None:
            module, name, schedule, machine = self._program
            lowered = lowered_copy(module, (pipeline,), schedule, machine)
            check_dominance(lowered, "the lowering to GPUs")
            host = _function(lowered, name)
            outputs = len(host.body.block.args) - len(_function(module, name).body.block.args)
            with own_texts(lowered):
                found = self._made[pipeline] = self._make_engine(lowered, outputs), _sites(host)
        return found


def _roles(function: Any) -> list[str]:
    """What becomes of each argument of the kernel: `in`, `inout`, or `out` for a result, which come last at the nt level.

    At the nest level arguments say it themselves."""
    attributes = function.arg_attrs.data if function.arg_attrs is not None else [None] * len(function.args)
    roles = [_role({} if one is None else one.data) for one in attributes]
    results = (
        function.res_attrs.data
        if function.res_attrs is not None
        else [None] * len(function.function_type.outputs)
    )
    return roles + ["out" for r in results if r is None or NT_WRITES_ARG not in r.data]


def _role(attributes: Mapping[str, Any]) -> str:
    if ROLE in attributes:
        return attributes[ROLE].data
    return "inout" if NT_MUTATED in attributes else "in"


_BUILDERS: dict[str, Callable[[ModuleOp, str, Schedule, str | None], tuple[Kernel, Any]]] = {
    "cpu": _build_cpu,
    "interp": _build_interp,
}


def _function(module: ModuleOp, name: str) -> Any:
    for op in module.body.block.ops:
        symbol = getattr(op, "sym_name", None)
        if op.name == "func.func" and symbol is not None and symbol.data == name:
            return op
    raise AssertionError(f"no function '{name}' in the lowered module")


def _symbols(module: ModuleOp) -> list[str]:
    """The names of the functions of a module."""
    return [op.sym_name.data for op in module.ops if op.name == "func.func"]  # pyright: ignore


def _sites(function: Any) -> list[dict[str, Any]]:
    return _site_entries(function.attributes.get(SITES))


def _site_entries(table: Any) -> list[dict[str, Any]]:
    """The table of checks as plain Python: kind, array, axis, file, line, column, and what a `raise` raises."""
    if table is None:
        return []
    entries = []
    for one in table.data:
        plain = {k: v.data if hasattr(v, "data") else v.value.data for k, v in one.data.items()}
        if "raises" in plain:
            plain["raises"] = registered(plain["raises"])
            if plain["raises"] is None:
                del plain["raises"]
        entries.append({"axis": 0, **plain})
    return entries

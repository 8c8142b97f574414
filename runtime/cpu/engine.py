"""The CPU engine: LLVM IR text to machine code in this process, by llvmlite's LLVM.

    module = compile_llvm_ir(text)
    status = module.entry("f")(arguments, error)     # the packed ABI of docs/levels/llvm.md

`compile_object` and `load_object` (`machine_code.py`) are the two halves: object code that is kept on disk is loaded
without LLVM.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from ...analysis.machine import Cpu
from ..fork_lock import ForkLock
from . import object_loader
from .host import llvm_target
from .machine_code import MachineCode, load_object
from .threads import answered, set_num_threads

if TYPE_CHECKING:
    import llvmlite.binding as llvm

__all__ = [
    "CpuModule",
    "compile_llvm_ir",
    "compile_object",
    "emit_assembly",
    "load_object",
    "set_num_threads",
]

# LLVM's contexts and pass managers are not to be shared between threads.
_lock = ForkLock()

_X86_LEVELS: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("sapphirerapids", ("avx512fp16", "avx512bf16", "amx-tile")),
    ("icelake-server", ("avx512vbmi2", "avx512vnni")),
    ("skylake-avx512", ("avx512f", "avx512bw", "avx512vl")),
    ("haswell", ("avx2", "fma")),
    ("sandybridge", ("avx",)),
)
"""CPU names by the features that imply them, most capable first: LLVM's own guess misnames virtual CPUs."""


@functools.cache
def host() -> tuple[str, str]:
    """The name and the feature string of this CPU, for LLVM."""
    with _lock:
        llvm = _binding()
        guess, features = llvm.get_host_cpu_name(), llvm.get_host_cpu_features()
    enabled = {name for name, on in features.items() if on}
    name = next((name for name, needs in _X86_LEVELS if enabled.issuperset(needs)), guess)
    return name, ",".join([f"{'+' if on else '-'}{feature}" for feature, on in sorted(features.items())])


@functools.cache
def _binding() -> Any:
    """llvmlite's Python, ready to make code for this machine."""
    import llvmlite.binding as llvm

    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    return llvm


def _target_machine(level: int, machine: Cpu | None = None) -> llvm.TargetMachine:
    """LLVM's description of a processor; of this one where none is named."""
    name, features = host() if machine is None else llvm_target(machine)
    target = _target(machine)
    return target.create_target_machine(
        cpu=name, features=features, opt=level, reloc="pic", codemodel=_code_model(), jit=True
    )


def _target(machine: Cpu | None) -> llvm.Target:
    llvm = _binding()
    if machine is None or llvm.get_default_triple().partition("-")[0] == machine.triple.partition("-")[0]:
        return llvm.Target.from_default_triple()
    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()
    return llvm.Target.from_triple(machine.triple)


def _code_model() -> str:
    """LLVM's own loader may place what belongs together far apart, ours does not."""
    return "small" if object_loader.can_load() else "jitdefault"


def _default_level(text: str) -> int:
    """Explicit vectors need tidying only; innermost scalar loops deserve LLVM's loop vectorizer."""
    return 3 if '"nestor-loops"="scalar"' in text else 1


def _optimize(module: llvm.ModuleRef, machine: llvm.TargetMachine, level: int, slp: bool) -> None:
    if level == 0:
        return
    llvm = _binding()
    options = llvm.create_pipeline_tuning_options(speed_level=level)
    options.loop_vectorization = level > 1
    options.slp_vectorization = level > 1 and slp
    options.loop_interleaving = level > 1
    options.loop_unrolling = level > 1
    builder = llvm.create_pass_builder(machine, options)
    if level > 1:
        builder.getModulePassManager().run(module, builder)
        return
    passes = llvm.create_new_function_pass_manager()
    passes.add_sroa_pass()
    passes.add_instruction_combine_pass()
    passes.add_new_gvn_pass()
    passes.add_simplify_cfg_pass()
    for function in module.functions:
        if not function.is_declaration:
            passes.run(function, builder)


def _prepare(text: str, level: int | None, target: Cpu | None) -> tuple[llvm.ModuleRef, llvm.TargetMachine]:
    chosen = _default_level(text) if level is None else level
    machine = _target_machine(chosen, target)
    module = _binding().parse_assembly(answered(text))
    module.triple = machine.triple
    module.data_layout = str(machine.target_data)
    module.verify()
    _optimize(module, machine, chosen, slp='"nestor-slp"="off"' not in text)
    return module, machine


def compile_object(text: str, *, opt_level: int | None = None, machine: Cpu | None = None) -> bytes:
    """LLVM IR text -> relocatable object code for a machine; None is this one.

    `opt_level` is 0 to 3; None chooses 1 for explicit-vector code and 3 where scalar loops may profit.
    Raises RuntimeError (from LLVM) when the text is not valid.
    """
    with _lock:
        module, target = _prepare(text, opt_level, machine)
        return target.emit_object(module)


def emit_assembly(text: str, *, opt_level: int | None = None, machine: Cpu | None = None) -> str:
    """LLVM IR text -> assembly text for a machine, this one where none is named, optimised as `compile_llvm_ir` would."""
    with _lock:
        module, target = _prepare(text, opt_level, machine)
        return target.emit_assembly(module)


def compile_llvm_ir(
    text: str,
    *,
    opt_level: int | None = None,
    symbols: Mapping[str, int] | None = None,
    machine: Cpu | None = None,
) -> CpuModule:
    """LLVM IR text -> loaded machine code, with the instructions of `machine` only.

    `symbols` are the addresses of what it refers to beside the runtime.
    """
    code = compile_object(text, opt_level=opt_level, machine=machine)
    return CpuModule(code, text, opt_level, symbols, machine)


def load_with_llvm(object_code: bytes, symbols: Mapping[str, int]) -> llvm.ExecutionEngine:
    """Object code linked by LLVM, where `object_loader.py` does not know the machine."""
    with _lock:
        llvm = _binding()
        for name, address in symbols.items():
            llvm.add_symbol(name, address)
        # An engine wants a module of its own; the code comes from the object file.
        engine = llvm.create_mcjit_compiler(llvm.parse_assembly(""), _target_machine(0))
        engine.add_object_file(llvm.ObjectFileRef.from_data(object_code))
        engine.finalize_object()
        return engine


class CpuModule(MachineCode):
    """Machine code in this process, and the LLVM IR that it was made from."""

    def __init__(
        self,
        object_code: bytes,
        text: str,
        opt_level: int | None = None,
        symbols: Mapping[str, int] | None = None,
        machine: Cpu | None = None,
    ):
        super().__init__(object_code, symbols)
        self.llvm_ir = text
        self._opt_level = opt_level
        self._machine = machine

    @property
    def assembly(self) -> str:
        """Assembly text of the module (compiled again: machine code keeps no text)."""
        return emit_assembly(self.llvm_ir, opt_level=self._opt_level, machine=self._machine)

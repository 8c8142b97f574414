"""LLVM made ready for a machine: its name and features, how code for it is placed, and LLVM's own loader."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from ...analysis.machine import Cpu
from ..cpu import object_loader
from ..fork_lock import ForkLock
from .host import llvm_target

if TYPE_CHECKING:
    import llvmlite.binding as llvm

# LLVM's contexts and pass managers are not to be shared between threads.
lock = ForkLock()

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
    with lock:
        llvm = binding()
        guess, features = llvm.get_host_cpu_name(), llvm.get_host_cpu_features()
    enabled = {name for name, on in features.items() if on}
    name = next((name for name, needs in _X86_LEVELS if enabled.issuperset(needs)), guess)
    return name, ",".join([f"{'+' if on else '-'}{feature}" for feature, on in sorted(features.items())])


@functools.cache
def binding() -> Any:
    """llvmlite's Python, ready to make code for this machine."""
    import llvmlite.binding as llvm

    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    return llvm


def target_machine(level: int, machine: Cpu | None = None) -> llvm.TargetMachine:
    """LLVM's description of a processor; of this one where none is named."""
    name, features = host() if machine is None else llvm_target(machine)
    target = _target(machine)
    return target.create_target_machine(
        cpu=name, features=features, opt=level, reloc="pic", codemodel=_code_model(), jit=True
    )


def module_of(text: str, machine: llvm.TargetMachine) -> llvm.ModuleRef:
    """LLVM IR text as a verified module for a machine. Raises RuntimeError where it is not valid."""
    module = binding().parse_assembly(text)
    module.triple = machine.triple
    module.data_layout = str(machine.target_data)
    module.verify()
    return module


def run_passes(passes: Any, of: Iterable[Any], builder: llvm.PassBuilder) -> None:
    """Run a pass manager on modules or functions, and give its memory back.

    `close` of llvmlite 0.50 gives back nothing of it, up to 200 KB a program: of its two bases the one comes first whose
    `_dispose` does nothing.
    """
    from llvmlite.binding.newpassmanagers import NewPassManager

    try:
        for one in of:
            passes.run(one, builder)
    finally:
        NewPassManager._dispose(passes)
        passes.detach()


def _target(machine: Cpu | None) -> llvm.Target:
    llvm = binding()
    if machine is None or llvm.get_default_triple().partition("-")[0] == machine.triple.partition("-")[0]:
        return llvm.Target.from_default_triple()
    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()
    return llvm.Target.from_triple(machine.triple)


def _code_model() -> str:
    """LLVM's own loader may place what belongs together far apart, ours does not."""
    return "small" if object_loader.can_load() else "jitdefault"


def load_with_llvm(object_code: bytes, symbols: Mapping[str, int]) -> llvm.ExecutionEngine:
    """Object code linked by LLVM, where `object_loader.py` does not know the machine."""
    with lock:
        llvm = binding()
        for name, address in symbols.items():
            llvm.add_symbol(name, address)
        # An engine wants a module of its own; the code comes from the object file.
        engine = llvm.create_mcjit_compiler(llvm.parse_assembly(""), target_machine(0))
        engine.add_object_file(llvm.ObjectFileRef.from_data(object_code))
        engine.finalize_object()
        return engine

"""The CPU engine: LLVM IR text to machine code in this process, through llvmlite.

    module = compile_llvm_ir(text)
    status = module.entry("f")(arguments, error)     # the packed ABI of docs/architecture.md, section 5

`compile_object` and `load_object` are the two halves, so that object code can be kept on disk: a cached
kernel loads in about a millisecond and needs no LLVM optimisation.
"""

from __future__ import annotations

import ctypes
import functools
from collections.abc import Callable
from typing import Any

import llvmlite.binding as llvm

from . import custom_calls, printing
from .fork_lock import ForkLock
from .threads import install_thread_library, set_num_threads

__all__ = [
    "CpuModule",
    "compile_llvm_ir",
    "compile_object",
    "emit_assembly",
    "load_object",
    "set_num_threads",
]

EntryPoint = Callable[[Any, Any], int]
_ENTRY_TYPE = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_void_p, ctypes.c_void_p)

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
        llvm.initialize_native_target()
        llvm.initialize_native_asmprinter()
        features = llvm.get_host_cpu_features()
    enabled = {name for name, on in features.items() if on}
    name = next((name for name, needs in _X86_LEVELS if enabled.issuperset(needs)), llvm.get_host_cpu_name())
    return name, features.flatten()


def _target_machine(level: int) -> llvm.TargetMachine:
    name, features = host()
    target = llvm.Target.from_default_triple()
    return target.create_target_machine(
        cpu=name, features=features, opt=level, reloc="pic", codemodel="jitdefault", jit=True
    )


def _default_level(text: str) -> int:
    """Explicit vectors need tidying only; innermost scalar loops deserve LLVM's loop vectorizer."""
    return 3 if '"nestor-loops"="scalar"' in text else 1


def _optimize(module: llvm.ModuleRef, machine: llvm.TargetMachine, level: int, slp: bool) -> None:
    if level == 0:
        return
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


def _prepare(text: str, level: int | None) -> tuple[llvm.ModuleRef, llvm.TargetMachine]:
    chosen = _default_level(text) if level is None else level
    machine = _target_machine(chosen)
    module = llvm.parse_assembly(text)
    module.triple = machine.triple
    module.data_layout = str(machine.target_data)
    module.verify()
    _optimize(module, machine, chosen, slp='"nestor-slp"="off"' not in text)
    return module, machine


def compile_object(text: str, *, opt_level: int | None = None) -> bytes:
    """LLVM IR text -> relocatable object code for this host.

    `opt_level` is 0 to 3; None chooses 1 for explicit-vector code and 3 where scalar loops may profit.
    Raises RuntimeError (from LLVM) when the text is not valid.
    """
    with _lock:
        module, machine = _prepare(text, opt_level)
        return machine.emit_object(module)


def emit_assembly(text: str, *, opt_level: int | None = None) -> str:
    """LLVM IR text -> assembly text for this host, optimised as `compile_llvm_ir` would."""
    with _lock:
        module, machine = _prepare(text, opt_level)
        return machine.emit_assembly(module)


def compile_llvm_ir(text: str, *, opt_level: int | None = None) -> CpuModule:
    """LLVM IR text -> loaded machine code."""
    return CpuModule(compile_object(text, opt_level=opt_level), text, opt_level)


def load_object(code: bytes) -> CpuModule:
    """Object code from `compile_object` -> loaded machine code."""
    return CpuModule(code)


class CpuModule:
    """Machine code in this process. Its entry points are valid while the module is referenced."""

    def __init__(self, object_code: bytes, text: str | None = None, opt_level: int | None = None):
        self.object_code = object_code
        self.llvm_ir = text
        self._opt_level = opt_level
        self._entries: dict[str, EntryPoint] = {}
        install_thread_library()
        with _lock:
            # An engine wants a module of its own; the code comes from the object file.
            for name, address in {**printing.addresses(), **custom_calls.addresses()}.items():
                llvm.add_symbol(name, address)
            holder = llvm.parse_assembly("")
            self._engine = llvm.create_mcjit_compiler(holder, _target_machine(0))
            self._engine.add_object_file(llvm.ObjectFileRef.from_data(object_code))
            self._engine.finalize_object()

    def address(self, name: str) -> int:
        """The address of a function. Raises KeyError when there is none of that name."""
        address = self._engine.get_function_address(name)
        if not address:
            raise KeyError(name)
        return address

    def entry(self, name: str) -> EntryPoint:
        """The packed entry point `name` as a ctypes callable: `entry(arguments, error) -> status`."""
        function = self._entries.get(name)
        if function is None:
            function = self._entries[name] = _ENTRY_TYPE(self.address(name))
            function.owner = self  # type: ignore[attr-defined]  # keeps the code alive while it is held
        return function

    @property
    def assembly(self) -> str:
        """Assembly text of the module (compiled again: machine code keeps no text)."""
        if self.llvm_ir is None:
            raise ValueError("a module loaded from object code has no LLVM IR to print")
        return emit_assembly(self.llvm_ir, opt_level=self._opt_level)

"""The CPU engine: LLVM IR text to machine code in this process, by llvmlite's LLVM.

    module = compile_llvm_ir(text)
    status = module.entry("f")(arguments, error)     # the packed ABI of docs/levels/llvm.md

`compile_object` and `load_object` (`machine_code.py`) are the two halves: object code that is kept on disk is loaded
without LLVM.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from ...analysis.machine import Cpu
from .interruptions import polling
from .llvm_machine import binding, lock, module_of, run_passes, target_machine
from .loop_functions import SCALAR, parted
from .machine_code import MachineCode
from .native_code import NO_CODE, NativeCode
from .threads import answered

if TYPE_CHECKING:
    import llvmlite.binding as llvm


def _default_level(text: str) -> int:
    """Explicit vectors need tidying only; innermost scalar loops deserve LLVM's loop vectorizer."""
    return 3 if SCALAR in text else 1


def _optimize(module: llvm.ModuleRef, machine: llvm.TargetMachine, level: int, slp: bool) -> None:
    if level == 0:
        return
    llvm = binding()
    options = llvm.create_pipeline_tuning_options(speed_level=level)
    options.loop_vectorization = level > 1
    options.slp_vectorization = level > 1 and slp
    options.loop_interleaving = level > 1
    options.loop_unrolling = level > 1
    builder = llvm.create_pass_builder(machine, options)
    if level > 1:
        run_passes(builder.getModulePassManager(), [module], builder)
        return
    passes = llvm.create_new_function_pass_manager()
    passes.add_sroa_pass()
    passes.add_instruction_combine_pass()
    passes.add_new_gvn_pass()
    passes.add_simplify_cfg_pass()
    run_passes(passes, [f for f in module.functions if not f.is_declaration], builder)


def _prepare(
    text: str, level: int | None, target: Cpu | None, native: NativeCode = NO_CODE
) -> tuple[llvm.ModuleRef, llvm.TargetMachine]:
    module, machine = _prepared(text, level, target)
    native.linked(module, lambda own: _own_code(own, machine))
    return module, machine


def _own_code(text: str, machine: llvm.TargetMachine) -> llvm.ModuleRef:
    module = module_of(text, machine)
    _optimize(module, machine, 3, slp=True)
    return module


def _prepared(text: str, level: int | None, target: Cpu | None) -> tuple[llvm.ModuleRef, llvm.TargetMachine]:
    chosen = _default_level(text) if level is None else level
    machine = target_machine(chosen, target)
    parts = parted(text) if level is None else None
    if parts is None:
        return _optimized(text, machine, chosen), machine
    module = _optimized(parts.vectors, machine, 1)
    module.link_in(_optimized(parts.loops, machine, chosen))
    for name in parts.internal:
        module.get_function(name).linkage = "internal"
    return module, machine


def _optimized(text: str, machine: llvm.TargetMachine, level: int) -> llvm.ModuleRef:
    module = module_of(polling(answered(text)), machine)
    _optimize(module, machine, level, slp='"nestor-slp"="off"' not in text)
    return module


def compile_object(
    text: str, *, opt_level: int | None = None, machine: Cpu | None = None, native: NativeCode = NO_CODE
) -> bytes:
    """LLVM IR text -> relocatable object code for a machine, with the user's `native` code; None is this one.

    `opt_level` is 0 to 3; None chooses 1 for explicit-vector code and 3 where scalar loops may profit.
    Raises RuntimeError (from LLVM) when the text is not valid, CodeError where code cannot be linked.
    """
    with lock:
        module, target = _prepare(text, opt_level, machine, native)
        code = target.emit_object(module)
    return native.joined(code)


def emit_assembly(
    text: str, *, opt_level: int | None = None, machine: Cpu | None = None, native: NativeCode = NO_CODE
) -> str:
    """LLVM IR text -> assembly text for a machine, this one where none is named, optimised as `compile_llvm_ir` would. What
    was C is not in it."""
    with lock:
        module, target = _prepare(text, opt_level, machine, native)
        return target.emit_assembly(module)


def compile_llvm_ir(
    text: str,
    *,
    opt_level: int | None = None,
    symbols: Mapping[str, int] | None = None,
    machine: Cpu | None = None,
    native: NativeCode = NO_CODE,
) -> CpuModule:
    """LLVM IR text -> loaded machine code, with the instructions of `machine` only.

    `symbols` are the addresses of what it refers to beside the runtime, `native` is code that becomes a part of it.
    """
    code = compile_object(text, opt_level=opt_level, machine=machine, native=native)
    return CpuModule(code, text, opt_level, symbols, machine, native)


class CpuModule(MachineCode):
    """Machine code in this process, and the LLVM IR that it was made from."""

    def __init__(
        self,
        object_code: bytes,
        text: str,
        opt_level: int | None = None,
        symbols: Mapping[str, int] | None = None,
        machine: Cpu | None = None,
        native: NativeCode = NO_CODE,
    ):
        super().__init__(object_code, symbols)
        self.native = native
        self.llvm_ir = text
        self._opt_level = opt_level
        self._machine = machine

    @property
    def assembly(self) -> str:
        """Assembly text of the module (compiled again: machine code keeps no text)."""
        return emit_assembly(
            self.llvm_ir, opt_level=self._opt_level, machine=self._machine, native=self.native
        )

"""What `-t` can print: the IR itself, or the text that an emitter makes of it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from typing import Any

from xdsl.dialects.builtin import ModuleOp

from ...analysis.machine import Cpu
from ...dialects.diagnostic import NestorError
from .levels import require_gpu_level, require_llvm_level
from .printing import PrintOptions, print_ir


@dataclass(frozen=True)
class Target:
    """A form of output: one line on it, and the function that makes it. A document cannot be followed by another.

    A target that `runs` the program takes the options of `--run`.
    """

    description: str
    emit: Callable[[ModuleOp, PrintOptions], str | bytes]
    is_document: bool = False
    runs: bool = False


def _emitter(module: str, function: str, target: str) -> Callable[..., Any]:
    try:
        return getattr(import_module(f"...{module}", __package__), function)
    except (ImportError, AttributeError) as error:
        raise NestorError(f"target '{target}' is not available here: {error}") from error


def _emit_mlir(module: ModuleOp, options: PrintOptions) -> str:
    return print_ir(module, options)


def _emit_llvm_ir(module: ModuleOp, options: PrintOptions) -> str:
    require_llvm_level(module, "llvm-ir")
    return _emitter("lowering.llvm_ir.emit", "emit_llvm_ir", "llvm-ir")(module)


def _emit_asm(module: ModuleOp, options: PrintOptions) -> str:
    require_llvm_level(module, "asm")
    text = _emitter("lowering.llvm_ir.emit", "emit_llvm_ir", "asm")(module)
    machine = options.machine if isinstance(options.machine, Cpu) else None
    return _emitter("runtime.cpu.engine", "emit_assembly", "asm")(text, machine=machine)


def _emit_object(module: ModuleOp, options: PrintOptions) -> bytes:
    require_llvm_level(module, "object")
    text = _emitter("lowering.llvm_ir.emit", "emit_llvm_ir", "object")(module)
    machine = options.machine if isinstance(options.machine, Cpu) else None
    not_alone = _emitter("runtime.cpu.freestanding", "NotAlone", "object")
    try:
        return _emitter("runtime.cpu.freestanding", "compile_linkable", "object")(text, machine)
    except not_alone as missing:
        raise NestorError(
            f"target 'object': the program calls '{missing}', which only a process of Python has",
            hint="programs that print or call Python have no object file",
        ) from None


def _emit_cuda(module: ModuleOp, options: PrintOptions) -> str:
    require_gpu_level(module, "cuda")
    return _emitter("lowering.cuda_c.emit", "emit_cuda", "cuda")(module)


def _emit_ptx(module: ModuleOp, options: PrintOptions) -> str:
    require_gpu_level(module, "ptx")
    text = _emitter("lowering.cuda_c.emit", "emit_cuda", "ptx")(module)
    return _emitter("runtime.cuda.nvrtc", "compile_ptx", "ptx")(text)


def _emit_ptxas_report(module: ModuleOp, options: PrintOptions) -> str:
    require_gpu_level(module, "ptxas-report")
    cuda = _emitter("lowering.cuda_c.emit", "print_cuda", "ptxas-report")(module)
    compile_cubin = _emitter("runtime.cuda.nvrtc", "compile_cubin", "ptxas-report")
    with_launches = _emitter("runtime.cuda.kernel_resources", "with_launches", "ptxas-report")
    table = _emitter("runtime.cuda.kernel_resources", "table", "ptxas-report")
    kernels = {arch: compile_cubin(cuda.source, arch).kernels for arch in ("sm_80", "sm_90")}
    signatures = cuda.signatures.values()
    return "\n".join(f"{table(with_launches(found, signatures), arch)}\n" for arch, found in kernels.items())


def _emit_cuda_sim_report(module: ModuleOp, options: PrintOptions) -> str:
    from .run_arguments import RunRequest
    from .simulate import simulate

    return str(simulate(module, RunRequest(None, [], {}, "program", 0)))


def _emit_for_mlir_opt(module: ModuleOp, options: PrintOptions) -> str:
    from .irdl_export import for_mlir_opt

    return for_mlir_opt(module)


def _emit_nest_tree(module: ModuleOp, options: PrintOptions) -> str:
    return _emitter("lowering.pictures.nest_tree", "emit_nest_tree", "nest-tree")(
        module, places=options.debuginfo
    )


def _emit_nest_svg(module: ModuleOp, options: PrintOptions) -> str:
    return _emitter("lowering.pictures.nest_svg", "emit_nest_svg", "nest-svg")(module)


def _emit_nest_html(module: ModuleOp, options: PrintOptions) -> str:
    return _emitter("lowering.pictures.nest_svg", "emit_nest_html", "nest-html")(module)


def _emit_nt_graph(module: ModuleOp, options: PrintOptions) -> str:
    return _emitter("lowering.pictures.nt_graph", "emit_nt_graph", "nt-graph")(module)


def _emit_nt_graph_html(module: ModuleOp, options: PrintOptions) -> str:
    return _emitter("lowering.pictures.nt_graph", "emit_nt_graph_html", "nt-graph-html")(module)


def _emit_nt_svg(module: ModuleOp, options: PrintOptions) -> str:
    return _emitter("frontend.jit.explain.derivative_picture", "derivative_svg", "nt-svg")(module)


TARGETS: dict[str, Target] = {
    "mlir": Target("the IR as text (the default)", _emit_mlir),
    "llvm-ir": Target("LLVM IR, from the llvm level", _emit_llvm_ir),
    "asm": Target("assembly of this machine, or that of --machine, from the llvm level", _emit_asm),
    "object": Target(
        "an object file for this machine, or that of --machine, from the llvm level", _emit_object, True
    ),
    "cuda": Target("CUDA C, from the gpu level", _emit_cuda),
    "ptx": Target("PTX by NVRTC, from the gpu level", _emit_ptx),
    "ptxas-report": Target(
        "registers, shared memory, spills and occupancy of each kernel, from the gpu level",
        _emit_ptxas_report,
    ),
    "cuda-sim-report": Target(
        "faults and memory traffic of kernels, run by the CUDA simulator, from the gpu level",
        _emit_cuda_sim_report,
        runs=True,
    ),
    "mlir-opt": Target(
        "the IR for mlir-opt --irdl-file, with the dialects that --show-dialects --irdl prints",
        _emit_for_mlir_opt,
    ),
    "nt-svg": Target(
        "both halves of derivatives and what is kept between them as a picture, from the nt level",
        _emit_nt_svg,
        True,
    ),
    "nt-graph": Target(
        "operations, fusions, loops and branches as a picture, from the nt level", _emit_nt_graph, True
    ),
    "nt-graph-html": Target("the same picture as a page", _emit_nt_graph_html, True),
    "nest-tree": Target("loops and statements as a tree of text, from the nest level", _emit_nest_tree),
    "nest-svg": Target(
        "loops, statements and dependences as a picture, from the nest level", _emit_nest_svg, True
    ),
    "nest-html": Target("the same picture as a page", _emit_nest_html, True),
}

BY_MACHINE = ("asm", "object")
"""Targets that are for a machine themselves."""

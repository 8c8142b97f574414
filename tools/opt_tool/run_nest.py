"""`--run`: a nest-level function, run by the reference interpreter on given or generated inputs.

Inputs are `.npy` files, or numbers for scalar arguments, in the order of the arguments (those with the role
`out` left out); without any they are generated, always the same ones. Extents come from the inputs and from
`--extents n=5,m=7`; they are 8 where all is generated. Results are the buffers that the function writes.
"""

from __future__ import annotations

from io import BytesIO
from zipfile import ZipFile

import numpy as np
from xdsl.dialects.builtin import MemRefType, ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import SSAValue

from ...analysis.nest.check_sites import check_sites
from ...analysis.nest.sets.dependence import analyse
from ...dialects.diagnostic import NestorError, fail
from ...runtime import scalar_eval
from ...runtime.errors import NAMES, KernelError
from ...runtime.interp.run import run_nest
from .run_arguments import Arguments, RunRequest, entry_function, role_of


def run_module(module: ModuleOp, request: RunRequest) -> dict[str, np.ndarray]:
    """Run the entry function; the buffers it writes, by the names of the arguments."""
    function = _entry(module, request.entry)
    arguments = Arguments(function, request.inputs, request.extents)
    values = arguments.values()
    try:
        run_nest(function, values, mode=request.mode, seed=request.seed)
    except KernelError as error:
        raise _located(function, error) from error
    except ZeroDivisionError as error:
        raise fail(function, f"ZeroDivisionError: {error}") from error
    return {arguments.names[k]: values[k] for k in _written(function)}


def print_results(results: dict[str, np.ndarray]) -> str:
    """Results as NumPy shows arrays, a name each."""
    if not results:
        return "no buffer is written\n"
    texts = []
    for name, array in results.items():
        head = f"{name} = "
        body = np.array_repr(array).replace("\n", "\n" + " " * len(head))
        texts.append(f"{head}{body}\n")
    return "".join(texts)


def save_results(results: dict[str, np.ndarray], path: str) -> bytes:
    """The bytes of an `.npy` file of the only result, or of an `.npz` file of all."""
    stream = BytesIO()
    if path.endswith(".npz"):
        with ZipFile(stream, "w") as archive:
            for name, array in results.items():
                with archive.open(f"{name}.npy", "w") as member:
                    np.lib.format.write_array(member, array)
    elif len(results) == 1:
        np.save(stream, next(iter(results.values())))
    else:
        names = ", ".join(results) or "none"
        raise NestorError(
            f"an .npy file holds one result, there are {len(results)}: {names}", hint="write an .npz file"
        )
    return stream.getvalue()


def _entry(module: ModuleOp, name: str | None) -> FuncOp:
    function = entry_function(module, name)
    if function.function_type.outputs or any(not _is_known(a) for a in function.args):
        raise fail(
            function,
            f"--run: @{function.sym_name.data} is not at the nest level: it takes memrefs and scalars and has no results",
            hint="lower it first: -p convert-nt-to-nest",
        )
    return function


def _is_known(argument: SSAValue) -> bool:
    kind = argument.type.element_type if isinstance(argument.type, MemRefType) else argument.type
    try:
        scalar_eval.dtype_of(kind)
    except NestorError:
        return False
    return True


def _located(function: FuncOp, error: KernelError) -> NestorError:
    """The error of a check, at the check."""
    site = next((op for op, number in check_sites(function).items() if number == error.site), None)
    kind = NAMES[error.code]
    text = (
        f"index {error.value} is out of bounds for an axis of {error.extent}"
        if kind == "IndexError"
        else "check failed"
    )
    return fail(site or function, f"{kind}: {text}")


def _written(function: FuncOp) -> list[int]:
    """The arguments that the function writes, or that it says are results."""
    accesses = analyse(function).accesses
    roots = {access.root for access in accesses if access.writes}
    return [
        k
        for k, a in enumerate(function.args)
        if isinstance(a.type, MemRefType) and (a in roots or None in roots or role_of(a) in ("out", "inout"))
    ]

"""`nestor-export`: a function of a Python file as a C library, or as a saved program, from the command line.

nestor-export model.py:softmax --spec "f32[rows,columns]" -o lib
nestor-export model.py:softmax --spec "f32[100,?]" -o softmax.nestor --machine x86-64-v3
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence


def main(arguments: Sequence[str] | None = None) -> int:
    """Run it; the exit code: 0 fine, 1 what could not be done is said on standard error, 2 usage."""
    try:
        options = _parser().parse_args(sys.argv[1:] if arguments is None else arguments)
    except SystemExit as stop:
        return stop.code if isinstance(stop.code, int) else 2
    from ..dialects.diagnostic import NestorError

    try:
        for file in _export(options):
            print(file)
    except NestorError as error:
        print(error, file=sys.stderr)
        return 1
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="nestor-export",
        description="Compile a Python function into a C library, or into a program for nt.load.",
        allow_abbrev=False,
    )
    add = parser.add_argument
    add("function", metavar="FILE.py:FUNCTION", help="the function; the file is run")
    add(
        "--spec",
        default="",
        metavar="TEXT",
        help='types of its arguments: "8x f32[100,1000], f64[?,n] strided, int"',
    )
    add("-o", "--output", required=True, metavar="PLACE", help="a folder for a C library, or a file *.nestor")
    add("--name", help="the name of the C function (default: the function's)")
    add(
        "--threads",
        default="openmp",
        choices=("openmp", "none"),
        help="libgomp, or one thread and no library",
    )
    add("--machine", metavar="NAME", help="the processor that it is compiled for (docs/machines.md)")
    add("--cc", metavar="COMPILER", help="the C compiler (default: CC, else cc)")
    return parser


def _export(options: argparse.Namespace) -> list[str]:
    """The files that were written."""
    from ..frontend.interface.errors import UnsupportedError
    from ..frontend.jit.driver.emit import lowered

    is_saved = options.output.endswith(".nestor")
    for name, usual in (("name", None), ("threads", "openmp"), ("cc", None)):
        if is_saved and getattr(options, name) != usual:
            raise UnsupportedError(
                f"--{name} is for C libraries", hint="-o names a folder, not a file *.nestor"
            )
    compiled = lowered(options.function, options.spec, machine=options.machine).compile("cpu")
    if is_saved:
        compiled.save(options.output)
        return [options.output]
    return compiled.export_c(options.output, options.name, threads=options.threads, cc=options.cc)


if __name__ == "__main__":
    sys.exit(main())

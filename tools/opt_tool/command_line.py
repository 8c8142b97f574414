"""The command line of opt-tool: its options, its help, and what it says to a misspelled one."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from difflib import get_close_matches
from typing import NoReturn

from .help_topics import TOPICS, help_on

SHELLS = ("bash", "zsh", "fish")

_DESCRIPTION = "Run compiler passes over textual IR: parse, transform, check, print."

_EXAMPLES = """\
examples:
  opt-tool in.mlir                                   parse, verify, print
  opt-tool in.mlir -p canonicalize,cse               two passes
  opt-tool in.mlir -p 'nest-split{loop=i factor=16}' a pass with options (quote it)
  opt-tool in.mlir -p cpu -t llvm-ir                 a named pipeline, then LLVM IR
  opt-tool --pass-pipeline='builtin.module(func.func(cse))' in.mlir
                                                     cse on each function alone
  opt-tool --emit-nt prog.py:f --spec "2x f32[?,100], int"
                                                     a Python function as IR
  cat in.mlir | opt-tool -p cse --print-ir-after-all -o out.mlir

topics: opt-tool --help passes   (targets, input, python, running, printing, checking, debugging, information)

exit codes: 0 fine, 1 the input or a pass is at fault, 2 the command line is, 3 opt-tool itself is
"""

_MLIR_SPELLINGS = {
    "--mlir-print-ir-before": "--print-ir-before",
    "--mlir-print-ir-before-all": "--print-ir-before-all",
    "--mlir-print-ir-after": "--print-ir-after",
    "--mlir-print-ir-after-all": "--print-ir-after-all",
    "--mlir-print-ir-after-change": "--print-ir-after-change",
    "--mlir-print-ir-after-failure": "--print-ir-after-failure",
    "--mlir-print-op-generic": "--print-op-generic",
    "--mlir-print-debuginfo": "--print-debuginfo",
    "--mlir-timing": "--timing",
    "--mlir-pass-pipeline-crash-reproducer": "--crash-reproducer",
}
"""mlir-opt's names for the same things."""


def parse_command_line(arguments: Sequence[str]) -> argparse.Namespace:
    """The options. Exits with code 2 and a short message on a bad command line, 0 after `--help`."""
    parser = make_parser()
    return parser.parse_args([_accept_mlir_spelling(parser, argument) for argument in arguments])


class _Parser(argparse.ArgumentParser):
    """argparse, with a suggestion instead of the whole usage text."""

    def error(self, message: str) -> NoReturn:
        print(f"opt-tool: error: {message}", file=sys.stderr)
        hints = (self._suggestion(word) for word in message.split())
        hint = next((h for h in hints if h), "opt-tool --help lists the options")
        print(f"  help: {hint}", file=sys.stderr)
        sys.exit(2)

    def _suggestion(self, word: str) -> str | None:
        if word.endswith("}"):
            return "quote the pipeline for the shell when it has spaces: -p 'pass{a=1 b=2}'"
        if not word.startswith("--"):
            return None
        name = word.partition("=")[0].rstrip(":")
        close = get_close_matches(name, list(self._option_string_actions), 2)
        if name in self._option_string_actions:
            return None
        from .resolve import known_names

        if name[2:] in known_names():
            return f"'{name[2:]}' is a pass: -p {name[2:]}"
        return f"did you mean {' or '.join(close)}?" if close else None


def _accept_mlir_spelling(parser: argparse.ArgumentParser, argument: str) -> str:
    """`-pass-pipeline=x` and `--mlir-timing`, as mlir-opt accepts them."""
    known = parser._option_string_actions
    name, equals, value = argument.partition("=")
    if name.startswith("-") and not name.startswith("--") and len(name) > 2:
        double = f"-{name}"
        if double in known or double in _MLIR_SPELLINGS:
            name = double
    return _MLIR_SPELLINGS.get(name, name) + equals + value


def make_parser() -> argparse.ArgumentParser:
    """The parser with every option, grouped as `--help` shows them."""
    parser = _Parser(
        prog="opt-tool",
        usage="opt-tool [input.mlir] [-p passes] [-t target] [-o output] [options]",
        description=_DESCRIPTION,
        epilog=_EXAMPLES,
        formatter_class=lambda prog: argparse.RawDescriptionHelpFormatter(
            prog, max_help_position=34, width=100
        ),
        allow_abbrev=False,
        add_help=False,
    )
    parser.add_argument("input", nargs="?", default="-", help="textual IR; '-' or nothing is standard input")
    _add_main_options(parser)
    _add_input_options(parser)
    _add_python_options(parser)
    _add_run_options(parser)
    _add_printing_options(parser)
    _add_checking_options(parser)
    _add_debugging_options(parser)
    _add_information_options(parser)
    return parser


def _add_main_options(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("what to do")
    add = group.add_argument
    add("-p", "--passes", metavar="PASSES", help="passes and named pipelines, separated by commas")
    add("--pass-pipeline", metavar="TEXT", help="the same, anchored: builtin.module(func.func(cse),...)")
    add(
        "--apply-schedule",
        metavar="FILE",
        action="append",
        default=[],
        help="apply the schedules of this file, before the passes",
    )
    add(
        "-t",
        "--target",
        metavar="NAME",
        default="mlir",
        help="what to print: mlir, llvm-ir, asm, object, cuda, ptx, ptxas-report, cuda-sim-report, mlir-opt, nt-graph, "
        "nt-graph-html, nt-svg, nest-tree, nest-svg, nest-html (--help targets)",
    )
    add(
        "--machine",
        metavar="NAME",
        help="the processor or GPU that is scheduled and compiled for (docs/machines.md); host is this one",
    )
    add(
        "-o", "--output", metavar="FILE", default="-", help="write to this file, all of the output or nothing"
    )


def _add_input_options(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument_group("input").add_argument
    add("--split-input-file", action="store_true", help="treat pieces between '// -----' lines one by one")
    add("--allow-unregistered-dialect", action="store_true", help="accept operations of unknown dialects")
    add(
        "--load-pass-plugin",
        metavar="FILE",
        action="append",
        default=[],
        help="a Python file whose passes can be used",
    )
    add(
        "--run-reproducer",
        action="store_true",
        help="run the pipeline in the input's reproducer block",
    )


def _add_python_options(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument_group("Python in, instead of IR").add_argument
    add("--emit-nt", metavar="FILE:FUNCTION", help="the nt module of a Python function: prog.py:f")
    add(
        "--spec", metavar="TYPES", default="", help='its arguments: "8x f32[100,1000], f64[?,n] strided, int"'
    )


def _add_run_options(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument_group("running, instead of printing (or for -t cuda-sim-report)").add_argument
    add("--run", action="store_true", help="run a nest-level function by the reference interpreter")
    add("--entry", metavar="NAME", help="the function to run, where there are several")
    add(
        "--input",
        metavar="VALUE",
        dest="input_values",
        action="append",
        default=[],
        help="an input, in the order of the arguments: a .npy file, or a number; repeat it",
    )
    add("--extents", metavar="N=5,...", type=_extents, default={}, help="unknown extents: n=5, or x.0=5")
    add("--mode", choices=("program", "shuffled"), help="order of loops that are marked (default: program)")
    add("--seed", metavar="N", type=int, help="the seed of the order in mode shuffled")


def _extents(text: str) -> dict[str, int]:
    extents = {}
    for part in filter(None, (piece.strip() for piece in text.split(","))):
        name, _, number = part.partition("=")
        if not name or not number.isdecimal():
            raise argparse.ArgumentTypeError(
                f"'{part}' is not an extent: write n=5,m=7, or x.0=5 for an axis"
            )
        extents[name] = int(number)
    return extents


def _add_printing_options(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument_group("printing (IR dumps go to standard error)").add_argument
    add("--print-op-generic", action="store_true", help="print the generic form")
    add("--print-debuginfo", action="store_true", help="print locations")
    add("--print-ir-before", metavar="PASSES", default="", help="dump the IR before these passes")
    add("--print-ir-after", metavar="PASSES", default="", help="dump the IR after these passes")
    add("--print-ir-before-all", action="store_true", help="dump the IR before every pass")
    add("--print-ir-after-all", action="store_true", help="dump the IR after every pass")
    add("--print-ir-after-change", action="store_true", help="... only after passes that changed it")
    add("--print-ir-after-failure", action="store_true", help="dump the IR when a pass fails")
    add("--print-ir-diff", metavar="DIR", help="write HTML pages of what each pass changed here")
    add("--timing", action="store_true", help="report where the time went")


def _add_checking_options(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument_group("checking").add_argument
    add(
        "--verify-diagnostics",
        action="store_true",
        help="compare diagnostics with the input's expected-error comments",
    )
    add("--verify-roundtrip", action="store_true", help="print and parse again, in both forms, and compare")
    add("--no-verify", action="store_true", help="do not verify the input and the result of each pass")


def _add_debugging_options(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument_group("debugging").add_argument
    add(
        "--crash-reproducer",
        metavar="FILE",
        help="when a pass fails, write the IR before it here",
    )
    add(
        "--dump-pass-pipeline",
        action="store_true",
        help="show the pipeline that runs",
    )
    add("--debug", action="store_true", help="show Python tracebacks")


def _add_information_options(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument_group("information").add_argument
    add("--list-passes", action="store_true", help="passes, their options, and named pipelines")
    add(
        "--show-dialects",
        metavar="NAMES",
        nargs="?",
        const="",
        help="dialects with their operations, or those of NAMES: --show-dialects=nt,nest",
    )
    add("--markdown", action="store_true", help="... as a page, with documentation")
    add(
        "--irdl", action="store_true", help="... in IRDL, those that mlir-opt lacks: for mlir-opt --irdl-file"
    )
    add("--completion", metavar="SHELL", choices=SHELLS, help="a completion script: bash, zsh, fish")
    add("--version", action="store_true", help="versions of opt-tool and what it stands on")
    add(
        "-h",
        "--help",
        action=_Help,
        nargs="?",
        metavar="TOPIC",
        choices=tuple(TOPICS),
        help=f"this text, or options and examples: {', '.join(TOPICS)}",
    )


class _Help(argparse.Action):
    """`--help` prints all options, `--help TOPIC` those of a topic with examples."""

    def __call__(
        self,
        parser: argparse.ArgumentParser,
        namespace: argparse.Namespace,
        values: object,
        option_string: str | None = None,
    ) -> NoReturn:
        if isinstance(values, str):
            print(help_on(values, parser), end="")
        else:
            parser.print_help()
        parser.exit()

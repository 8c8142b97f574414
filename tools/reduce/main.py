"""`opt-tool-reduce`: make an IR file small that shows a fault. See `opt-tool-reduce --help` and docs/opt-tool.md.

opt-tool-reduce in.mlir --message "cannot be fused" -- opt-tool {} -p nest-fuse{loop=i}
opt-tool-reduce in.mlir --status 3 -o small.mlir -- opt-tool {} -p cpu
opt-tool-reduce in.mlir --test ./is_wrong.sh
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence


def main(arguments: Sequence[str] | None = None) -> int:
    """Run it; the exit code: 0 reduced, 1 the input shows no such thing or is no IR, 2 usage."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    at = given.index("--") if "--" in given else len(given)
    own, command = given[:at], given[at + 1 :]
    parser = _parser()
    try:
        options = parser.parse_args(own)
        if (options.test is None) == (not command):
            parser.error("give a command after --, or --test SCRIPT")
        if command and options.message is None and options.status is None:
            parser.error("say what of the command's answer is of interest: --message TEXT, --status N")
    except SystemExit as stop:
        return stop.code if isinstance(stop.code, int) else 2
    from ...dialects.diagnostic import NestorError

    try:
        return _reduce(options, tuple(command))
    except NestorError as error:
        print(error, file=sys.stderr)
        return 1
    except OSError as error:
        print(f"error: {error.filename or 'the command'}: {error.strerror}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="opt-tool-reduce",
        usage="opt-tool-reduce FILE [options] (--test SCRIPT | -- COMMAND ...)",
        description="Make an IR file small while a command still answers alike. In the command, {} is the file.",
        allow_abbrev=False,
    )
    add = parser.add_argument
    add("file", metavar="FILE", help="the IR; - is standard input")
    add(
        "-o",
        "--output",
        default="-",
        metavar="FILE",
        help="where the smaller file goes (default: standard output)",
    )
    add(
        "--message",
        metavar="TEXT",
        help="what the command prints, to either stream, where a file is of interest",
    )
    add("--status", type=int, metavar="N", help="its exit status then; -11 is a segmentation fault")
    add(
        "--test",
        metavar="SCRIPT",
        help="a program that is given the file, and exits with 0 where it is of interest",
    )
    add("--allow-unregistered-dialect", action="store_true", help="the file has operations that nobody knows")
    add("--timeout", type=float, default=60.0, metavar="SECONDS", help="the time of one run (default: 60)")
    return parser


def _reduce(options: argparse.Namespace, command: tuple[str, ...]) -> int:
    from ...dialects.diagnostic import NestorError
    from ...dialects.parse import parse_located
    from ..opt_tool.context import make_tool_context
    from ..opt_tool.printing import print_ir
    from ..opt_tool.source import read_input, write_output
    from .interest import Question
    from .reduction import reduce_module

    text, name = read_input(options.file)
    if options.test is not None:
        question = Question((options.test,), status=0, seconds=options.timeout)
    else:
        question = Question(command, options.message, options.status, options.timeout)
    module, _ = parse_located(
        text, name, make_tool_context(allow_unregistered=options.allow_unregistered_dialect)
    )
    if not question.holds_for(text):
        answer = question.answer(text)
        raise NestorError(
            f"the input is not of interest: the command ends with {answer.status}, and says "
            f"{(answer.output.strip().splitlines() or ['nothing'])[0]!r}",
            hint="run the command on the file by itself; --message and --status are what it must answer",
        )
    if not question.holds_for(print_ir(module)):
        raise NestorError(
            "the input is of interest as it is written, and not as it is printed",
            hint="opt-tool FILE prints it; is what you look for in the text, not in the IR?",
        )
    runs = 0

    def ask(candidate) -> bool:
        nonlocal runs
        runs += 1
        return question.holds_for(print_ir(candidate))

    def tell(candidate) -> None:
        if sys.stderr.isatty():
            print(
                f"\r{print_ir(candidate).count(chr(10))} lines, {runs} runs  ",
                end="",
                file=sys.stderr,
                flush=True,
            )

    smaller = print_ir(reduce_module(module, ask, tell))
    if sys.stderr.isatty():
        print(file=sys.stderr)
    write_output(options.output, smaller)
    print(f"{_lines(text)} lines became {_lines(smaller)} in {runs} runs", file=sys.stderr)
    return 0


def _lines(text: str) -> int:
    return len([line for line in text.splitlines() if line.strip()])


if __name__ == "__main__":
    sys.exit(main())

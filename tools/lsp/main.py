"""`opt-tool-lsp`: a language server for .mlir files, over standard input and output. See docs/opt-tool.md."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

_RECURSION_LIMIT = 20_000
"""As in opt-tool: the parser recurses with the nesting of the IR."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Serve until the client leaves; the exit code: 0, 1 a plugin cannot be loaded, 2 usage or no pygls."""
    try:
        options = _parser().parse_args(arguments)
    except SystemExit as stop:
        return stop.code if isinstance(stop.code, int) else 2
    try:
        from .server import make_server
    except ModuleNotFoundError as error:
        print(f"opt-tool-lsp: error: {error}\n  help: pip install 'nestor[lsp]'", file=sys.stderr)
        return 2
    from ...dialects.diagnostic import NestorError
    from ..opt_tool.plugins import load_plugins

    try:
        load_plugins(options.load_pass_plugin)
    except NestorError as error:
        print(error, file=sys.stderr)
        return 1
    sys.setrecursionlimit(max(sys.getrecursionlimit(), _RECURSION_LIMIT))
    make_server(options.allow_unregistered_dialect).start_io()
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="opt-tool-lsp",
        description="A language server for textual IR: editors start it, and speak with it over standard input and output.",
        allow_abbrev=False,
    )
    parser.add_argument(
        "--allow-unregistered-dialect",
        action="store_true",
        help="accept operations of unknown dialects in every file (else where a RUN line says so)",
    )
    parser.add_argument(
        "--load-pass-plugin",
        metavar="FILE",
        action="append",
        default=[],
        help="a Python file whose passes are completed",
    )
    parser.add_argument("--stdio", action="store_true", help="what it does anyway; some editors say so")
    return parser


if __name__ == "__main__":
    sys.exit(main())

"""`opt-tool`: run passes over textual IR. See `opt-tool --help` and docs/opt-tool.md."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence

from .command_line import parse_command_line


def main(arguments: Sequence[str] | None = None) -> int:
    """Run opt-tool and return its exit code: 0 fine, 1 diagnostics, 2 usage, 3 internal error."""
    try:
        options = parse_command_line(sys.argv[1:] if arguments is None else arguments)
    except SystemExit as stop:
        return stop.code if isinstance(stop.code, int) else 2
    from .driver import Driver

    try:
        code = Driver(options).run()
        sys.stdout.flush()
        return code
    except BrokenPipeError:
        # The reader has gone (`| head`): nothing to say, and nobody to say it to.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except KeyboardInterrupt:
        return 130


if __name__ == "__main__":
    sys.exit(main())

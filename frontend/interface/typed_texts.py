"""Texts that Python compiled and did not keep: that of `python -c`, of a standard input, of what was typed at a prompt.

    python -c "..."         sys.orig_argv has it
    python - < file.py      the file is still open, and is read again from its beginning; a pipe is gone
    >>> def f(x): ...       readline has the lines (Python 3.13 and later keeps what was typed itself)

None of them is taken on trust: who asks says whether lines are those of the code. A text that is found is kept as one that
came from elsewhere (`carried_texts.py`), under a name of its own: several texts are called `<string>` or `<stdin>`.
"""

from __future__ import annotations

import io
import os
import stat
import sys
import textwrap
import tokenize
from collections.abc import Callable, Iterator
from types import CodeType

from .carried_texts import key_of, note_texts
from .source_text import FUTURE, codes_of

Text = tuple[str, list[str]]
"""The name of a text, and its lines."""

SHARED = ("<string>", "<stdin>", "<console>")
"""Names of files that are those of many texts."""

MOST_BYTES = 1 << 24
"""Maximum size of a standard input that is read again."""

MOST_LINES = 5000
"""Lines of a prompt that are looked through, the latest first."""

MOST_BELOW = 100
"""Lines that a statement may have behind the last one that has code of the function."""


def typed(code: CodeType, are_of: Callable[[list[str]], bool]) -> Text | None:
    """The text that a code was compiled from, by a test of lines; None where none is at hand."""
    sources = {"<string>": (_command,), "<stdin>": (_input, _prompt), "<console>": (_prompt,)}
    for source in sources.get(code.co_filename, ()):
        for name, text in source(code):
            lines = text.splitlines(keepends=True)
            if not are_of(lines):
                continue
            keys = [key_of(one) for one in codes_of(text, code.co_filename, code.co_flags & FUTURE)]
            note_texts({name: (text, keys)})
            return name, lines
    return None


def _command(code: CodeType) -> Iterator[tuple[str, str]]:
    """What may be the text behind `-c`, which stands alone or ends a group of options: `-Bc`."""
    arguments = sys.orig_argv
    for k, one in enumerate(arguments[1:], 1):
        if not one.startswith("-") or one.startswith("--") or "c" not in one:
            continue
        text = one.partition("c")[2] or "".join(arguments[k + 1 : k + 2])
        yield "<python -c>", f"{text}\n"
        if sys.version_info >= (3, 14):
            yield "<python -c>", f"{textwrap.dedent(text)}\n"


def _input(code: CodeType) -> Iterator[tuple[str, str]]:
    """The standard input, where it is a file. Where Python reads from it is left as it is."""
    try:
        found = os.fstat(0)
        if not stat.S_ISREG(found.st_mode) or found.st_size > MOST_BYTES:
            return
        data = os.pread(0, found.st_size, 0)
        encoding, _ = tokenize.detect_encoding(io.BytesIO(data).readline)
        yield "<standard input>", io.TextIOWrapper(io.BytesIO(data), encoding).read()
    except (OSError, SyntaxError, UnicodeError):
        return


def _prompt(code: CodeType) -> Iterator[tuple[str, str]]:
    """The statements of a prompt that may have the code, the latest first."""
    history = _history()
    first, last = code.co_firstlineno, max(line or 0 for _, _, line in code.co_lines())
    word = "lambda" if code.co_name == "<lambda>" else f"def {code.co_name}"
    for begin in range(len(history) - last, -1, -1):
        if not any(word in line for line in history[begin + first - 1 : begin + last]):
            continue
        for end in range(begin + last, min(begin + last + MOST_BELOW, len(history)) + 1):
            text = "\n".join(history[begin:end]) + "\n"
            if codes_of(text, code.co_filename, code.co_flags & FUTURE):
                yield f"<prompt, line {begin + 1}>", text


def _history() -> list[str]:
    """What was typed, where somebody keeps it."""
    readline = sys.modules.get("readline")
    if readline is None:
        return []
    count = readline.get_current_history_length()
    return [readline.get_history_item(k) or "" for k in range(max(count - MOST_LINES, 0) + 1, count + 1)]

"""Texts that came with functions of other processes, where their files are not: of cells of a notebook, of `__main__`.

    note_texts({"<ipython-input-3-5f0d>": ("def f(x): ...", [("f", 1)])})      # what unpickling does
    carried(f.__code__)                                                       # the file and the lines of each such text

cloudpickle gives all code the same file, so a text is found by the names and first lines of the functions in it. Functions
of two texts may have the same: who reads a text looks whether it is that of the code.
"""

from __future__ import annotations

import linecache
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from types import CodeType

from .source_text import is_text_of

MOST_TEXTS = 4096
"""Maximum number of texts that are kept; beyond, those go that came longest ago."""

Key = tuple[str, int]
Texts = Mapping[str, tuple[str, Sequence[Key]]]
"""Texts by the names of their files, each with the names and first lines of functions in it."""

Place = tuple[str, str]
"""The name of a file, and its text: two processes may give one name to two texts."""

_LINES: OrderedDict[Place, list[str]] = OrderedDict()
"""The lines of texts."""

_PLACES: dict[Key, dict[Place, None]] = {}
"""The texts that functions of a name and a first line are in, the latest last."""


def key_of(code: CodeType) -> Key:
    """What functions are found by."""
    return code.co_qualname, code.co_firstlineno


def note_texts(texts: Texts) -> None:
    """Keep texts. Messages and tracebacks show their lines where a file of this name is not here."""
    for file, (text, functions) in texts.items():
        place = file, text
        lines = _LINES.get(place)
        is_new = lines is None
        lines = text.splitlines(keepends=True) if lines is None else lines
        known = linecache.getlines(file)
        if not known or (is_new and any(known is one for (name, _), one in _LINES.items() if name == file)):
            linecache.cache[file] = (len(text), None, lines, file)
        _LINES[place] = lines
        _LINES.move_to_end(place)
        for name, line in functions:
            _PLACES.setdefault((name, line), {})[place] = None
        while len(_LINES) > MOST_TEXTS:
            _forget(next(iter(_LINES)))


def _forget(place: Place) -> None:
    del _LINES[place]
    for key, places in list(_PLACES.items()):
        places.pop(place, None)
        if not places:
            del _PLACES[key]


def carried(code: CodeType) -> list[tuple[str, list[str]]]:
    """The texts that may have the function of a code in them, the latest first: the name of the file, and the lines."""
    places = _PLACES.get(key_of(code)) if _PLACES else None
    found = [(place, _LINES.get(place)) for place in reversed(list(places or ()))]
    return [(place[0], lines) for place, lines in found if lines is not None]


def file_of(code: CodeType) -> str:
    """The file of a code; of one that came without its file, that of the text that came with it."""
    texts = carried(code)
    if not texts or is_text_of("".join(linecache.getlines(code.co_filename)), code):
        return code.co_filename
    return next((file for file, lines in texts if is_text_of("".join(lines), code)), code.co_filename)

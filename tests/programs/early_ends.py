"""Comparing functions that may end with an exception: result, arguments afterwards, output, exception."""

import contextlib
import copy
import io

import nestor as nt
import numpy as np

TARGETS = ["cpu", "interp", "cuda-sim"]


def plain(value):
    """Python numbers and lists: a number that is Python's on one path and NumPy's on another is NumPy's when compiled."""
    if isinstance(value, np.ndarray | np.generic):
        return value.tolist()
    return [plain(item) for item in value] if isinstance(value, tuple | list) else value


def described(error):
    """The class that the program names (diagnostics are subclasses), the arguments, and the cause."""
    if error is None:
        return None
    kind = next(k for k in type(error).__mro__ if not k.__module__.startswith("nestor"))
    return kind, plain(error.args), error.__suppress_context__, described(error.__cause__)


def outcome(function, arguments):
    """What a call gives, does and prints."""
    given = copy.deepcopy(arguments)
    printed, result, error = io.StringIO(), None, None
    try:
        with contextlib.redirect_stdout(printed):
            result = function(*given)
    except Exception as raised:
        error = raised
    return plain(result), plain(given), printed.getvalue(), described(error)


def ends_alike(function, calls, **options):
    """Compile `function`, and compare all calls, each made twice, with Python's. Returns what Python raised."""
    compiled = nt.jit(function, **options)
    kinds = []
    for arguments in calls:
        want = outcome(function, arguments)
        for _ in range(2):
            assert outcome(compiled, arguments) == want
        kinds.append(want[-1] and want[-1][0])
    return kinds

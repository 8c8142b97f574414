"""The codes of the error record: the one table of the ABI (docs/levels/llvm.md). Plain data, without xDSL."""

from __future__ import annotations

INDEX_ERROR, ASSERTION_ERROR, ZERO_DIVISION_ERROR = 1, 2, 3
MEMORY_ERROR, VALUE_ERROR, OVERFLOW_ERROR = 4, 5, 6
CALL_ERROR = 7
"""A function of Python that the kernel called raised an exception, which the runtime keeps."""

UNBOUND_LOCAL_ERROR = 8
RAISED = 9
"""A `raise` was reached: its site says which, the words after the fourth are the numbers that it is raised with."""

INTERRUPTED = 10
"""A handler of a signal raised: the words after the fourth are the type, the value and the traceback of its exception."""

UNSUPPORTED = 11
"""What Python would answer in another way than the program can, found when it is met (a complex number, say)."""

ERROR_CODES: dict[str, int] = {
    "IndexError": INDEX_ERROR,
    "AssertionError": ASSERTION_ERROR,
    "ZeroDivisionError": ZERO_DIVISION_ERROR,
    "MemoryError": MEMORY_ERROR,
    "ValueError": VALUE_ERROR,
    "OverflowError": OVERFLOW_ERROR,
    "CallError": CALL_ERROR,
    "UnboundLocalError": UNBOUND_LOCAL_ERROR,
    "Raised": RAISED,
    "Interrupted": INTERRUPTED,
    "UnsupportedError": UNSUPPORTED,
}
"""The first word of an error record, by the exception that the caller raises (`nestor.kind` of a check)."""

FACTS = 4
"""The words of an error record that every check fills: code, site, value, extent."""

RAISED_WORDS = 16
"""The words after those: the maximum count of numbers that a `raise` is given."""

LAST_POLL = FACTS + RAISED_WORDS
"""The word after those: when the kernel last let Python handle signals, in cycles of the processor's clock."""

RECORD_WORDS = LAST_POLL + 1
"""The words of an error record."""

POLL = "nestor_poll"
"""The function that lets Python handle signals where that is due; whether one of them raised."""

RAISE = "nestor_raise_"
"""How the name of a function begins whose call is a `raise` with numbers; their count follows."""

VALUE = "{value}"
"""Stands in the message of a check for the third word of the error record."""

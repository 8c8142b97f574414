"""The functions through which compiled code prints: external calls, which the runtime answers (`runtime/printing.py`).

print("loss", x)      func.call @nestor_print_begin(%site)        // what to print, and in which form
                      func.call @nestor_print_float(%x)           // the numbers, one by one
                      func.call @nestor_print_end()
"""

from __future__ import annotations

from xdsl.dialects.builtin import FunctionType, f64, i64

PRINT_CALLS: dict[str, FunctionType] = {
    "nestor_print_begin": FunctionType.from_lists([i64], []),
    "nestor_print_float": FunctionType.from_lists([f64], []),
    "nestor_print_int": FunctionType.from_lists([i64], []),
    "nestor_print_end": FunctionType.from_lists([], []),
}
"""Their types, by name."""

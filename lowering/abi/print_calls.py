"""The functions through which compiled code prints: external calls, which the runtime answers (`runtime/printing.py`).

print("loss", x)      func.call @nestor_print_begin(%site)        // what to print, and in which form
                      func.call @nestor_print_float(%x)           // the numbers, one by one
                      func.call @nestor_print_end()
"""

from __future__ import annotations

PRINT_CALLS: dict[str, tuple[str, ...]] = {
    "nestor_print_begin": ("i64",),
    "nestor_print_float": ("f64",),
    "nestor_print_int": ("i64",),
    "nestor_print_end": (),
}
"""The types of their arguments, by name; they return nothing."""

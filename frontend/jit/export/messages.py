"""The texts of errors in C: what `kernel_error` says of a check that failed, as rows of a table and what reads them.

    {"IndexError", "index %v is out of bounds for axis 0 with size %e", "model.py", 12, 9}

In a text `%v` is the value of the error record, `%e` its extent, `%0i` its first number as an integer, `%0f` as a float,
`%0b` as a truth value, and `%%` a percent sign.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

from ....lowering.abi.error_codes import ERROR_CODES, VALUE
from ...values.exceptions import Call, Constant, Number, Text, is_float

STATUSES = {name: code for name, code in ERROR_CODES.items() if name not in ("CallError", "Interrupted")}
"""Statuses of checks in kernels, by the exception that Python raises."""

POINTER, EXTENT, OVERLAP, PROCESSOR = 32, 33, 34, 35
"""Statuses of checks of the arguments of a C function."""

TEXTS = {
    "IndexError": "an index is out of bounds",
    "AssertionError": "assertion failed",
    "ZeroDivisionError": "division by zero",
    "MemoryError": "out of memory in a kernel",
    "ValueError": "invalid value in a kernel",
    "OverflowError": "a number is out of range",
    "UnboundLocalError": "a variable has no value",
    "Raised": "an exception was raised",
    "UnsupportedError": "this value is not supported",
}


def c_string(text: str) -> str:
    """A string constant of C, in UTF-8."""
    made = []
    for byte in text.encode():
        char = chr(byte)
        made.append(
            f"\\{char}" if char in '"\\' else char if 32 <= byte < 127 and char != "?" else f"\\{byte:03o}"
        )
    return f'"{"".join(made)}"'


def site_rows(sites: Sequence[dict[str, Any]]) -> list[str]:
    """The rows of the table: exception, text, file, line, column. An empty exception is that of the status."""
    return [
        f"{{{c_string(_exception(one))}, {c_string(_text(one))}, {c_string(os.path.basename(one.get('file', '')))}, "
        f"{one.get('line', 0)}, {one.get('column', 0)}}}"
        for one in sites
    ]


def _exception(site: dict[str, Any]) -> str:
    raised = getattr(site.get("raises"), "exception", None)
    if isinstance(raised, Call):
        return raised.kind.__name__
    if isinstance(raised, Constant):
        kind = raised.value if isinstance(raised.value, type) else type(raised.value)
        return kind.__name__
    return ""


def _text(site: dict[str, Any]) -> str:
    raised = getattr(site.get("raises"), "exception", None)
    if raised is not None:
        return _raised_text(raised)
    if "message" in site:
        return _literal(site["message"]).replace(VALUE, "%v")
    if "axis" in site and (
        "array" in site or "index" in site or "extent" in site or site.get("kind") == "IndexError"
    ):
        index, extent = site.get("index", "%v"), site.get("extent", "%e")
        where = f" of '{_literal(site['array'])}'" if "array" in site else ""
        return f"index {index} is out of bounds for axis {site['axis']}{where} with size {extent}"
    return ""


def _raised_text(raised: Any) -> str:
    if isinstance(raised, Constant):
        return "" if isinstance(raised.value, type) else _literal(str(raised.value))
    if isinstance(raised, Call):
        parts = [_part(one) for one in raised.args]
        return parts[0] if len(parts) == 1 else ", ".join(parts)
    return ""


def _part(part: Any) -> str:
    """A part of a message. Formats of numbers are left out: they are printed as `str` does."""
    if isinstance(part, Text):
        return "".join(_part(one) for one, _, _ in part.parts)
    if isinstance(part, Constant):
        return _literal(str(part.value))
    if isinstance(part, Number):
        letter = "f" if is_float(part.kind) else "b" if part.kind is bool else "i"
        return f"%{part.place:x}{letter}"
    return "..."


def _literal(text: str) -> str:
    return text.replace("%", "%%")


MESSAGE = r"""
typedef struct { const char *exception, *text, *file; int line, column; } nestor_site;

/* Text that is put together; `size` counts what there would be. */
typedef struct { char *text; size_t room, size; } nestor_text;

static void put(nestor_text *to, const char *text) {
  for (; *text; text++, to->size++)
    if (to->size + 1 < to->room) to->text[to->size] = *text;
  if (to->room) to->text[to->size < to->room ? to->size : to->room - 1] = 0;
}

static void put_integer(nestor_text *to, int64_t number) {
  char digits[24];
  snprintf(digits, sizeof digits, "%lld", (long long)number);
  put(to, digits);
}

/* The shortest digits that give the number back, as Python prints it. */
static void put_float(nestor_text *to, double number) {
  char digits[40];
  int precision = 1;
  if (number != number) { put(to, "nan"); return; }
  if (number - number != 0) { put(to, number > 0 ? "inf" : "-inf"); return; }
  do snprintf(digits, sizeof digits, "%.*g", precision, number);
  while (strtod(digits, NULL) != number && ++precision < 18);
  if (strchr(digits, 'e') && (number < 0 ? -number : number) >= 1e-4 && (number < 0 ? -number : number) < 1e16)
    snprintf(digits, sizeof digits, "%.1f", number);
  put(to, digits);
  if (!strpbrk(digits, ".en")) put(to, ".0");
}

static void put_site(nestor_text *to, const char *text, const nestor_error *error) {
  char one[2] = {0, 0};
  for (; *text; text++) {
    if (*text != '%') { one[0] = *text; put(to, one); continue; }
    text++;
    if (*text == '%') put(to, "%");
    else if (*text == 'v') put_integer(to, error->value);
    else if (*text == 'e') put_integer(to, error->extent);
    else {
      int place = *text <= '9' ? *text - '0' : *text - 'a' + 10;
      int64_t number = error->numbers[place & 15];
      double real;
      text++;
      memcpy(&real, &number, sizeof real);
      if (*text == 'f') put_float(to, real);
      else if (*text == 'b') put(to, number ? "True" : "False");
      else put_integer(to, number);
    }
  }
}
"""

"""The C header of an exported program: statuses, the error record, the allocator, and the functions, with what they want."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence

from .... import __version__
from .c_interface import Interface, Parameter, readable
from .messages import EXTENT, OVERLAP, POINTER, PROCESSOR, STATUSES

_STATUS_NOTES = {
    "RAISED": "a `raise` of the program was reached",
    "UNSUPPORTED": "a value that the program was not compiled for: a complex number, say",
    "BAD_POINTER": "NULL, or elements that are not aligned",
    "BAD_EXTENT": "an extent or a stride that the program was not compiled for",
    "OVERLAP": "a result, or an argument that is written, shares memory with another one",
    "BAD_PROCESSOR": "this processor lacks instructions that the program was compiled for",
}


def statuses() -> dict[str, int]:
    """The statuses by their names in C, without the prefix."""
    words = {"IndexError": "INDEX", "AssertionError": "ASSERTION", "ZeroDivisionError": "ZERO_DIVISION"}
    words |= {"MemoryError": "MEMORY", "ValueError": "VALUE", "OverflowError": "OVERFLOW"}
    words |= {"UnboundLocalError": "UNBOUND", "Raised": "RAISED", "UnsupportedError": "UNSUPPORTED"}
    found = {words[name]: code for name, code in STATUSES.items()}
    own = {"BAD_POINTER": POINTER, "BAD_EXTENT": EXTENT, "OVERLAP": OVERLAP, "BAD_PROCESSOR": PROCESSOR}
    return {"OK": 0, **found, **own}


def _enumeration() -> str:
    rows = []
    for name, code in statuses().items():
        note = _STATUS_NOTES.get(name)
        rows.append(f"  NESTOR_{name} = {code},{f' /* {note} */' if note else ''}")
    return "\n".join(rows)


def build_macro(name: str) -> str:
    """What is defined where the source of the interface is compiled: it is in the library already."""
    return f"NESTOR_BUILD_{name.upper()}"


def comment(text: str, indent: str = "") -> str:
    """A comment of C."""
    safe = text.replace("*/", "* /")
    lines = [
        line
        for paragraph in safe.splitlines()
        for line in textwrap.wrap(paragraph, 110 - len(indent), subsequent_indent="") or [""]
    ]
    return f"{indent}/* " + f"\n{indent} * ".join(lines) + " */"


def declaration(kind: str, name: str, parameters: Sequence[Parameter]) -> str:
    """A function without its semicolon."""
    text = ", ".join(p.declared for p in parameters) or "void"
    lines = textwrap.wrap(f"{kind} {name}({text})", 100, subsequent_indent="    ", break_long_words=False)
    return "\n".join(lines)


def error_parameter() -> Parameter:
    return Parameter("nestor_error *", "error", "filled where the status is not 0; may be NULL")


def function_parameters(interface: Interface) -> list[Parameter]:
    """All parameters of the function."""
    return [*interface.parameters, *interface.result_parameters(), error_parameter()]


def shapes_parameters(interface: Interface) -> list[Parameter]:
    """Those of the function that says how large results are."""
    return interface.size_parameters() + [
        Parameter(f"int64_t[{len(one.shape)}]", one.shape_name) for one in interface.sized()
    ]


def has_allocations(interface: Interface) -> bool:
    return any(one.allocated is not None for one in interface.results)


def header(interface: Interface, threads: bool, needs: Sequence[str], compiled_in: Sequence[str]) -> str:
    """The text of the header."""
    name = interface.name
    guard = f"NESTOR_{name.upper()}_H"
    facts = [
        f"{name}: made by Nestor {__version__}. Link with lib{name}.so, or lib{name}.a {'-lgomp ' if threads else ''}-lm."
    ]
    facts += [f"Compiled in: {', '.join(compiled_in)}."] if compiled_in else []
    facts += [f"The processor must have: {' '.join(needs)}."] if needs else []
    notes = [f"{p.name}: {p.note}." for p in function_parameters(interface) if p.note]
    doc = "\n".join([*notes, *interface.notes, *_guards(interface)])
    pool = (
        "Large loops run on several threads (libgomp). In a child of fork() they run on one."
        if threads
        else "Runs on the calling thread only."
    )
    parts = [
        comment("\n".join(facts)),
        f"#ifndef {guard}\n#define {guard}\n\n#include <stddef.h>\n#include <stdint.h>\n",
        '#ifdef __cplusplus\nextern "C" {\n#endif\n',
        COMMON.replace("@STATUSES@", _enumeration()),
        comment(
            f"{doc}\nReturns NESTOR_OK or a status; with another status results hold nothing of use. Arrays are row-major "
            "and have no gaps unless strides are passed. Any number of threads may call it at the same time, on results of "
            f"their own. {pool}"
        ),
        declaration("int32_t", name, function_parameters(interface)) + ";\n",
    ]
    if interface.sized():
        parts += [
            comment(
                "The extents of results, from those of the arguments. Returns NESTOR_OK, or NESTOR_BAD_EXTENT for "
                "extents that the program was not compiled for."
            ),
            declaration("int32_t", f"{name}_shapes", shapes_parameters(interface)) + ";\n",
        ]
    if has_allocations(interface):
        parts += [
            comment("Gives memory back that the function has set a result to. NULL is ignored."),
            f"void {name}_release(void *memory);\n",
        ]
    parts += [
        comment(
            "The message of an error, with the place in the Python source: at most `size` bytes with the ending 0. "
            "Returns the bytes of the whole text without it, as snprintf does."
        ),
        f"size_t {name}_message(const nestor_error *error, char *text, size_t size);\n",
        comment(
            "Where memory comes from: temporary buffers, and results of unknown extents. NULL stands for aligned_alloc and "
            "free. Set it while no call is under way and no result is held. Any thread may call it."
        ),
        f"void {name}_set_allocator(const nestor_allocator *allocator);\n",
    ]
    if threads:
        parts += [
            comment(
                "The number of threads of one call, at least 1; at first what libgomp says (OMP_NUM_THREADS, or the "
                "processors)."
            ),
            f"void {name}_set_threads(int32_t count);\nint32_t {name}_get_threads(void);\n",
        ]
    parts += ["#ifdef __cplusplus\n}\n#endif\n", f"#endif /* {guard} */\n"]
    return "\n".join(parts)


def _guards(interface: Interface) -> list[str]:
    said = [
        f"{readable(interface, g.form)} {'must be 0' if g.exact else 'must be at least 0'}"
        + (f": {g.why}." if g.why else ".")
        for g in interface.program.guards
    ]
    return said


COMMON = """\
#ifndef NESTOR_C_1
#define NESTOR_C_1

enum {
@STATUSES@
};

/* What went wrong: the status, the check, the value and the extent that it was about, the numbers of a `raise`. */
typedef struct nestor_error {
  int64_t status, site, value, extent, numbers[16], reserved[4];
} nestor_error;

/* allocate returns NULL where there is no memory; the alignment is a power of 2, the size a multiple of it. */
typedef struct nestor_allocator {
  void *(*allocate)(void *context, size_t alignment, size_t size);
  void (*release)(void *context, void *memory);
  void *context;
} nestor_allocator;

typedef struct nestor_complex64 { float re, im; } nestor_complex64;
typedef struct nestor_complex128 { double re, im; } nestor_complex128;

#endif
"""

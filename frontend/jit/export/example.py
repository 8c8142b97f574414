"""A C program that calls an exported function: it fills the arguments with small numbers and prints what comes back."""

from __future__ import annotations

from collections.abc import Sequence

from .c_interface import C_TYPES, Array, Interface, Names, Result

_EXTENT = 6
"""The unknown extents of the example."""


def example(interface: Interface, links: Sequence[str]) -> str:
    """The text of the program."""
    name = interface.name
    names = [p.name for p in (*interface.parameters, *interface.result_parameters())]
    k = Names([*names, "status", "error", *(one.shape_name for one in interface.results)]).new("k")
    lines: list[str] = []
    freed: list[str] = []
    for c in interface.extents.values():
        lines.append(f"int64_t {c} = {_EXTENT};")
    arguments: dict[str, str] = {c: c for c in interface.extents.values()}
    for one in interface.arguments:
        kind = C_TYPES[one.dtype.name]
        if isinstance(one, Array):
            count = " * ".join(f"(size_t){e}" for e in one.extents) or "1"
            lines.append(f"{kind} *{one.name} = calloc({count} + 1, sizeof *{one.name});")
            lines.append(f"if (!{one.name}) return 1;")
            lines.append(f"for (size_t {k} = 0; {k} < {count}; {k}++) {_filled(one.name, one.dtype.name, k)}")
            freed.append(f"free({one.name});")
            strides = one.strides or ()
            for axis, stride in enumerate(strides):
                if not stride.isdigit():
                    inner = " * ".join(one.extents[axis + 1 :]) or "1"
                    arguments[stride] = inner
        elif one.dtype.kind == "c":
            lines.append(f"{kind} {one.name} = {{1, 0}};")
        else:
            lines.append(f"{kind} {one.name} = 1;")
        arguments[one.name] = one.name
    sized = interface.sized()
    if sized:
        lines += [f"int64_t {one.shape_name}[{len(one.shape)}];" for one in sized]
        given = ", ".join([*(p.name for p in interface.size_parameters()), *(r.shape_name for r in sized)])
        lines.append(f'if ({name}_shapes({given})) {{ puts("these extents are not taken"); return 1; }}')
    for one in interface.results:
        kind = C_TYPES[one.dtype.name]
        if one.allocated is not None:
            lines.append(f"{kind} *{one.name} = NULL;")
            if one.allocated:
                lines.append(f"int64_t {one.shape_name}[{one.allocated}] = {{0}};")
                arguments[one.shape_name] = one.shape_name
            arguments[one.name] = f"&{one.name}"
            freed.append(f"{name}_release({one.name});")
            continue
        lines.append(f"{kind} *{one.name} = calloc({_count(interface, one)} + 1, sizeof *{one.name});")
        lines.append(f"if (!{one.name}) return 1;")
        arguments[one.name] = one.name
        freed.append(f"free({one.name});")
    call = ", ".join(arguments[p.name] for p in [*interface.parameters, *interface.result_parameters()])
    lines.append("nestor_error error;")
    lines.append(f"int32_t status = {name}({call}{', ' if call else ''}&error);")
    lines.append("if (status) {")
    lines.append("  char text[400];")
    lines.append(f"  {name}_message(&error, text, sizeof text);")
    lines.append('  printf("status %d: %s\\n", (int)status, text);')
    lines.append("} else {")
    for one in interface.results:
        lines += [f"  {line}" for line in _printed(interface, one, k)]
    lines += ["}", *freed, "return status;"]
    body = "".join(f"  {line}\n" for line in lines)
    return (
        f"/* Calls {name} once. Build: cc {name}_example.c lib{name}.a {' '.join(links)} -o {name}_example */\n"
        f'#include "{name}.h"\n\n#include <stdio.h>\n#include <stdlib.h>\n\nint main(void) {{\n{body}}}\n'
    )


def _count(interface: Interface, one: Result) -> str:
    if any(e.terms for e in one.shape):
        return " * ".join(f"(size_t){one.shape_name}[{k}]" for k in range(len(one.shape)))
    return " * ".join(f"(size_t){e.constant}" for e in one.shape) or "1"


def _filled(name: str, dtype: str, k: str) -> str:
    if dtype.startswith("complex"):
        return f"{name}[{k}].re = 1 + ({k} % 7), {name}[{k}].im = 0;"
    if dtype in ("float16", "bfloat16"):
        return f"{name}[{k}] = {'0x3c00' if dtype == 'float16' else '0x3f80'}; /* 1 */"
    if dtype.startswith("float"):
        return f"{name}[{k}] = ({C_TYPES[dtype]})(1 + {k} % 7) / 4;"
    return f"{name}[{k}] = {k} % 2;"


def _printed(interface: Interface, one: Result, k: str) -> list[str]:
    if one.allocated is not None:
        count = " * ".join(f"(size_t){one.shape_name}[{k}]" for k in range(one.allocated)) or "1"
    else:
        count = _count(interface, one)
    value = f"{one.name}[{k}]"
    if one.dtype.kind == "c":
        text, values = "%g%+gi", f"(double){value}.re, (double){value}.im"
    elif one.dtype.kind == "f" and one.dtype.itemsize > 2:
        text, values = "%.9g", f"(double){value}"
    else:
        text, values = "%lld", f"(long long){value}"
    return [
        f'printf("{one.name}:");',
        f'for (size_t {k} = 0; {k} < {count} && {k} < 8; {k}++) printf(" {text}", {values});',
        'puts("");',
    ]

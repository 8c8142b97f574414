"""The C source of an exported program: checks of arguments, the slots of the kernel (docs/levels/llvm.md), results.

The function looks at all that a wrong call could harm before it calls the kernel: the processor, extents and guards,
pointers, overlap.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ....runtime.abi import MemrefForm
from ....runtime.cpu.instruction_sets import SETS
from .c_interface import C_TYPES, Array, Interface, Number, Result, in_memory, readable
from .header import build_macro, comment, declaration, function_parameters, has_allocations, shapes_parameters
from .messages import MESSAGE, STATUSES, TEXTS, c_string, site_rows

_API = '__attribute__((visibility("default")))'


class Source:
    """Writes the source of one interface."""

    def __init__(
        self,
        interface: Interface,
        sites: Sequence[dict[str, Any]],
        threads: bool,
        needs: Sequence[str],
        tiles: bool,
    ):
        self._of = interface
        self._name = interface.name
        self._sites = sites
        self._threads = threads
        self._needs = needs
        self._tiles = tiles
        self._reasons: list[str] = []

    def text(self) -> str:
        """All of the source."""
        body = self._function()
        shapes = self._shapes_function() if self._of.sized() else ""
        parts = [self._top(), MESSAGE, self._tables(), self._memory(), self._start(), _HELPERS, shapes, body]
        return "\n".join([*parts, self._message(), self._settings()])

    def _top(self) -> str:
        name, macro = self._name, build_macro(self._name)
        where = f"{name}.o, lib{name}.a and lib{name}.so"
        text = (
            f"The interface of {name}, to read. {where} have all of it, and the kernel: link one of "
            f"these, and not this file beside it, or every function is there twice. -D{macro} compiles it."
        )
        guard = [f"#ifndef {macro}", f'#error "{name}.c is in {where}: link one of these"', "#endif", ""]
        sizes = [comment(text), *guard, "#define _GNU_SOURCE", f'#include "{self._name}.h"', ""]
        sizes += [f"#include <{one}.h>" for one in ("math", "stdio", "stdlib", "string")]
        if self._needs:
            sizes += ["#include <cpuid.h>"]
        if self._tiles:
            sizes += ["#include <sys/syscall.h>", "#include <unistd.h>"]
        if self._threads:
            sizes += ["#include <pthread.h>", "", "int omp_get_max_threads(void);"]
        sizes += ["", f"int32_t {self._name}_kernel(const uint64_t *slots, int64_t *record);"]
        return "\n".join([*sizes, ""])

    # ---- tables -------------------------------------------------------------------------------------

    def _tables(self) -> str:
        rows = ",\n  ".join(site_rows(self._sites) or ['{"", "", "", 0, 0}'])
        reasons = ",\n  ".join(map(c_string, self._reasons)) or '""'
        kinds = "\n".join(
            f"    case {code}: return {c_string('' if name == 'Raised' else name)};"
            for name, code in STATUSES.items()
        )
        texts = "\n".join(
            f"    case {code}: return {c_string(TEXTS[name])};" for name, code in STATUSES.items()
        )
        return f"""\
static const nestor_site sites[] = {{
  {rows}
}};

/* What is wrong with arguments, by the number in `site`. */
static const char *const reasons[] = {{
  {reasons}
}};

static const char *exception_of(int64_t status) {{
  switch (status) {{
{kinds}
  }}
  return "";
}}

static const char *text_of(int64_t status) {{
  switch (status) {{
{texts}
  }}
  return "a kernel stopped";
}}
"""

    def _reason(self, text: str) -> int:
        if text not in self._reasons:
            self._reasons.append(text)
        return self._reasons.index(text)

    # ---- memory, threads, the processor -------------------------------------------------------------

    def _memory(self) -> str:
        name = self._name
        return f"""\
static void *usual_memory(void *context, size_t alignment, size_t size) {{
  (void)context;
  return aligned_alloc(alignment, size);
}}

static void usual_release(void *context, void *memory) {{
  (void)context;
  free(memory);
}}

static nestor_allocator allocator = {{usual_memory, usual_release, NULL}};

#define HIDDEN __attribute__((visibility("hidden")))

HIDDEN void *{name}_memory(int64_t alignment, int64_t size);
HIDDEN void {name}_give_back(void *memory);

void *{name}_memory(int64_t alignment, int64_t size) {{
  return allocator.allocate(allocator.context, (size_t)alignment, (size_t)size);
}}

void {name}_give_back(void *memory) {{
  if (memory) allocator.release(allocator.context, memory);
}}
"""

    def _start(self) -> str:
        name = self._name
        parts = [self._processor()]
        if self._threads:
            parts.append(f"""\
HIDDEN extern int32_t {name}_threads;
int32_t {name}_threads = 0; /* not asked for yet */
static pthread_once_t once = PTHREAD_ONCE_INIT;

/* The threads of a parent do not exist in its child: libgomp would wait for them. */
static int is_child = 0;
static void in_child(void) {{
  is_child = 1;
  __atomic_store_n(&{name}_threads, 1, __ATOMIC_RELAXED);
}}

static void begin_once(void) {{
  int count = omp_get_max_threads(), none = 0;
  __atomic_compare_exchange_n(&{name}_threads, &none, count < 1 ? 1 : count, 0, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
  pthread_atfork(NULL, NULL, in_child);
}}

static void begin(void) {{ pthread_once(&once, begin_once); }}
""")
        else:
            parts.append("static void begin(void) {}\n")
        return "\n".join(parts)

    def _processor(self) -> str:
        if not self._needs:
            return "static int fits_processor(void) { return 1; }\n"
        places: dict[tuple[int, int, int], int] = {}
        state = 0
        for one in (SETS[name] for name in self._needs):
            key = (one.leaf, one.subleaf, one.register)
            places[key] = places.get(key, 0) | 1 << one.bit
            state |= one.state
        if state:
            places[(1, 0, 2)] = places.get((1, 0, 2), 0) | 1 << 27  # the system says which state it saves
        rows = ", ".join(
            f"{{0x{a:x}u, {b}u, {c}, 0x{bits:x}u}}" for (a, b, c), bits in sorted(places.items())
        )
        saved = (
            f"""
  __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  if ((low & 0x{state:x}u) != 0x{state:x}u) return 0;"""
            if state
            else ""
        )
        tiles = "\n  if (syscall(SYS_arch_prctl, 0x1023, 18)) return 0; /* tiles: asked for once a process */"
        asked = tiles if self._tiles else ""
        return f"""\
/* Whether the processor has {" ".join(self._needs)}, and the system saves its registers. */
static int look_at_processor(void) {{
  static const struct {{ unsigned leaf, subleaf; int place; unsigned bits; }} wanted[] = {{{rows}}};
  unsigned found[4], low = 0, high = 0;
  for (size_t k = 0; k < sizeof wanted / sizeof *wanted; k++) {{
    if (__get_cpuid_max(wanted[k].leaf & 0x80000000u, NULL) < wanted[k].leaf) return 0;
    __cpuid_count(wanted[k].leaf, wanted[k].subleaf, found[0], found[1], found[2], found[3]);
    if ((found[wanted[k].place] & wanted[k].bits) != wanted[k].bits) return 0;
  }}{saved}{asked}
  (void)low, (void)high;
  return 1;
}}

static int fits_processor(void) {{
  static int known = 0; /* 1: no, 2: yes */
  int answer = __atomic_load_n(&known, __ATOMIC_RELAXED);
  if (!answer) {{
    answer = look_at_processor() ? 2 : 1;
    __atomic_store_n(&known, answer, __ATOMIC_RELAXED);
  }}
  return answer == 2;
}}
"""

    # ---- checks -------------------------------------------------------------------------------------

    def _extent_checks(self) -> list[str]:
        lines = []
        for c in self._of.extents.values():
            number = self._reason(f"the extent {c} must be at least 2: the program was compiled for no fewer")
            lines.append(f"if ({c} < 2) return refuse(error, NESTOR_BAD_EXTENT, {number}, {c});")
        for guard in self._of.program.guards:
            form, test = self._of.linear(guard.form), "!=" if guard.exact else "<"
            why = guard.why or "the program was compiled for such extents only"
            text = f"{readable(self._of, guard.form)} must be {'0' if guard.exact else 'at least 0'}: {why}"
            lines.append(
                f"if (({form}) {test} 0) return refuse(error, NESTOR_BAD_EXTENT, {self._reason(text)}, {form});"
            )
        return lines

    def _shape_checks(self, results: Sequence[Result]) -> list[str]:
        lines = []
        for one in results:
            for axis, extent in enumerate(one.shape):
                if extent.terms and self._of.linear(extent) not in self._of.extents.values():
                    number = self._reason(f"axis {axis} of {one.name} would have a negative extent")
                    form = self._of.linear(extent)
                    lines.append(
                        f"if (({form}) < 0) return refuse(error, NESTOR_BAD_EXTENT, {number}, {form});"
                    )
        return lines

    def _shapes_function(self) -> str:
        lines = ["nestor_error *error = NULL;", *self._extent_checks(), *self._shape_checks(self._of.sized())]
        number = self._reason("an array of extents is NULL")
        for one in self._of.sized():
            lines.append(f"if (!{one.shape_name}) return refuse(error, NESTOR_BAD_POINTER, {number}, 0);")
        lines += [f"(void){p.name};" for p in self._of.size_parameters()]
        for one in self._of.sized():
            for axis, extent in enumerate(one.shape):
                lines.append(f"{one.shape_name}[{axis}] = {self._of.linear(extent)};")
        head = declaration(f"{_API} int32_t", f"{self._name}_shapes", shapes_parameters(self._of))
        return _body(head, [*lines, "(void)error;", "return NESTOR_OK;"])

    # ---- the function -------------------------------------------------------------------------------

    def _function(self) -> str:
        of = self._of
        lines = ["nestor_error own = {0, 0, 0, 0, {0}, {0}};", "if (!error) error = &own;"]
        lines += [f"if ({one.name}) *{one.name} = NULL;" for one in of.results if one.allocated is not None]
        number = self._reason("this processor lacks instructions that the program was compiled for")
        lines += [
            f"if (!fits_processor()) return refuse(error, NESTOR_BAD_PROCESSOR, {number}, 0);",
            "begin();",
        ]
        lines += self._extent_checks()
        lines += self._shape_checks([one for one in of.results if one.allocated is None])
        lines += self._pointer_checks()
        lines += self._span_checks()
        for k in of.hidden:
            lines.append(f"int64_t told__{k} = 0;")
        for one in of.results:
            if one.allocated is not None:
                lines.append(f"int64_t handed__{one.name}[{1 + one.allocated}] = {{0}};")
        lines += self._slots()
        lines.append("memset(error, 0, sizeof *error);")
        lines.append(f"int32_t status = {self._name}_kernel(slots, &error->status);")
        taken = [one for one in of.results if one.allocated is not None]
        if taken:
            freed = " ".join(
                f"{self._name}_give_back((void *)(uintptr_t)handed__{one.name}[0]);" for one in taken
            )
            lines.append(f"if (status) {{ {freed} return status; }}")
        else:
            lines.append("if (status) return status;")
        for one in of.results:
            lines += self._finished(one)
        lines.append("return NESTOR_OK;")
        head = declaration(f"{_API} int32_t", self._name, function_parameters(of))
        return _body(head, lines)

    def _finished(self, one: Result) -> list[str]:
        kind = C_TYPES[one.dtype.name]
        if one.allocated is not None:
            order = one.order or tuple(range(one.allocated))
            lines = [f"*{one.name} = ({kind} *)(uintptr_t)handed__{one.name}[0];"]
            for place, axis in enumerate(order):
                lines.append(f"{one.shape_name}[{axis}] = handed__{one.name}[{1 + place}];")
            return lines
        size = f"(size_t){one.name}__count * {one.dtype.itemsize}"
        copies = [
            f"if (told__{one.tag} == {n}) memcpy({one.name}, {name}, {size});" for n, name in one.chosen
        ]
        if copies:
            return copies
        return [f"*{one.name} = {one.value};"] if one.output is None else []

    def _arrays(self) -> list[Array]:
        return [one for one in self._of.arguments if isinstance(one, Array)]

    def _pointer_checks(self) -> list[str]:
        lines = []
        for one in self._arrays():
            lines += self._count(one.name, one.dtype, one.extents)
            lines.append(self._pointer(one.name, one.dtype))
            if one.written and one.strides:
                number = self._reason(f"elements of {one.name}, which is written, share memory")
                extents, strides = ", ".join(one.extents), ", ".join(one.strides)
                lines += [
                    f"const int64_t {one.name}__extents[] = {{{extents}}}, {one.name}__strides[] = {{{strides}}};",
                    f"if (folded({len(one.extents)}, {one.name}__extents, {one.name}__strides)) "
                    f"return refuse(error, NESTOR_OVERLAP, {number}, 0);",
                ]
        for one in self._of.results:
            if one.allocated is not None or one.output is None or not one.shape:
                number = self._reason(f"{one.name} is NULL")
                lines.append(f"if (!{one.name}) return refuse(error, NESTOR_BAD_POINTER, {number}, 0);")
                if one.allocated:
                    number = self._reason(f"{one.shape_name} is NULL")
                    lines.append(
                        f"if (!{one.shape_name}) return refuse(error, NESTOR_BAD_POINTER, {number}, 0);"
                    )
            if one.allocated is None and one.output is not None:
                lines += self._count(one.name, one.dtype, [f"({self._of.linear(e)})" for e in one.shape])
                lines.append(self._pointer(one.name, one.dtype))
        return lines

    def _count(self, name: str, dtype: Any, extents: Sequence[str]) -> list[str]:
        """The number of elements of an array, which memory can hold."""
        if all(extent.isdigit() for extent in extents):
            return [f"int64_t {name}__count = {_product(extents)};"]
        number = self._reason(f"{name} would have more elements than memory holds, by this extent")
        lines = [f"int64_t {name}__count = {dtype.itemsize};"]
        for extent in extents:
            refused = f"return refuse(error, NESTOR_BAD_EXTENT, {number}, {extent});"
            lines.append(f"if (times(&{name}__count, {extent})) {refused}")
        return [*lines, f"{name}__count /= {dtype.itemsize};"]

    def _pointer(self, name: str, dtype: Any) -> str:
        number = self._reason(f"{name} is NULL, or its elements are not aligned")
        wrong = f"{name}__count && (!{name} || (uintptr_t){name} % {_part_bytes(dtype)})"
        return f"if ({wrong}) return refuse(error, NESTOR_BAD_POINTER, {number}, 0);"

    def _span_checks(self) -> list[str]:
        """Memory that is written shares nothing with other memory."""
        written = [one.name for one in self._arrays() if one.written]
        given = [one for one in self._of.results if one.allocated is None]
        lines = []
        for one in self._arrays():
            size = one.dtype.itemsize
            strides = one.strides or _row_major(one.extents)
            lines.append(f"span {one.name}__span = {{(uintptr_t){one.name}, (uintptr_t){one.name}}};")
            ends = [
                f"widen(&{one.name}__span, {extent}, {stride}, {size});"
                for extent, stride in zip(one.extents, strides, strict=True)
            ]
            lines.append(f"if ({one.name}__count) {{ {' '.join(ends)} {one.name}__span.end += {size}; }}")
        for one in given:
            count = f"{one.name}__count" if one.output is not None else "1"
            start = f"(uintptr_t){one.name}"
            lines.append(
                f"span {one.name}__span = {{{start}, {start} + (size_t)({count}) * {one.dtype.itemsize}}};"
            )
        writes = [*written, *[one.name for one in given]]
        seen: list[str] = []
        for name in [one.name for one in self._arrays()] + [one.name for one in given]:
            for other in seen:
                if name in writes or other in writes:
                    pair = (name, other) if name in writes else (other, name)
                    number = self._reason("{} shares memory with {}, and is written".format(*pair))
                    lines.append(
                        f"if (meet({name}__span, {other}__span)) return refuse(error, NESTOR_OVERLAP, {number}, 0);"
                    )
            seen.append(name)
        lines += [f"(void){name}__span;" for name in seen]
        return lines

    # ---- slots --------------------------------------------------------------------------------------

    def _slots(self) -> list[str]:
        values: list[str] = []
        for one in self._of.arguments:
            if isinstance(one, Array):
                values += [_address(one.name), *_memref(one.form, one.extents, one.strides, one.dtype)]
            else:
                values.append(self._number(one))
        results = {one.output: one for one in self._of.results if one.output is not None}
        for k, (output, form) in enumerate(zip(self._of.program.outputs, self._of.forms, strict=True)):
            one = results.get(k)
            if one is None:
                values.append(_address(f"&told__{k}"))
            elif one.allocated is not None:
                values.append(_address(f"handed__{one.name}"))
            else:
                extents = [f"({self._of.linear(e)})" for e in in_memory(output)]
                values += [_address(one.name), *_memref(form, extents, None, one.dtype)]
        rows = ",\n    ".join(values) or "0"
        return [f"const uint64_t slots[] = {{\n    {rows}\n  }};"]

    def _number(self, one: Number) -> str:
        if isinstance(one.form, MemrefForm):
            return _address(f"&{one.name}")
        if one.dtype.name == "float64":
            return f"bits_of_double({one.name})"
        if one.dtype.name == "float32":
            return f"bits_of_float({one.name})"
        if one.dtype.kind == "b":
            return f"{one.name} ? 1 : 0"
        return f"(uint64_t)(int64_t){one.name}" if one.dtype.kind == "i" else f"(uint64_t){one.name}"

    # ---- the other functions ------------------------------------------------------------------------

    def _message(self) -> str:
        return f"""\
{_API} size_t {self._name}_message(const nestor_error *error, char *text, size_t size) {{
  nestor_text made = {{text, size, 0}};
  put(&made, "");
  if (!error || !error->status) return 0;
  if (error->status >= NESTOR_BAD_POINTER) {{
    if (error->site >= 0 && (size_t)error->site < sizeof reasons / sizeof *reasons) {{
      put(&made, reasons[error->site]);
      if (error->status == NESTOR_BAD_EXTENT) {{
        put(&made, " (");
        put_integer(&made, error->value);
        put(&made, ")");
      }}
    }}
    return made.size;
  }}
  int known = error->site >= 0 && error->site < {len(self._sites)};
  const nestor_site *site = known ? &sites[error->site] : NULL;
  const char *exception = exception_of(error->status), *said = site ? site->text : "";
  put(&made, site && *site->exception ? site->exception : exception);
  if (!site || !*site->exception || *said) put(&made, ": ");
  if (*said) put_site(&made, said, error);
  else if (!site || !*site->exception) put(&made, text_of(error->status));
  if (site && *site->file) {{
    put(&made, " (");
    put(&made, site->file);
    put(&made, ":");
    put_integer(&made, site->line);
    put(&made, ":");
    put_integer(&made, site->column);
    put(&made, ")");
  }}
  return made.size;
}}
"""

    def _settings(self) -> str:
        name = self._name
        parts = [
            f"""\
{_API} void {name}_set_allocator(const nestor_allocator *wanted) {{
  const nestor_allocator usual = {{usual_memory, usual_release, NULL}};
  allocator = wanted ? *wanted : usual;
}}
"""
        ]
        if has_allocations(self._of):
            parts.append(f"{_API} void {name}_release(void *memory) {{ {name}_give_back(memory); }}\n")
        if self._threads:
            parts.append(f"""\
{_API} void {name}_set_threads(int32_t count) {{
  begin();
  if (!is_child) __atomic_store_n(&{name}_threads, count < 1 ? 1 : count, __ATOMIC_RELAXED);
}}

{_API} int32_t {name}_get_threads(void) {{
  begin();
  return __atomic_load_n(&{name}_threads, __ATOMIC_RELAXED);
}}
""")
        return "\n".join(parts)


def _body(head: str, lines: Sequence[str]) -> str:
    return head + " {\n" + "".join(f"  {line}\n" for line in lines if line) + "}\n"


def _address(expression: str) -> str:
    return f"(uint64_t)(uintptr_t){expression}"


def _memref(form: MemrefForm, extents: Sequence[str], strides: Sequence[str] | None, dtype: Any) -> list[str]:
    """The slots of an array behind its address: unknown extents, then unknown strides."""
    axes, free = form.slots
    made = [f"(uint64_t)(int64_t){extents[axis]}" for axis in axes]
    scale = 2 if dtype.kind == "c" else 1
    for axis in free:
        stride = strides[axis] if strides is not None and axis < len(strides) else "1"
        made.append(
            f"(uint64_t)(int64_t){stride}" + (f" * {scale}" if scale > 1 and axis < len(extents) else "")
        )
    return made


def _product(factors: Sequence[str]) -> str:
    return " * ".join(f"(int64_t){one}" for one in factors) or "1"


def _row_major(extents: Sequence[str]) -> list[str]:
    return [_product(extents[axis + 1 :]) for axis in range(len(extents))]


def _part_bytes(dtype: Any) -> int:
    return dtype.itemsize // 2 if dtype.kind == "c" else dtype.itemsize


_HELPERS = """\
static int32_t refuse(nestor_error *error, int32_t status, int64_t reason, int64_t value) {
  if (error) {
    memset(error, 0, sizeof *error);
    error->status = status, error->site = reason, error->value = value;
  }
  return status;
}

/* Division and remainder as Python rounds them. */
static inline int64_t nestor_quotient(int64_t a, int64_t b) {
  int64_t q = a / b;
  return a % b != 0 && (a < 0) != (b < 0) ? q - 1 : q;
}

static inline int64_t nestor_modulo(int64_t a, int64_t b) { return a - nestor_quotient(a, b) * b; }

static inline uint64_t bits_of_double(double value) {
  uint64_t bits;
  memcpy(&bits, &value, sizeof bits);
  return bits;
}

static inline uint64_t bits_of_float(float value) {
  uint32_t bits;
  memcpy(&bits, &value, sizeof bits);
  return bits;
}

/* Memory from `start` up to `end`. */
typedef struct { uintptr_t start, end; } span;

static inline void widen(span *memory, int64_t extent, int64_t stride, int64_t size) {
  int64_t reach = (extent - 1) * stride * size;
  if (reach < 0) memory->start += (uintptr_t)reach;
  else memory->end += (uintptr_t)reach;
}

/* Multiplies; whether that does not fit. A factor that is 0 leaves 0. */
static inline int times(int64_t *product, int64_t factor) {
  return __builtin_mul_overflow(*product, factor, product);
}

/* Whether two elements of a strided array may share memory: those along an axis lie within what smaller ones span. */
static inline int folded(int rank, const int64_t *extents, const int64_t *strides) {
  int64_t span = 1, last = 0;
  for (int k = 0; k < rank; k++)
    if (!extents[k]) return 0;
  for (int taken = 0; taken < rank; taken++) {
    int64_t next = INT64_MAX, reach = 0;
    for (int k = 0; k < rank; k++) { /* the smallest strides that are left */
      int64_t stride = strides[k] < 0 ? -strides[k] : strides[k];
      if (extents[k] > 1 && (taken ? stride > last : 1) && stride < next) next = stride;
    }
    if (next == INT64_MAX) return 0;
    if (next < span) return 1;
    for (int k = 0, seen = 0; k < rank; k++) {
      int64_t stride = strides[k] < 0 ? -strides[k] : strides[k];
      if (extents[k] < 2 || stride != next) continue;
      if (seen++) return 1;
      reach = stride * (extents[k] - 1);
    }
    span += reach;
    last = next;
  }
  return 0;
}

static inline int meet(span a, span b) {
  return a.start < a.end && b.start < b.end && a.start < b.end && b.start < a.end;
}
"""

__all__ = ["Source"]

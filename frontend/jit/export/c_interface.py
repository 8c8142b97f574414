"""What the C function of a program takes and gives: facts, of which the header, the source and the example are made.

    f(x: float32[n, 4], k: int) -> (float32[n], int)
    int32_t f(const float *x, int64_t n, int64_t k, float *result_0, int64_t *result_1, nestor_error *error);

Each argument in order: an array as a pointer, then those of its unknown extents that no argument before has had, then its
strides in elements where it may be strided; a number by value. Then results: a pointer to memory of the caller, or, where
only the run knows the extents, to a pointer that is set, and to the extents. Last the error record.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from ....runtime.abi import MemrefForm
from ...interface.argument_types import ArgumentType
from ...interface.errors import UnsupportedError
from ...interface.program_parts import Linear, OutputType, Program, Quotient, run_name
from ...interface.structures import Again, Structure

C_TYPES = {
    "bool": "uint8_t",
    **{f"{sign}int{bits}": f"{sign}int{bits}_t" for sign in ("", "u") for bits in (8, 16, 32, 64)},
    "float16": "uint16_t",
    "bfloat16": "uint16_t",
    "float32": "float",
    "float64": "double",
    "complex64": "nestor_complex64",
    "complex128": "nestor_complex128",
}
"""By NumPy's names. Halves are their bits; bool is 0 or 1."""

_WORDS = """
auto break case char const continue default do double else enum extern float for goto if inline int long register
restrict return short signed sizeof static struct switch typedef union unsigned void volatile while bool true false
alignas alignof asm catch class delete explicit export friend mutable namespace new operator private protected public
template this throw try typeid typename using virtual wchar_t and or not xor bitand bitor compl NULL errno main
constexpr decltype noexcept nullptr static_assert thread_local linux unix
int8_t int16_t int32_t int64_t uint8_t uint16_t uint32_t uint64_t size_t ssize_t uintptr_t intptr_t pthread_t
memcpy memset strlen strtod snprintf printf puts calloc malloc free aligned_alloc fork exit NAN INFINITY
"""
_OWN_WORDS = """
slots status own once sites reasons allocator begin refuse widen meet times folded span fits_processor text
bits_of_double bits_of_float
"""
KEYWORDS = frozenset(_WORDS.split())
"""Words of C and C++, and of their libraries."""

_TAKEN = KEYWORDS.union(_OWN_WORDS.split())
"""Those, and names of the source."""


class Names:
    """Names of C that are taken."""

    def __init__(self, taken: Sequence[str] = ()):
        self._taken = {*taken}

    def new(self, wanted: str) -> str:
        """A name like `wanted` that is one of C, and free. Two underscores are left to names of the source."""
        plain = re.sub(r"[^0-9A-Za-z_]+", "_", wanted).strip("_") or "value"
        plain = re.sub("_{2,}", "_", f"a_{plain}" if plain[0].isdigit() else plain)
        plain = f"{plain}_" if plain in _TAKEN or plain.startswith("nestor_") else plain
        name, number = plain, 2
        while name in self._taken:
            name, number = f"{plain}_{number}", number + 1
        self._taken.add(name)
        return name


class Parameter(NamedTuple):
    """One parameter of the C function: its declaration, its name, and a sentence on it; "" where none is needed."""

    type: str
    name: str
    note: str = ""

    @property
    def declared(self) -> str:
        """As a declaration: `const float *x`."""
        kind, bracket, rest = self.type.partition("[")
        space = "" if kind.endswith("*") else " "
        return f"{kind}{space}{self.name}{bracket}{rest}"


class Array(NamedTuple):
    """An array argument: its memory as the kernel sees it, axes from the outermost."""

    name: str
    python: str
    dtype: np.dtype
    extents: tuple[str, ...]
    """C expressions: a number, or the name of a parameter; in the order of memory."""
    strides: tuple[str, ...] | None
    """C expressions, in elements; None where it is contiguous."""
    order: tuple[int, ...] | None
    written: bool
    form: MemrefForm


class Number(NamedTuple):
    """A number argument, by value."""

    name: str
    python: str
    dtype: np.dtype
    form: Any


class Result(NamedTuple):
    """A parameter for a result.

    `output` is the kernel's, of rank `allocated` where that allocates it; else the value is the C expression `value`.
    """

    name: str
    path: str
    """Where it is in what the function returns: "", "[0]", "['loss']"."""
    dtype: np.dtype
    shape: tuple[Linear, ...]
    """As the Python function returns it."""
    output: int | None
    allocated: int | None = None
    order: tuple[int, ...] | None = None
    value: str = ""
    shape_name: str = ""
    tag: int | None = None
    """The output that says whether an argument is returned instead; its elements are copied then."""
    chosen: tuple[tuple[int, str], ...] = ()
    """Which number stands for which argument."""


class Interface:
    """The C function `name` of a program. Raises UnsupportedError for what C has no form for."""

    def __init__(self, program: Program, forms: Sequence[Any], name: str):
        self.program = program
        self.name = name
        self._names = Names((name, "error", f"{name}_kernel", f"{name}_give_back"))
        self.extents: dict[str, str] = {}
        """The C names of the unknown extents of the program."""
        self.arguments: list[Array | Number] = []
        self.compiled_in: list[ArgumentType] = []
        self.parameters: list[Parameter] = []
        self.integers: dict[int, str] = {}
        """The C names of integer arguments, by position."""
        self._by_position: dict[int, Array | Number] = {}
        self._own_names = {
            one.name: self._names.new(one.name)
            for one in program.arguments
            if one.kind not in ("static", "same")
        }
        rest = iter(forms)
        for position, one in enumerate(program.arguments):
            self._argument(position, one, rest)
        self.forms = list(rest)
        """Of the kernel's outputs."""
        self.results: list[Result] = []
        self.notes: list[str] = []
        """Sentences on results that have no parameter."""
        self._count = 0
        leaves = list(_leaves(program.results, ""))
        for path, leaf in leaves:
            self._result(path, leaf, len(leaves) == 1)
        used = {one.output for one in self.results}
        tags = {one.tag for one in self.results}
        self.hidden = [k for k in range(len(program.outputs)) if k not in used]
        """Outputs that no result is, such as integers that others are made with."""
        for k in self.hidden:
            if program.outputs[k].kind != "told" and k not in tags:
                raise self._refusal("a result that is made of another one", "return the array itself")

    # ---- arguments ----------------------------------------------------------------------------------

    def _argument(self, position: int, one: ArgumentType, forms: Iterator[Any]) -> None:
        if one.kind == "static":
            if not isinstance(one.value, Structure | Again):
                self.compiled_in.append(one)
            return
        if one.kind == "same" or one.overlap is not None or one.layout == "folded":
            raise self._refusal(
                f"argument '{one.name}' overlaps itself or another one in memory",
                "lower the function for nt.spec(...) instead of arrays that overlap",
            )
        form = next(forms)
        assert one.dtype is not None
        if one.kind != "array":
            number = Number(self._own_names[one.name], one.name, one.dtype, form)
            if one.kind == "int":
                self.integers[position] = number.name
            self._by_position[position] = number
            self.arguments.append(number)
            self.parameters.append(Parameter(C_TYPES[one.dtype.name], number.name, _kind_note(one.dtype)))
            return
        written = position in self.program.written
        name = self._own_names[one.name]
        const = "" if written else "const "
        place = len(self.parameters)
        extents = tuple([self._extent(e) for e in one.extents])
        order = one.order
        if order is not None:
            extents = tuple([extents[axis] for axis in order])
        free = None
        if form.strides is not None:
            strides = form.strides[: len(extents)]
            scale = 2 if one.dtype.kind == "c" else 1
            free = tuple(
                [str(s // scale) if s is not None else self._stride(name, k) for k, s in enumerate(strides)]
            )
        array = Array(name, one.name, one.dtype, extents, free, order, written, form)
        self._by_position[position] = array
        self.arguments.append(array)
        note = array_note(array)
        self.parameters.insert(place, Parameter(f"{const}{C_TYPES[one.dtype.name]} *", name, note))

    def _extent(self, extent: int | str) -> str:
        if not isinstance(extent, str):
            return str(extent)
        if extent not in self.extents:
            name = self.extents[extent] = self._names.new(extent)
            self.parameters.append(Parameter("int64_t", name, "an extent, at least 2"))
        return self.extents[extent]

    def _stride(self, name: str, axis: int) -> str:
        made = self._names.new(f"{name}_stride_{axis}")
        self.parameters.append(
            Parameter("int64_t", made, f"from one element of axis {axis} to the next, in elements")
        )
        return made

    # ---- results ------------------------------------------------------------------------------------

    def _result(self, path: str, leaf: Any, alone: bool) -> None:
        shape = None
        if leaf.how in ("reshape", "ravel") and leaf.value is not None and leaf.value.how == "output":
            parameters, window = leaf.view
            inner = self.program.outputs[leaf.value.output]
            if window is None and inner.order is None and inner.allocated is None:
                shape = tuple(parameters) if leaf.how == "reshape" else None
                leaf = leaf.value
        if leaf.how in ("output", "read-only"):
            self._output(path, leaf.output, alone, shape)
        elif leaf.how == "choice":
            self._choice(path, leaf, alone)
        elif leaf.how == "integer":
            self._value(path, np.dtype(np.int64), self.linear(leaf.value), alone)
        elif leaf.how == "constant":
            self._constant(path, leaf.value, alone)
        elif leaf.how == "argument" and leaf.argument < len(self.program.arguments):
            self._returned_argument(path, leaf.argument, alone)
        elif leaf.how == "again":
            self.notes.append(f"What is returned{path} is what was returned before.")
        else:
            what = _REFUSED.get(leaf.how, ("a view of an array", "return a copy of it: x[...].copy()"))
            raise self._refusal(f"what it returns{path} is {what[0]}", what[1])

    def _output(self, path: str, k: int, alone: bool, shape: tuple[Linear, ...] | None) -> None:
        known = next((one for one in self.results if one.output == k), None)
        if known is not None:
            self.notes.append(f"What is returned{path} is {known.name} again.")
            return
        one = self.program.outputs[k]
        name = self._result_name(path, alone)
        shape_name = self._names.new(f"{name}_shape")
        self.results.append(
            Result(name, path, one.dtype, shape or one.extents, k, one.allocated, one.order, "", shape_name)
        )

    def _choice(self, path: str, leaf: Any, alone: bool) -> None:
        """An argument or what the kernel filled: the elements of either are the caller's to have."""
        one = self.program.outputs[leaf.output]
        shape = tuple([readable(self, e) for e in one.extents])
        chosen = []
        for number, other in leaf.value.items():
            is_argument = other.how == "argument" and other.argument < len(self.program.arguments)
            found = self._by_position.get(other.argument) if is_argument else None
            if (
                not isinstance(found, Array)
                or (found.strides, found.order, one.order) != (None, None, None)
                or (found.dtype, found.extents) != (one.dtype, shape)
                or one.allocated is not None
            ):
                raise self._refusal(
                    f"what it returns{path} is a new array, or by a condition another one of other extents or strides",
                    "return a new array in both cases: x.copy()",
                )
            chosen.append((number, found.name))
        name = self._result_name(path, alone)
        shape_name = self._names.new(f"{name}_shape")
        self.results.append(
            Result(
                name,
                path,
                one.dtype,
                one.extents,
                leaf.output,
                None,
                None,
                "",
                shape_name,
                leaf.tag,
                tuple(chosen),
            )
        )

    def _value(self, path: str, dtype: np.dtype, value: str, alone: bool) -> None:
        self.results.append(Result(self._result_name(path, alone), path, dtype, (), None, value=value))

    def _constant(self, path: str, value: Any, alone: bool) -> None:
        if value is None:
            self.notes.append(f"What is returned{path} is None.")
            return
        if not isinstance(value, bool | int | float | complex | np.generic) or isinstance(value, str | bytes):
            raise self._refusal(
                f"what it returns{path} is {value!r}, a constant that is no number",
                "leave it out of the result",
            )
        array = np.asarray(value)
        if array.dtype.name not in C_TYPES:
            raise self._refusal(
                f"what it returns{path} is {value!r}, which no type of C holds", "leave it out"
            )
        self._value(path, array.dtype, c_constant(array), alone)

    def _returned_argument(self, path: str, position: int, alone: bool) -> None:
        argument = self.program.arguments[position]
        if argument.kind == "static":
            self._constant(path, argument.value, alone)
            return
        found = self._by_position[position]
        if isinstance(found, Array):
            self.notes.append(f"What is returned{path} is {found.name} itself.")
        else:
            self._value(path, found.dtype, found.name, alone)

    def _result_name(self, path: str, alone: bool) -> str:
        text = re.sub(r"\W+", "_", path).strip("_")
        return self._names.new("result" if alone or not text else f"result_{text}")

    # ---- parameters and expressions -----------------------------------------------------------------

    def result_parameters(self) -> list[Parameter]:
        """The parameters for results."""
        made = []
        for one in self.results:
            kind = C_TYPES[one.dtype.name]
            if one.allocated is not None:
                made.append(Parameter(f"{kind} **", one.name, result_note(self, one)))
                if one.allocated:
                    made.append(Parameter(f"int64_t[{one.allocated}]", one.shape_name, "its extents"))
            else:
                made.append(Parameter(f"{kind} *", one.name, result_note(self, one)))
        return made

    def sized(self) -> list[Result]:
        """The results whose extents follow from the arguments, and are no constants."""
        return [one for one in self.results if one.allocated is None and any(e.terms for e in one.shape)]

    def size_parameters(self) -> list[Parameter]:
        """What the extents of results may depend on."""
        made = [Parameter("int64_t", name) for name in self.extents.values()]
        return made + [Parameter("int64_t", name) for name in self.integers.values()]

    def linear(self, form: Linear) -> str:
        """A C expression of parameters."""
        terms = [
            f"{self._term(key)}" if c == 1 else f"INT64_C({c}) * {self._term(key)}" for key, c in form.terms
        ]
        if form.constant or not terms:
            terms.append(f"INT64_C({form.constant})")
        return " + ".join(terms)

    def _term(self, key: Any) -> str:
        if isinstance(key, Quotient):
            function = "nestor_modulo" if key.remainder else "nestor_quotient"
            return f"{function}({self.linear(key.numerator)}, INT64_C({key.divisor}))"
        if isinstance(key, int):
            return self.integers[key]
        told = [k for k, one in enumerate(self.program.outputs) if one.kind == "told" and run_name(k) == key]
        return f"told__{told[0]}" if told else self.extents[key]

    def _refusal(self, what: str, hint: str) -> UnsupportedError:
        return UnsupportedError(f"'{self.name}' cannot be exported to C: {what}", hint=hint)


_REFUSED = {
    "rows": ("a list that a loop makes", "return an array"),
    "zipped": ("a list that a loop makes", "return arrays"),
    "chosen": ("a string", "return a number"),
    "item": ("an object of the caller", "return arrays and numbers"),
    "argument": ("an object of the caller", "return arrays and numbers"),
}
"""Results that C has no form for, and what to return instead."""


def _leaves(result: Any, path: str) -> Iterator[tuple[str, Any]]:
    """The leaves of a result, each with its place."""
    if not isinstance(result, tuple):
        yield path, result
        return
    kind, keys, items = result
    if kind.__name__ == "Maybe":
        raise UnsupportedError(
            "a result that may be None cannot be exported to C",
            hint="return a number that says so beside the array",
        )
    for k, item in enumerate(items):
        key = f"[{k}]" if keys is None else f"[{keys[k]!r}]" if kind is dict else f".{keys[k]}"
        yield from _leaves(item, path + key)


def c_constant(array: np.ndarray) -> str:
    """A number as a C expression."""
    value = array[()]
    if array.dtype.kind == "c":
        kind = C_TYPES[array.dtype.name]
        return f"({kind}){{{c_float(float(value.real))}, {c_float(float(value.imag))}}}"
    if array.dtype.name in ("float16", "bfloat16"):
        return str(int(array.view(np.uint16)))
    if array.dtype.kind == "f":
        return c_float(float(value))
    if array.dtype.kind == "u":
        return f"UINT64_C({int(value)})"
    number = int(value)
    return "INT64_MIN" if number == -(1 << 63) else f"INT64_C({number})"


def c_float(value: float) -> str:
    """A float as a C expression, exactly."""
    if value != value:
        return "NAN"
    if value in (float("inf"), -float("inf")):
        return "INFINITY" if value > 0 else "-INFINITY"
    return value.hex()


def _kind_note(dtype: np.dtype) -> str:
    return {"bool": "0 or 1", "float16": "the bits of a half", "bfloat16": "the bits of a bfloat16"}.get(
        dtype.name, ""
    )


def array_note(array: Array) -> str:
    """A sentence on the memory of an array."""
    shape = "".join(f"[{e}]" for e in array.extents) or "one element"
    text = f"{array.dtype}, {shape}"
    if array.order is not None:
        text += f", axes in memory: {', '.join(map(str, array.order))}"
    if array.strides is not None:
        text += f", element (i, ...) at {' + '.join(f'i{k} * {s}' for k, s in enumerate(array.strides))}"
    if array.written:
        text += "; is written"
    note = _kind_note(array.dtype)
    return f"{text}; {note}" if note else text


def result_note(interface: Interface, one: Result) -> str:
    """A sentence on the memory of a result."""
    where = f"what is returned{one.path}" if one.path else "the result"
    if one.allocated is not None:
        return f"{where}, {one.dtype} of {one.allocated} axes: set to memory that {interface.name}_release gives back"
    shape = "".join(f"[{readable(interface, e)}]" for e in one.shape) or "one element"
    text = f"{where}, {one.dtype}, {shape}"
    if one.order is not None:
        text += f", axes in memory: {', '.join(map(str, one.order))}"
    if one.chosen:
        names = " or ".join(name for _, name in one.chosen)
        text += f"; where Python returns {names} itself, its elements are copied"
    note = _kind_note(one.dtype)
    return f"{text}; {note}" if note else text


def readable(interface: Interface, form: Linear) -> str:
    """An extent for a reader of the header."""
    return re.sub(r"U?INT64_C\((-?\d+)\)", r"\1", interface.linear(form))


def in_memory(one: OutputType) -> tuple[Linear, ...]:
    """The extents of an output as they are in memory."""
    return one.extents if one.order is None else tuple([one.extents[axis] for axis in one.order])

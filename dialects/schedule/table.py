"""The one table of schedule primitives: their handles, options and results, as text writes them.

A row becomes an operation of the `schedule` dialect, a method of `nt.schedule(...)`, and a section of docs/schedules.md.
What a primitive does, and when it is legal, stands in the file that `function` names: adding a primitive means
that file and a row here.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

LOOP, STATEMENT, BUFFER = "loop", "statement", "buffer"
"""What a handle stands for."""


@dataclass(frozen=True, eq=False)
class Target:
    """A handle that a primitive takes. It stands after `keyword`; of a `variadic` one there may be several."""

    name: str
    kind: str = LOOP
    keyword: str = ""
    variadic: bool = False
    consumed: bool = False
    """The primitive replaces what the handle stands for, so that the handle is of no use afterwards."""


@dataclass(frozen=True, eq=False)
class Option:
    """An option: `name(value)` in text, `keyword value` when it has a keyword, the bare name when it is a flag."""

    name: str
    type: str
    """`int`, `ints`, `word` (one of `choices`), `string`, `place` (a label, or how many pieces before it) or `flag`."""
    default: object = None
    required: bool = False
    keyword: str = ""
    choices: tuple[str, ...] = ()


@dataclass(frozen=True, eq=False)
class Result:
    """A handle that a primitive gives; `when` is an option and a value without which there is no such result."""

    name: str
    kind: str = LOOP
    when: tuple[str, str] | None = None
    variadic: bool = False
    """As many as there are handles of the (variadic) target."""


@dataclass(frozen=True, eq=False)
class Primitive:
    """A row: see the module's docstring. `function` is `module:name`, below the package."""

    name: str
    function: str
    targets: tuple[Target, ...]
    options: tuple[Option, ...] = ()
    results: tuple[Result, ...] = ()

    def option(self, name: str) -> Option:
        """The option called `name`. Raises KeyError."""
        for option in self.options:
            if option.name == name:
                return option
        raise KeyError(name)

    def results_for(self, options: Mapping[str, object], targets: int) -> list[Result]:
        """The results when the options have these values and there are so many targets."""
        found: list[Result] = []
        for result in self.results:
            if result.when is not None:
                name, wanted = result.when
                if options.get(name, self.option(name).default) != wanted:
                    continue
            found += [result] * (targets if result.variadic else 1)
        return found


def _loop(consumed: bool = False) -> tuple[Target, ...]:
    return (Target("loop", consumed=consumed),)


def _primitive(
    name: str,
    targets: tuple[Target, ...],
    options: tuple[Option, ...] = (),
    results: tuple[Result, ...] = (),
    file: str | None = None,
    function: str | None = None,
) -> Primitive:
    """A row whose function is called like it, in the file that is, unless it says otherwise."""
    return Primitive(name, f"{file or name}:{function or name}", targets, options, results)


def _in_room(room: str, rows: tuple[Primitive, ...]) -> tuple[Primitive, ...]:
    return tuple(replace(row, function=f"transforms.nest.{room}.{row.function}") for row in rows)


_INTO_LOOP = (Target("buffer", BUFFER), Target("loop", keyword="at"))
_CONSUMED_BUFFER = (Target("buffer", BUFFER, consumed=True),)
_BAND = (Target("loops", variadic=True, consumed=True),)

_FACTOR = Option("factor", "int", required=True, keyword="by")
_TAIL = Option("tail", "word", "remainder", choices=("remainder", "mask", "clamp", "perfect"))
_SPACE = Option("space", "word", "global", choices=("global", "shared", "local"))
_CACHE = (_SPACE, Option("name", "string"), Option("axes", "ints", default=()))

_ROWS: dict[tuple[str, str], tuple[Primitive, ...]] = {
    ("Loops", "loops"): (
        _primitive(
            "split",
            _loop(consumed=True),
            (_FACTOR, _TAIL),
            (Result("outer"), Result("inner"), Result("rest", when=("tail", "remainder"))),
        ),
        _primitive(
            "tile",
            _BAND,
            (Option("sizes", "ints", required=True, keyword="by"), _TAIL),
            (Result("outer", variadic=True), Result("inner", variadic=True)),
        ),
        _primitive("reorder", (Target("order", variadic=True),)),
        _primitive("fuse", (Target("first"), Target("second", consumed=True)), (), (Result("loop"),)),
        _primitive("beside", (Target("first"), Target("second")), (), (Result("loop"),)),
        _primitive(
            "flatten",
            (Target("outer", consumed=True), Target("inner", consumed=True)),
            (),
            (Result("loop"),),
        ),
        _primitive(
            "peel",
            _loop(consumed=True),
            (
                Option("count", "int", 1, keyword="by"),
                Option("where", "word", "head", choices=("head", "tail")),
            ),
            (Result("first"), Result("second")),
        ),
        _primitive(
            "cut",
            _loop(consumed=True),
            (Option("at", "int", required=True, keyword="at"),),
            (Result("before"), Result("after")),
        ),
        _primitive("shift", _loop(), (Option("by", "int", required=True, keyword="by"),)),
        _primitive("skew", (Target("outer"), Target("inner")), (Option("by", "int", 1, keyword="by"),)),
        _primitive("normalise", _loop()),
        _primitive("reverse", _loop()),
        _primitive(
            "unroll",
            _loop(consumed=True),
            (Option("factor", "int", keyword="by"), Option("force", "flag", False)),
            (Result("blocks"),),
        ),
        _primitive("unroll_and_jam", _loop(consumed=True), (_FACTOR,), (Result("blocks"),)),
        _primitive(
            "distribute",
            _loop(consumed=True),
            (Option("after", "place", keyword="after"),),
            (Result("loops"),),
        ),
        _primitive(
            "add_unit_loop", _loop(), (Option("name", "string", "one"),), (Result("unit"),), "normalise"
        ),
        _primitive("remove_unit_loop", _loop(consumed=True), file="normalise"),
        _primitive(
            "specialise",
            _loop(consumed=True),
            (Option("when", "string", required=True, keyword="when"),),
            (Result("special"), Result("general")),
        ),
        _primitive("hoist", _loop()),
        _primitive("sink", _loop()),
        _primitive("absorb", _loop()),
        _primitive("rename", _loop(), (Option("to", "string", required=True, keyword="to"),)),
        _primitive("unmask", _loop()),
    ),
    ("Producers and consumers", "producers"): (
        _primitive(
            "compute_at",
            _INTO_LOOP,
            (Option("storage", "word", "root", choices=("root", "here")),),
            (Result("producer"), Result("initialiser")),
        ),
        _primitive(
            "rolling_buffer",
            (Target("buffer", BUFFER, consumed=True), Target("loop", keyword="in")),
            (Option("storage", "word", "circular", choices=("circular", "whole")),),
            (Result("buffer", BUFFER), Result("first")),
        ),
        _primitive("reverse_compute_at", (Target("consumer"), Target("loop", keyword="at"))),
        _primitive("compute_root", _loop(consumed=True), (), (Result("producer"),)),
        _primitive("reverse_compute_inline", _CONSUMED_BUFFER),
        _primitive(
            "fuse_epilogue",
            (Target("consumer", consumed=True), Target("loop", keyword="at")),
            (_SPACE,),
            (Result("accumulators", BUFFER), Result("back")),
        ),
        _primitive(
            "compute_inline",
            _CONSUMED_BUFFER,
            (Option("duplicate", "word", "allow", choices=("allow", "refuse")),),
        ),
    ),
    ("Reductions", "reductions"): (
        _primitive("rfactor", (Target("lanes"),), (), (Result("init"), Result("combine"))),
        _primitive(
            "privatise",
            _loop(),
            (
                Option("parts", "int", required=True, keyword="into"),
                Option("share", "word", "chunks", choices=("chunks", "cyclic")),
            ),
            (Result("parts"), Result("combine")),
        ),
        _primitive(
            "block_moments",
            (Target("sums"), Target("squares", keyword="with")),
            (Option("parts", "int", required=True, keyword="into"),),
            (Result("parts"), Result("combine"), Result("total")),
        ),
        _primitive(
            "block_exponentials",
            (Target("maxima"), Target("sums", keyword="with")),
            (Option("parts", "int", required=True, keyword="into"),),
            (Result("parts"), Result("combine"), Result("total"), Result("rest")),
        ),
        _primitive("tree_reduce", _loop(), (), (Result("steps"),)),
        _primitive(
            "block_scan",
            _loop(consumed=True),
            (_FACTOR,),
            (Result("sums"), Result("carry"), Result("blocks"), Result("rest")),
        ),
        _primitive("decompose_reduction", _loop(consumed=True), (), (Result("init"), Result("update"))),
        _primitive(
            "online_softmax",
            (Target("rows"), Target("product", keyword="with")),
            (_FACTOR,),
            (
                Result("start"),
                Result("zeros"),
                Result("blocks"),
                Result("of_rows"),
                Result("scaled"),
                Result("of_product"),
                Result("end"),
            ),
        ),
        _primitive(
            "search_parts",
            (Target("extreme"), Target("search", keyword="with")),
            (Option("parts", "int", required=True, keyword="into"),),
            (Result("outer"), Result("combine"), Result("which")),
        ),
    ),
    ("Memory", "memory"): (
        _primitive(
            "cache_read",
            _INTO_LOOP,
            (
                *_CACHE,
                Option("along", "string"),
                Option("axis", "int"),
                Option("converted", "flag", default=False),
                Option("tail", "word", "clamp", choices=("clamp", "zero")),
            ),
            (Result("cache", BUFFER), Result("copy")),
        ),
        _primitive(
            "cache_write",
            _INTO_LOOP,
            (
                Option("init", "word", "load", choices=("load", "identity")),
                *_CACHE,
                Option("tail", "word", "clamp", choices=("clamp", "mask")),
            ),
            (Result("cache", BUFFER), Result("start"), Result("back")),
        ),
        _primitive(
            "stage_factors",
            _loop(),
            (_SPACE, Option("narrow", "flag", default=False)),
            (
                Result("left", BUFFER),
                Result("left_copy"),
                Result("right", BUFFER),
                Result("right_copy"),
            ),
        ),
        _primitive(
            "stage_mem",
            _INTO_LOOP,
            (Option("window", "string"), *_CACHE),
            (Result("cache", BUFFER), Result("load"), Result("back")),
        ),
        _primitive(
            "registerise",
            (Target("buffer", BUFFER), Target("loop", keyword="in")),
            (),
            (Result("registers", BUFFER),),
        ),
        _primitive(
            "transform_layout",
            _CONSUMED_BUFFER,
            (Option("layout", "string", required=True, keyword="to"), Option("pad", "ints", default=())),
            (Result("buffer", BUFFER),),
        ),
        _primitive(
            "set_memory",
            _CONSUMED_BUFFER,
            (Option("space", "word", required=True, keyword="to", choices=("global", "shared", "local")),),
            (Result("buffer", BUFFER),),
        ),
        _primitive("hoist_alloc", (Target("buffer", BUFFER), Target("loop", keyword="before"))),
        _primitive("sink_alloc", (Target("buffer", BUFFER), Target("loop", keyword="into"))),
        _primitive("reuse_buffers", (), (Option("order", "word", "kept", choices=("kept", "free")),)),
        _primitive(
            "fold_buffer",
            _CONSUMED_BUFFER,
            (_FACTOR, Option("dimension", "int", 0)),
            (Result("buffer", BUFFER),),
        ),
        _primitive(
            "resize_buffer",
            _CONSUMED_BUFFER,
            (Option("dimension", "int", 0), Option("size", "int", keyword="to"), Option("offset", "int", 0)),
            (Result("buffer", BUFFER),),
        ),
        _primitive(
            "expand_buffer",
            (Target("buffer", BUFFER, consumed=True), Target("loop", keyword="over")),
            (),
            (Result("buffer", BUFFER),),
        ),
        _primitive(
            "double_buffer",
            (Target("buffer", BUFFER, consumed=True), Target("loop", keyword="in")),
            (),
            (Result("buffer", BUFFER), Result("first"), Result("last")),
        ),
        _primitive(
            "pipeline",
            _loop(),
            (Option("stages", "int", 2, keyword="by"),),
            (Result("first"), Result("last")),
        ),
        _primitive(
            "prefetch",
            (Target("buffer", BUFFER), Target("loop", keyword="in")),
            (
                Option("distance", "int", required=True, keyword="by"),
                Option("whole", "flag", False),
                Option("at", "string"),
            ),
        ),
        _primitive("stream", (Target("buffer", BUFFER), Target("loop", keyword="in"))),
    ),
    ("Cleaning up", "cleanup"): (_primitive("simplify", ()), _primitive("eliminate_dead", ())),
    ("Mapping to the machine", "mapping"): (
        _primitive(
            "vectorize", _loop(consumed=True), (Option("width", "int", keyword="by"),), (Result("vectors"),)
        ),
        _primitive("parallel", _loop(), (Option("grain", "int"),), function="parallelize"),
        _primitive(
            "annotate",
            _loop(),
            (
                Option("mark", "string", required=True, keyword="with"),
                Option("value", "int"),
                Option("text", "string"),
                Option("force", "flag", False),
            ),
        ),
        _primitive("bind", _loop(), (Option("axis", "string", required=True, keyword="to"),)),
        _primitive("insert_barriers", ()),
        _primitive(
            "tensorize", _loop(consumed=True), (Option("intrinsic", "string", required=True, keyword="to"),)
        ),
    ),
}
"""The rows by what they are about, and the folder of `transforms/nest` that has their files."""

GROUPS: dict[str, tuple[Primitive, ...]] = {
    title: _in_room(room, rows) for (title, room), rows in _ROWS.items()
}
"""The rows by what they are about."""

PRIMITIVES: dict[str, Primitive] = {row.name: row for rows in GROUPS.values() for row in rows}
"""The rows by name."""

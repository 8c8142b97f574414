"""The one table of schedule primitives: their handles, options and results, as text writes them.

A row becomes an operation of the `schedule` dialect, a method of `nt.schedule(...)`, a pass, and a section of
docs/schedules.md. What a primitive does, and when it is legal, is in the file that `function` names: adding a
primitive means that file and a row here.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

LOOP, STATEMENT, BUFFER = "loop", "statement", "buffer"
"""What a handle stands for."""


@dataclass(frozen=True, eq=False)
class Target:
    """A handle that a primitive takes. It is after `keyword`; of a `variadic` one there may be several."""

    name: str
    kind: str = LOOP
    keyword: str = ""
    variadic: bool = False
    consumed: bool = False
    """The primitive replaces what the handle stands for, so that the handle is of no use afterwards."""
    in_pass: str | None = ""
    """What its option in the pass is called, where not like itself; None where the function finds it by itself."""


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
    in_pass: str = ""
    """What it is called in the pass, where not like here (`name` is the name of a pass)."""


@dataclass(frozen=True, eq=False)
class Result:
    """A handle that a primitive gives; `when` is an option and a value without which there is no such result."""

    name: str
    kind: str = LOOP
    when: tuple[str, object] | None = None
    variadic: bool = False
    """As many as there are handles of the (variadic) target."""


@dataclass(frozen=True, eq=False)
class Primitive:
    """A row: see the module's docstring. `function` is `module:name`, below the package; `summary` is one sentence."""

    name: str
    summary: str
    function: str
    targets: tuple[Target, ...]
    options: tuple[Option, ...] = ()
    results: tuple[Result, ...] = ()
    own_pass: bool = False
    """The pass has options beside these, and its class is in the primitive's file."""

    @property
    def pass_name(self) -> str:
        """The pass that does the primitive: `nest-split`."""
        return "nest-" + self.name.replace("_", "-")

    @property
    def pass_class(self) -> str:
        """What the class of the pass is called: `NestSplitPass`."""
        return "".join(word.capitalize() for word in self.pass_name.split("-")) + "Pass"

    def option(self, name: str) -> Option:
        """The option called `name`. Raises KeyError."""
        for option in self.options:
            if option.name == name:
                return option
        raise KeyError(name)

    def results_for(self, options: Mapping[str, object], targets: int) -> list[Result]:
        """The results when the options have these values and there are this many targets."""
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
    summary: str,
    targets: tuple[Target, ...],
    options: tuple[Option, ...] = (),
    results: tuple[Result, ...] = (),
    file: str | None = None,
    function: str | None = None,
    own_pass: bool = False,
) -> Primitive:
    """A row whose function is called like it, in the file that is, unless it says otherwise."""
    return Primitive(name, summary, f"{file or name}:{function or name}", targets, options, results, own_pass)


def _in_room(room: str, rows: tuple[Primitive, ...]) -> tuple[Primitive, ...]:
    return tuple(replace(row, function=f"transforms.nest.{room}.{row.function}") for row in rows)


_INTO_LOOP = (Target("buffer", BUFFER), Target("loop", keyword="at"))
_CONSUMED_BUFFER = (Target("buffer", BUFFER, consumed=True),)
_BAND = (Target("loops", variadic=True, consumed=True),)

_FACTOR = Option("factor", "int", required=True, keyword="by")
_TAIL = Option("tail", "word", "remainder", choices=("remainder", "mask", "clamp", "perfect"))
_SPACE = Option("space", "word", "global", choices=("global", "shared", "local"))
_CACHE = (_SPACE, Option("name", "string", in_pass="label"), Option("axes", "ints", default=()))

_ROWS: dict[tuple[str, str], tuple[Primitive, ...]] = {
    ("Loops", "loops"): (
        _primitive(
            "split",
            "Split a loop into an outer and an inner one of `factor` iterations.",
            _loop(consumed=True),
            (_FACTOR, _TAIL),
            (Result("outer"), Result("inner"), Result("rest", when=("tail", "remainder"))),
        ),
        _primitive(
            "tile",
            "Split perfectly nested loops, and run the loops over tiles outside of the loops in a tile.",
            _BAND,
            (Option("sizes", "ints", required=True, keyword="by"), _TAIL),
            (Result("outer", variadic=True), Result("inner", variadic=True)),
        ),
        _primitive(
            "reorder",
            "Run perfectly nested loops in the given order, outermost first.",
            (Target("order", variadic=True, in_pass="loops"),),
        ),
        _primitive(
            "fuse",
            "Fuse two consecutive loops, one of which runs through the iterations of the other, into one.",
            (Target("first"), Target("second", consumed=True)),
            (),
            (Result("loop"),),
        ),
        _primitive(
            "beside",
            "Make two consecutive loops the two iterations of one loop around them.",
            (Target("first"), Target("second")),
            (),
            (Result("loop"),),
        ),
        _primitive(
            "flatten",
            "Flatten two perfectly nested loops into one.",
            (Target("outer", consumed=True, in_pass="loop"), Target("inner", consumed=True, in_pass=None)),
            (),
            (Result("loop"),),
        ),
        _primitive(
            "peel",
            "Peel the first or last `count` iterations of a loop off into a loop of their own.",
            _loop(consumed=True),
            (
                Option("count", "int", 1, keyword="by"),
                Option("where", "word", "head", choices=("head", "tail")),
            ),
            (Result("first"), Result("second")),
        ),
        _primitive(
            "cut",
            "Cut a loop into two after `at` iterations.",
            _loop(consumed=True),
            (Option("at", "int", required=True, keyword="at"),),
            (Result("before"), Result("after")),
        ),
        _primitive(
            "shift",
            "Shift the range of a loop's variable by a constant.",
            _loop(),
            (Option("by", "int", required=True, keyword="by"),),
        ),
        _primitive(
            "skew",
            "Skew an inner loop: start it later in each iteration of an outer loop.",
            (Target("outer"), Target("inner")),
            (Option("by", "int", 1, keyword="by"),),
        ),
        _primitive("normalise", "Normalise a loop: run it from 0 in steps of 1.", _loop()),
        _primitive(
            "reverse",
            "Run the iterations of a loop from the last to the first, when no dependence forbids it.",
            _loop(),
        ),
        _primitive(
            "unroll",
            "Replace a loop by copies of its body, or unroll it by a factor with a remainder loop.",
            _loop(consumed=True),
            (Option("factor", "int", keyword="by"), Option("force", "flag", False)),
            (Result("blocks"),),
        ),
        _primitive(
            "unroll_and_jam",
            "Unroll a loop by a factor and jam the copies together inside the loops within.",
            _loop(consumed=True),
            (_FACTOR,),
            (Result("blocks"),),
        ),
        _primitive(
            "distribute",
            "Distribute a loop over the parts of its body, after a statement or wherever it is legal.",
            _loop(consumed=True),
            (Option("after", "place", keyword="after"),),
            (Result("loops"),),
        ),
        _primitive(
            "add_unit_loop",
            "Wrap a loop in a new one that runs once.",
            _loop(),
            (Option("name", "string", "one", in_pass="new"),),
            (Result("unit"),),
            "normalise",
        ),
        _primitive(
            "remove_unit_loop",
            "Replace a loop that runs exactly once by its body.",
            _loop(consumed=True),
            file="normalise",
        ),
        _primitive(
            "specialise",
            "Copy a nest for the case that a condition holds, and simplify the copy by it.",
            _loop(consumed=True),
            (Option("when", "string", required=True, keyword="when"),),
            (Result("special"), Result("general")),
        ),
        _primitive("hoist", "Move what is the same in all iterations of a loop before it.", _loop()),
        _primitive(
            "sink",
            "Move what is before the only loop of a loop's body into it: the two are perfectly nested then.",
            _loop(),
        ),
        _primitive("absorb", "Move statements next to a loop that runs once into it.", _loop()),
        _primitive(
            "rename",
            "Give a loop another name.",
            _loop(),
            (Option("to", "string", required=True, keyword="to"),),
        ),
        _primitive(
            "unmask",
            "Leave out conditions of statements in a loop where no one sees what the statements do without them.",
            _loop(),
        ),
        _primitive(
            "widen",
            "Give a loop the same range in all iterations of one around it, statements the conditions.",
            (*_loop(), Target("within", keyword="in")),
        ),
    ),
    ("Producers and consumers", "producers"): (
        _primitive(
            "compute_at",
            "Compute, in each iteration of a loop, just the part of a buffer that the iteration reads.",
            _INTO_LOOP,
            (Option("storage", "word", "root", choices=("root", "here")),),
            (Result("producer"), Result("initialiser")),
        ),
        _primitive(
            "rolling_buffer",
            "Keep what an iteration of a loop has computed of a buffer, and compute the new elements only.",
            (Target("buffer", BUFFER, consumed=True), Target("loop", keyword="in")),
            (Option("storage", "word", "circular", choices=("circular", "whole")),),
            (Result("buffer", BUFFER), Result("first")),
        ),
        _primitive(
            "reverse_compute_at",
            "Run, at the end of each iteration of a loop, the iterations of a later nest that use what it has made.",
            (Target("consumer"), Target("loop", keyword="at")),
        ),
        _primitive(
            "compute_root",
            "Compute a buffer as a whole before the loops that compute it in parts.",
            _loop(consumed=True),
            (),
            (Result("producer"),),
        ),
        _primitive(
            "reverse_compute_inline",
            "Use an element of a buffer where it is computed, and drop the buffer.",
            _CONSUMED_BUFFER,
        ),
        _primitive(
            "fuse_epilogue",
            "Use the results of a reduction where its accumulators are complete, and never store them.",
            (Target("consumer", consumed=True), Target("loop", keyword="at")),
            (_SPACE,),
            (Result("accumulators", BUFFER), Result("back")),
        ),
        _primitive(
            "recompute",
            "Do nests once more for readers, which then read what was made for them alone.",
            (Target("loops", variadic=True),),
            (Option("readers", "int", 1),),
            (Result("loops", variadic=True),),
        ),
        _primitive(
            "compute_inline",
            "Compute the elements of a buffer where they are read, and drop the buffer.",
            _CONSUMED_BUFFER,
            (Option("duplicate", "word", "allow", choices=("allow", "refuse")),),
        ),
    ),
    ("Reductions", "reductions"): (
        _primitive(
            "rfactor",
            "Give each iteration of a reduction loop its own accumulator, combined after the loop around it.",
            (Target("lanes", in_pass="loop"),),
            (),
            (Result("init"), Result("combine")),
        ),
        _primitive(
            "privatise",
            "Give parts of a reduction loop accumulators of their own, combined after it.",
            _loop(),
            (
                Option("parts", "int", required=True, keyword="into"),
                Option("share", "word", "chunks", choices=("chunks", "cyclic")),
            ),
            (Result("parts"), Result("combine")),
        ),
        _primitive(
            "exact_sum",
            "Add up integers instead of floating-point numbers at indices: the same sums in any order.",
            _loop(),
            (),
            (Result("start"), Result("largest"), Result("sums"), Result("end")),
        ),
        _primitive(
            "last_write",
            "Look for the last iteration that writes each element, then write what that one does.",
            _loop(),
            (),
            (Result("start"), Result("look"), Result("end")),
        ),
        _primitive(
            "scatter_to_gather",
            "Let each element gather what a loop adds to elements around its iteration.",
            (Target("buffer", BUFFER), Target("loop", keyword="in", consumed=True)),
            (),
            (Result("core"), Result("borders"), Result("rest")),
        ),
        _primitive(
            "block_relative",
            "Compute a reduction, and a sum of functions of the differences from its result, part by part.",
            (Target("bases"), Target("sums", keyword="with")),
            (Option("parts", "int", required=True, keyword="into"),),
            (Result("parts"), Result("combine"), Result("total"), Result("rest")),
        ),
        _primitive(
            "tree_reduce",
            "Combine the values of a reduction loop by a tree, in a buffer after it.",
            _loop(),
            (),
            (Result("steps"),),
        ),
        _primitive(
            "block_scan",
            "Compute a scan (running results) in blocks that do not wait for each other.",
            _loop(consumed=True),
            (_FACTOR,),
            (Result("sums"), Result("carry"), Result("blocks"), Result("rest")),
        ),
        _primitive(
            "decompose_reduction",
            "Initialise a reduction in a nest of its own, before it.",
            _loop(consumed=True),
            (),
            (Result("init"), Result("update")),
        ),
        _primitive(
            "online_softmax",
            "Compute a softmax of rows and the product that uses it block by block of the rows.",
            (Target("rows"), Target("product", keyword="with")),
            (_FACTOR, Option("kept", "flag", False)),
            (
                Result("start"),
                Result("zeros"),
                Result("blocks"),
                Result("of_rows"),
                Result("scaled"),
                Result("of_product"),
                Result("end"),
                Result("kept", when=("kept", True)),
            ),
        ),
        _primitive(
            "skip_masked",
            "Leave out blocks of a running softmax in which a mask leaves nothing; zeros of their product stay.",
            _loop(),
            (Option("side", "word", "above", choices=("above", "below")),),
            (Result("zeros"), Result("rest"), Result("added")),
        ),
        _primitive(
            "lift",
            "Reduce tuples base by base: first the bases, then the sums that are relative to them.",
            _loop(),
            (),
            (Result("relative"),),
        ),
    ),
    ("Memory", "memory"): (
        _primitive(
            "cache_read",
            "Copy the part of a buffer that an iteration of a loop reads to a buffer of its own.",
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
            "Let an iteration of a loop write to a buffer of its own, which is stored back at its end.",
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
            "Copy the factors of a reduction's terms before it, with zeros where there are no terms.",
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
            "Let an iteration of a loop load a window of a buffer, work on it, and store it back.",
            _INTO_LOOP,
            (Option("window", "string"), *_CACHE),
            (Result("cache", BUFFER), Result("load"), Result("back")),
        ),
        _primitive(
            "registerise",
            "Keep elements of a buffer that are fixed in a loop in registers.",
            (Target("buffer", BUFFER), Target("loop", keyword="in")),
            (),
            (Result("registers", BUFFER),),
        ),
        _primitive(
            "transform_layout",
            "Keep the elements of a buffer in another order: axes permuted, blocked, rotated, padded.",
            _CONSUMED_BUFFER,
            (Option("layout", "string", required=True, keyword="to"), Option("pad", "ints", default=())),
            (Result("buffer", BUFFER),),
        ),
        _primitive(
            "set_memory",
            "Put a buffer in another memory space: global, shared or local.",
            _CONSUMED_BUFFER,
            (Option("space", "word", required=True, keyword="to", choices=("global", "shared", "local")),),
            (Result("buffer", BUFFER),),
        ),
        _primitive(
            "hoist_alloc",
            "Make a buffer once, before a loop, instead of in each iteration.",
            (Target("buffer", BUFFER), Target("loop", keyword="before")),
        ),
        _primitive(
            "sink_alloc",
            "Make a buffer in each iteration of a loop, instead of once before it.",
            (Target("buffer", BUFFER), Target("loop", keyword="into")),
        ),
        _primitive(
            "reuse_buffers",
            "Let buffers whose elements are not needed at the same time share memory.",
            (),
            (
                Option("order", "word", "kept", choices=("kept", "free")),
                Option("within", "word", "function", choices=("function", "nest")),
            ),
        ),
        _primitive(
            "fold_buffer",
            "Make an axis of a buffer circular, where no two elements that share a place are needed at the same time.",
            _CONSUMED_BUFFER,
            (_FACTOR, Option("dimension", "int", 0)),
            (Result("buffer", BUFFER),),
        ),
        _primitive(
            "resize_buffer",
            "Give an axis of a buffer another extent: that of the window which is used, or a given one.",
            _CONSUMED_BUFFER,
            (Option("dimension", "int", 0), Option("size", "int", keyword="to"), Option("offset", "int", 0)),
            (Result("buffer", BUFFER),),
        ),
        _primitive(
            "expand_buffer",
            "Give each iteration of a loop a part of a buffer, so that iterations no longer share it.",
            (Target("buffer", BUFFER, consumed=True), Target("loop", keyword="over")),
            (),
            (Result("buffer", BUFFER),),
        ),
        _primitive(
            "double_buffer",
            "Copy what the next iteration of a loop works on while this one works, to one of two halves of a buffer.",
            (Target("buffer", BUFFER, consumed=True), Target("loop", keyword="in")),
            (),
            (Result("buffer", BUFFER), Result("first"), Result("last")),
        ),
        _primitive(
            "pipeline",
            "Copy what the next iterations of a loop work on while this one works.",
            _loop(),
            (Option("stages", "int", 2, keyword="by"),),
            (Result("first"), Result("last")),
        ),
        _primitive(
            "prefetch",
            "Prefetch what a loop reads or writes of a buffer, some iterations ahead.",
            (Target("buffer", BUFFER), Target("loop", keyword="in")),
            (
                Option("distance", "int", required=True, keyword="by"),
                Option("whole", "flag", False),
                Option("at", "string"),
            ),
        ),
        _primitive(
            "stream",
            "Make the stores of a loop to a buffer non-temporal.",
            (Target("buffer", BUFFER), Target("loop", keyword="in")),
        ),
    ),
    ("Cleaning up", "cleanup"): (
        _primitive(
            "simplify", "Simplify bounds, domains, loops, branches and divisions by what is known.", ()
        ),
        _primitive("eliminate_dead", "Remove what has no effect on what the caller sees.", ()),
    ),
    ("Mapping to the machine", "mapping"): (
        _primitive(
            "vectorize",
            "Mark a loop vectorized, splitting it by the width when it is longer.",
            _loop(consumed=True),
            (Option("width", "int", keyword="by"),),
            (Result("vectors"),),
        ),
        _primitive(
            "parallel",
            "Mark a loop parallel, when no dependence forbids it.",
            _loop(),
            (Option("grain", "int"),),
            function="parallelize",
        ),
        _primitive(
            "annotate",
            "Mark a loop unrolled, or give it an attribute.",
            _loop(),
            (
                Option("mark", "string", required=True, keyword="with"),
                Option("value", "int"),
                Option("text", "string"),
                Option("force", "flag", False),
            ),
        ),
        _primitive(
            "bind",
            "Bind a loop to an axis of the grid or of the block, when no dependence forbids it.",
            _loop(),
            (Option("axis", "string", required=True, keyword="to"),),
        ),
        _primitive(
            "atomic",
            "Make the updates that a loop carries one step each, so that its iterations may run at the same time.",
            _loop(),
        ),
        _primitive(
            "insert_barriers",
            "Insert barriers where threads of a block touch what others of it touched, in the kernel of a loop or in all.",
            (),
            own_pass=True,
        ),
        _primitive(
            "tensorize",
            "Replace a nest by a call of an intrinsic that computes the same.",
            _loop(consumed=True),
            (Option("intrinsic", "string", required=True, keyword="to"),),
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

"""The one table of schedule primitives: their handles, options and results, as text writes them.

A row becomes an operation of the `schedule` dialect, a method of `nt.schedule(...)`, and a section of docs/schedules.md.
What a primitive does, and when it is legal, stands in the file that `function` names: adding a primitive means
that file and a row here.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

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
    """`int`, `ints`, `word` (one of `choices`), `string` or `flag`."""
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


_SPLIT_TAILS = Option("tail", "word", "remainder", choices=("remainder", "mask", "clamp", "perfect"))

_ROWS = (
    # loops
    Primitive(
        "split",
        "transforms.nest.nest_split:split",
        _loop(consumed=True),
        (Option("factor", "int", required=True, keyword="by"), _SPLIT_TAILS),
        (Result("outer"), Result("inner"), Result("rest", when=("tail", "remainder"))),
    ),
    Primitive(
        "flatten",
        "transforms.nest.nest_flatten:flatten",
        (Target("outer", consumed=True), Target("inner", consumed=True)),
        (),
        (Result("loop"),),
    ),
    Primitive("reorder", "transforms.nest.nest_reorder:reorder", (Target("order", variadic=True),)),
    Primitive(
        "rename",
        "transforms.nest.nest_rename:rename",
        _loop(),
        (Option("to", "string", required=True, keyword="to"),),
    ),
    # reductions
    Primitive(
        "rfactor",
        "transforms.nest.nest_rfactor:rfactor",
        (Target("lanes"),),
        (),
        (Result("init"), Result("combine")),
    ),
    # mapping
    Primitive(
        "vectorize",
        "transforms.nest.nest_vectorize:vectorize",
        _loop(consumed=True),
        (Option("width", "int", keyword="by"),),
        (Result("vectors"),),
    ),
    Primitive("parallel", "transforms.nest.nest_parallel:parallelize", _loop(), (Option("grain", "int"),)),
    Primitive(
        "stream",
        "transforms.nest.nest_stream:stream",
        (Target("buffer", BUFFER), Target("loop", keyword="in")),
    ),
    Primitive(
        "bind",
        "transforms.nest.nest_bind:bind",
        _loop(),
        (Option("axis", "string", required=True, keyword="to"),),
    ),
)

PRIMITIVES: dict[str, Primitive] = {row.name: row for row in _ROWS}
"""The rows by name."""

"""Random small nest programs, with arguments to run them on: what the tests of schedules transform.

    program = draw_program(random.Random(7))
    program.text                # one function @f
    program.arguments(seed)     # arrays for it; the seed chooses the unknown extents and the elements

A family is one shape of program (a stencil, a matmul ...); inside it extents (0 to 7, static or `?`), bounds,
steps, domains, element types and the order of loops are drawn. Elements are small integers, also in float
buffers, so that sums come out exactly whatever their order. Programs with reductions in sequential order take
rounding floats instead: there the order shows.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence

from program_drafts import DTYPES, MOST, Draft, Extent, Program, shifted
from program_stages import epilogue, kernel, scatter, scratch, tiles, window


def pointwise(d: Draft) -> None:
    """One to three statements in one nest, over matrices, rows and columns; some masked or with a domain."""
    n, m = d.extent("n"), d.extent("m")
    d.buffer("x", n, m)
    d.buffer("row", m)
    for k in range(d.rng.randint(1, 3)):
        d.buffer(f"y{k}", n, m, role="out")
    with d.nest(d.shuffled(("i", n), ("j", m))) as v:
        i, j = v["i"], v["j"]
        value = d.load("x", f"{i}, {j}")
        for b in [b.name for b in d.buffers if b.role == "out"]:
            value = d.any_op(value, d.load("row", j) if d.maybe(0.5) else "%two")
            domain = ""
            if d.maybe(0.25):
                domain = d.rng.choice((f" where ({i} < {j})", f" where ({i} + {j} >= 2, {j} < 5)"))
            elif d.maybe(0.2):
                domain = d.mask(value)
            d.store(value, b, f"{i}, {j}", domain)


def flat(d: Draft) -> None:
    """A nest that runs over contiguous matrices, or blocks of three axes."""
    n, m, p = d.extent("n"), d.extent("m"), d.extent("p")
    axes = [n, m, p][: d.rng.choice((2, 2, 3))]
    d.buffer("x", *axes)
    d.buffer("y", *axes, role="out")
    d.buffer("z", *axes, role="out")
    with d.nest(list(zip("ijk", axes, strict=False)), plain=0.85) as v:
        index = ", ".join(v.values())
        value = d.any_op(d.load("x", index), "%two")
        d.store(value, "y", index)
        if d.maybe(0.6):
            d.store(d.tame_op(value, d.load("x", index)), "z", index)


def chain(d: Draft) -> None:
    """Nests in a row that hand intermediates on: one after the other, or transposed, or shifted."""
    n, m = d.extent("n"), d.extent("m")
    d.buffer("x", n, m)
    d.buffer("out", n, m, role="out")
    previous = "x"
    for k in range(d.rng.randint(1, 2)):
        name = d.local(f"t{k}", n, m)
        with d.nest(d.shuffled(("i", n), ("j", m)), plain=1.0) as v:
            i, j = v["i"], v["j"]
            d.store(d.any_op(d.load(previous, f"{i}, {j}"), "%two"), name, f"{i}, {j}")
        previous = name
    axes = d.shuffled(("i", n), ("j", m)) if d.maybe(0.4) else [("i", n), ("j", m)]
    margin = int(d.maybe(0.3))
    with d.nest(axes, margin, plain=0.85) as v:
        i, j = v["i"], v["j"]
        value = d.load(previous, f"{shifted(i, d.rng.choice((-margin, 0, margin)))}, {j}")
        if d.maybe(0.4):
            value = d.tame_op(value, d.load("x", f"{i}, {j}"))
        d.store(value, "out", f"{i}, {j}")


def rows(d: Draft) -> None:
    """Work on each row with scalars made inside the outer loop, as softmax does."""
    n, m = d.extent("n"), d.extent("m")
    d.buffer("x", n, m)
    d.buffer("y", n, m, role="out")
    with d.over("i", n) as i:
        d.local("top")
        d.store("%lowest", "top", "")
        with d.over("j", m, plain=0.9) as j:
            combiner = "maximum" if d.element.startswith("f") else "maxsi"
            d.accumulate(combiner, d.load("x", f"{i}, {j}"), "top", "")
        if d.maybe(0.5):
            d.local("line", m)
            with d.over("k", m, plain=1.0) as k:
                d.store(d.op("sub", d.load("x", f"{i}, {k}"), d.load("top", "")), "line", k)
            with d.over("l", m, plain=0.9) as l:
                d.store(d.any_op(d.load("line", l), "%two"), "y", f"{i}, {l}")
        else:
            with d.over("k", m, plain=0.9) as k:
                d.store(d.op("sub", d.load("x", f"{i}, {k}"), d.load("top", "")), "y", f"{i}, {k}")


def scaled(d: Draft) -> None:
    """Each row minus one of its elements, or of another buffer, loaded before the loop over the row; sometimes in place."""
    n, m = d.extent("n"), d.extent("m", least=1)
    is_in_place = d.maybe(0.6)
    d.buffer("x", n, m, role="inout" if is_in_place else "in")
    target = "x" if is_in_place else d.buffer("y", n, m, role="out")
    with d.over("i", n, plain=0.8) as i:
        first = d.load("x", f"{i}, 0")
        with d.over("j", m, plain=0.8) as j:
            d.store(d.op("sub", d.load("x", f"{i}, {j}"), first), target, f"{i}, {j}")


def reduction(d: Draft) -> None:
    """Sums and maxima over rows, columns or everything; into a result that starts from zero or goes on."""
    n, m = d.extent("n"), d.extent("m")
    kind = d.rng.choice(("rows", "columns", "all"))
    d.buffer("x", n, m)
    role = d.rng.choice(("out", "inout"))
    d.buffer("s", *{"rows": [n], "columns": [m], "all": []}[kind], role=role)
    combiner = d.rng.choice(("add", "add", "maximum" if d.element.startswith("f") else "minsi"))
    order = ""
    if d.maybe(0.15):
        order, d.rounds = " order(sequential)", d.element.startswith("f")
    is_inside = kind != "all" and d.maybe(0.4)
    if role == "out" and not is_inside:
        axes = [("k", n if kind == "rows" else m)] if kind != "all" else []
        with d.nest(axes, plain=1.0) as v:
            d.store("%zero", "s", v.get("k", ""))
    index = {"rows": "{i}", "columns": "{j}", "all": ""}[kind]
    axes = d.shuffled(("i", n), ("j", m))
    if is_inside:
        axes = [("i", n), ("j", m)] if kind == "rows" else [("j", m), ("i", n)]
        plain = 1.0 if role == "out" else 0.6
        with d.over(*axes[0], plain=plain) as outer:
            if role == "out":
                d.store("%zero", "s", outer)
            with d.over(*axes[1]) as inner:
                i, j = (outer, inner) if kind == "rows" else (inner, outer)
                d.accumulate(combiner, d.load("x", f"{i}, {j}"), "s", outer, order=order)
        return
    with d.nest(axes) as v:
        i, j = v["i"], v["j"]
        domain = f" where ({j} <= {i})" if d.maybe(0.2) else ""
        value = d.load("x", f"{i}, {j}")
        d.accumulate(combiner, value, "s", index.format(i=i, j=j), domain, order)


def tuples(d: Draft) -> None:
    """Two or three results that are reduced together, of rows, columns or all; they start from the identity or go on."""
    n, m = d.extent("n"), d.extent("m")
    kind, name = d.rng.choice(("rows", "columns", "all")), d.rng.choice(list(_TOGETHER))
    combine, identity, is_ordered = _TOGETHER[name]
    kept = {"rows": [n], "columns": [m], "all": []}[kind]
    sources = [d.buffer(f"x{k}", n, m) for k in range(d.rng.choice((1, len(identity))))]
    is_local = kind == "all" and d.maybe(0.3)
    targets = [f"s{k}" for k in range(len(identity))]
    for name in targets:
        d.local(name) if is_local else d.buffer(name, *kept, role="inout")
    if is_local or d.maybe(0.8):
        axes = [("k", n if kind == "rows" else m)] if kept else []
        with d.nest(axes, plain=1.0) as v:
            for name, start in zip(targets, identity, strict=True):
                d.store({0: "%zero", -1000: "%lowest"}[start], name, v.get("k", ""))
    with d.nest(d.shuffled(("i", n), ("j", m)), plain=0.8) as v:
        i, j = v["i"], v["j"]
        values = [d.load(name, f"{i}, {j}") for name in sources]
        values += [d.any_op(values[0], "%two") for _ in identity[len(values) :]]
        index = {"rows": i, "columns": j, "all": ""}[kind]
        tail = f" where ({j} <= {i})" if d.maybe(0.2) else ""
        tail += " order(sequential)" if is_ordered else ""
        d.accumulate_together(lambda a, b: combine(d, a, b), identity, values, targets, index, tail)
        if d.maybe(0.15):  # once more, by the same or by another combiner
            other = combine if d.maybe(0.7) or is_ordered else _TOGETHER["larger"][0]
            other = combine if len(identity) != 2 else other
            values = [d.any_op(value, "%one") for value in values]
            d.accumulate_together(lambda a, b: other(d, a, b), identity, values, targets, index, tail)
    if is_local:
        d.buffer("y", len(identity), role="out")
        for k, name in enumerate(targets):
            d.store(d.load(name, ""), "y", str(k))


def _larger(d: Draft, a: Sequence[str], b: Sequence[str]) -> list[str]:
    """The pair that is larger, by its first number, then by its second."""
    first = d.op("max", a[0], b[0])
    of_equal = d.op("max", a[1], b[1])
    second = d.select("gt", a[0], b[0], a[1], b[1])
    return [first, d.select("eq", a[0], b[0], of_equal, second)]


def _sum_and_largest(d: Draft, a: Sequence[str], b: Sequence[str]) -> list[str]:
    return [d.op("add", a[0], b[0]), d.op("max", a[1], b[1])]


def _at_largest(d: Draft, a: Sequence[str], b: Sequence[str]) -> list[str]:
    """The largest first number, and the sum of the second ones that come with it: a sum relative to a maximum."""
    largest = d.op("max", a[0], b[0])
    first = d.op("mul", a[1], d.select("eq", a[0], largest, "%one", "%zero"))
    return [largest, d.op("add", first, d.op("mul", b[1], d.select("eq", b[0], largest, "%one", "%zero")))]


def _sums(d: Draft, a: Sequence[str], b: Sequence[str]) -> list[str]:
    """Two sums, and the larger of the third numbers."""
    return [d.op("add", a[0], b[0]), d.op("add", a[1], b[1]), d.op("max", a[2], b[2])]


def _last(d: Draft, a: Sequence[str], b: Sequence[str]) -> list[str]:
    """The last pair whose first number is positive, added up with what was found: the order matters."""
    found = d.op("add", a[1], b[1])
    return [d.select("gt", b[0], "%zero", b[0], a[0]), d.select("gt", b[0], "%zero", b[1], found)]


_TOGETHER = {
    "larger": (_larger, (-1000, -1000), False),
    "sum and largest": (_sum_and_largest, (0, -1000), False),
    "sums": (_sums, (0, 0, -1000), False),
    "at the largest": (_at_largest, (-1000, 0), False),
    "last": (_last, (0, 0), True),
}
"""What is written, the identity, and whether it runs in order only."""


def relative(d: Draft) -> None:
    """A sum or an extreme, and the sum of powers or exponentials of differences from a number, of all or of columns.

    Of some, what the second nest reads is written in between, or what is subtracted is another one for each row.
    """
    d.rounds, d.tolerance = True, 1e-3 if d.element == "f32" else 1e-9
    n, m = (Extent(name, d.rng.choice(sizes)) for name, sizes in (("n", (4, 5, 6, 8, 12)), ("m", (1, 2, 3))))
    of_columns, combiner = d.maybe(0.4), d.rng.choice(("add", "add", "maximum", "minimum"))
    is_changed, is_moving, stores = d.maybe(0.1), d.maybe(0.1), d.maybe(0.3)
    kept = [m] if of_columns else []
    d.buffer("x", n, m, role="inout" if is_changed else "in")
    d.buffer("c", n if is_moving else m)
    d.buffer("s", *kept, role="inout")
    d.buffer("q", *kept, role="inout")
    if stores:
        d.buffer("y", n, m, role="out")
    with d.nest([("i", n), ("j", m)], plain=1.0) as v:
        index = v["j"] if of_columns else ""
        d.accumulate(combiner, d.load("x", f"{v['i']}, {v['j']}"), "s", index)
    if is_changed:
        d.store("%two", "x", "1, 0")
    with d.nest([("i", n), ("j", m)], plain=1.0) as v:
        index = v["j"] if of_columns else ""
        if is_moving:
            base = d.load("c", v["i"])
        elif of_columns or combiner != "add":
            base = d.load(*d.rng.choice((("s", index), ("c", v["j"] if of_columns else "0"))))
        else:
            base = d.load("c", "0")
        sides = [d.load("x", f"{v['i']}, {v['j']}"), base]
        is_turned = d.maybe(0.3) if combiner == "add" else (combiner == "minimum") != d.maybe(0.1)
        difference = d.op("sub", *sides[:: -1 if is_turned else 1])
        value = difference
        if combiner == "add" and not d.maybe(0.1):
            for _ in range(d.rng.randint(0, 3)):
                value = d.op("mul", value, difference)
        else:
            value = d.exponential(d.op("mul", value, "%two") if d.maybe(0.3) else value)
        if stores:
            d.store(value, "y", f"{v['i']}, {v['j']}")
        d.accumulate("add", value, "q", index)


def attention(d: Draft) -> None:
    """A softmax of rows of scores, and the sums of its products with columns.

    Of some, what the product reads is written before it, or the scores are read again behind it.
    """
    d.rounds, d.tolerance = True, 1e-3 if d.element == "f32" else 1e-9
    n, m, k = (Extent(name, d.rng.randint(1, most)) for name, most in (("n", 4), ("m", 7), ("k", 3)))
    is_changed, is_read, is_apart = d.maybe(0.1), d.maybe(0.1), d.maybe(0.3)
    d.buffer("x", n, m)
    d.buffer("v", m, k, role="inout" if is_changed else "in")
    d.buffer("y", n, k, role="inout")
    if is_read:
        d.buffer("z", n, m, role="out")
    d.local("t", n, m)
    if not is_apart:
        with d.nest([("i", n), ("j", m)], plain=1.0) as u:
            index = f"{u['i']}, {u['j']}"
            d.store(d.op("mul", d.load("x", index), "%two"), "t", index)
    infinity = "0xFF800000" if d.element == "f32" else "0xFFF0000000000000"
    d.emit(f"%least = arith.constant {infinity} : {d.element}")
    with d.over("i", n, plain=1.0) as i:
        d.local("largest")
        d.store("%least", "largest", "")
        with d.over("j", m, plain=1.0) as j:
            d.accumulate("maximum", d.load("x" if is_apart else "t", f"{i}, {j}"), "largest", "")
        d.local("sum")
        d.store("%zero", "sum", "")
        with d.over("j", m, plain=1.0) as j:
            score = d.load("x" if is_apart else "t", f"{i}, {j}")
            value = d.exponential(d.op("sub", score, d.load("largest", "")))
            d.store(value, "t", f"{i}, {j}")
            d.accumulate("add", value, "sum", "")
        with d.over("j", m, plain=1.0) as j:
            d.store(d.op("div", d.load("t", f"{i}, {j}"), d.load("sum", "")), "t", f"{i}, {j}")
    if is_changed:
        d.store("%two", "v", "0, 0")
    with d.nest(d.shuffled(("i", n), ("j", m), ("l", k)), plain=1.0) as u:
        factors = d.load("t", f"{u['i']}, {u['j']}"), d.load("v", f"{u['j']}, {u['l']}")
        d.accumulate("add", d.op("mul", *factors), "y", f"{u['i']}, {u['l']}")
    if is_read:
        with d.nest([("i", n), ("j", m)], plain=1.0) as u:
            index = f"{u['i']}, {u['j']}"
            d.store(d.load("t", index), "z", index)


def masked(d: Draft) -> None:
    """A softmax of rows and its product in blocks, with a running maximum, as nest-online-softmax makes it, under a mask.

    Of some, another nest of a block writes what is read behind it, one of the two passes has another mask, or sums do not
    start from 0.
    """
    d.rounds, d.tolerance = True, 1e-3 if d.element == "f32" else 1e-9
    n, k = (Extent(name, d.rng.randint(1, most)) for name, most in (("n", 4), ("k", 3)))
    width, blocks = d.rng.randint(1, 3), Extent("b", d.rng.randint(1, 4))
    columns, all_columns = Extent("w", width), Extent("m", width * (blocks.size or 1))
    by, shift = d.rng.choice(("sge", "sle", "sgt", "slt")), d.rng.randint(-3, 3)
    is_marked, is_other, is_late = d.maybe(0.2), d.maybe(0.1), d.maybe(0.1)
    d.buffer("x", n, all_columns)
    d.buffer("v", all_columns, k)
    d.buffer("y", n, k, role="inout")
    if is_marked:
        d.buffer("z", blocks, role="out")
    infinity = "0xFF800000" if d.element == "f32" else "0xFFF0000000000000"
    d.emit(f"%least = arith.constant {infinity} : {d.element}")
    d.emit(f"%shift = arith.constant {shift} : i64")
    d.emit(f"%width = arith.constant {width} : index")
    for name in ("largest", "sum", "scale"):
        d.local(name, n)
    d.local("s", n, k)
    with d.over("i", n, plain=1.0) as i:
        d.store("%least", "largest", i)
        d.store("%zero", "sum", i)
    with d.nest([("i", n), ("l", k)], plain=1.0) as u:
        d.store("%one" if is_late else "%zero", "s", f"{u['i']}, {u['l']}")

    def selected(i: str, j: str, predicate: str) -> str:
        row, column, moved, mask, chosen, first, place = (d.fresh() for _ in range(7))
        d.emit(f"{first} = arith.muli %o, %width : index")
        d.emit(f"{place} = arith.addi {first}, {j} : index")
        d.emit(f"{row} = arith.index_cast {i} : index to i64")
        d.emit(f"{column} = arith.index_cast {place} : index to i64")
        d.emit(f"{moved} = arith.addi {row}, %shift : i64")
        d.emit(f"{mask} = arith.cmpi {predicate}, {moved}, {column} : i64")
        score = d.load("t", f"{i}, {j}")
        d.emit(f"{chosen} = arith.select {mask}, {score}, %least : {d.element}")
        return chosen

    with d.loop("o", "0", str(blocks.size)) as o:
        d.local("t", n, columns)
        with d.nest([("i", n), ("j", columns)], plain=1.0) as u:
            d.store(d.load("x", f"{u['i']}, {width} * {o} + {u['j']}"), "t", f"{u['i']}, {u['j']}")
        if is_marked:
            with d.nest([("i", n)], plain=1.0) as u:
                d.store(d.load("t", f"{u['i']}, 0"), "z", o)
        with d.over("i", n, plain=1.0) as i:
            before = d.load("largest", i)
            with d.over("j", columns, plain=1.0) as j:
                d.accumulate("maximum", selected(i, j, by), "largest", i)
            found = d.load("largest", i)
            shifted = d.select("eq", found, "%least", "%zero", found)
            factor = d.exponential(d.op("sub", before, shifted))
            d.store(factor, "scale", i)
            d.store(d.op("mul", d.load("sum", i), factor), "sum", i)
            with d.over("j", columns, plain=1.0) as j:
                value = d.exponential(d.op("sub", selected(i, j, "ne" if is_other else by), shifted))
                d.store(value, "t", f"{i}, {j}")
                d.accumulate("add", value, "sum", i)
        with d.nest([("i", n), ("l", k)], plain=1.0) as u:
            at = f"{u['i']}, {u['l']}"
            d.store(d.op("mul", d.load("s", at), d.load("scale", u["i"])), "s", at)
        with d.nest([("i", n), ("l", k), ("j", columns)], plain=1.0) as u:
            factors = d.load("t", f"{u['i']}, {u['j']}"), d.load("v", f"{width} * {o} + {u['j']}, {u['l']}")
            d.accumulate("add", d.op("mul", *factors), "s", f"{u['i']}, {u['l']}")
    with d.nest([("i", n), ("l", k)], plain=1.0) as u:
        at = f"{u['i']}, {u['l']}"
        d.accumulate("add", d.load("s", at), "y", at)


def blocked(d: Draft) -> None:
    """A sum in blocks of constant size, of everything or of each row, as a split leaves it."""
    n, m = d.extent("n"), d.extent("m")
    size = d.rng.randint(2, 4)
    of_rows = d.maybe(0.5)
    d.buffer("x", n, m, size)
    d.buffer("s", *([n] if of_rows else []), role="inout")
    with d.over("i", n, plain=0.8) as i, d.over("j", m, plain=0.8) as j, d.loop("v", "0", str(size)) as v:
        value = d.load("x", f"{i}, {j}, {v}")
        domain = d.rng.choice(("", "", f" where ({j} + {v} < 5)", f" where ({i} < 4)"))
        d.accumulate(d.rng.choice(("add", "mul")), value, "s", i if of_rows else "", domain)


def stencil(d: Draft) -> None:
    """Neighbours of each element, into another buffer or in place; sometimes in several sweeps."""
    n, m = d.extent("n"), d.extent("m")
    is_in_place = d.maybe(0.6)
    d.buffer("a", n, m, role="inout" if is_in_place else "in")
    target = "a" if is_in_place else d.buffer("b", n, m, role="out")
    sweeps = d.maybe(0.3)
    offsets = [(-1, 0), (0, -1), (1, 0), (0, 1), (-1, 1), (1, -1), (-1, -1), (0, 0)]
    chosen = d.rng.sample(offsets, d.rng.randint(1, 3))

    def body() -> None:
        with d.nest(d.shuffled(("i", n), ("j", m)), margin=1, plain=0.8) as v:
            i, j = v["i"], v["j"]
            loads = [d.load("a", f"{shifted(i, p)}, {shifted(j, q)}") for p, q in chosen]
            value = loads[0]
            for other in loads[1:]:
                value = d.tame_op(value, other)
            d.store(d.op("max", value, "%two") if len(loads) == 1 else value, target, f"{i}, {j}")

    if sweeps:
        with d.loop("t", "0", "2"):
            body()
    else:
        body()


def blur(d: Draft) -> None:
    """Two stencils, the first into an intermediate; the second may write what the first reads."""
    n = d.extent("n")
    is_in_place = d.maybe(0.35)
    d.buffer("x", n, role="inout" if is_in_place else "in")
    target = "x" if is_in_place else d.buffer("out", n, role="out")
    d.local("t", n)
    with d.over("i", n, margin=1, plain=1.0) as i:
        a, b = d.load("x", shifted(i, -1)), d.load("x", shifted(i, 1))
        d.store(d.tame_op(a, b), "t", i)
    with d.over("j", n, margin=2, plain=0.9) as j:
        a, b = d.load("t", shifted(j, d.rng.choice((-1, 0)))), d.load("t", shifted(j, d.rng.choice((0, 1))))
        d.store(d.tame_op(a, b), target, j)


def running(d: Draft) -> None:
    """A running sum: into another array, or into the element that is added next."""
    n = d.extent("n")
    d.buffer("x", n, role="inout")
    d.buffer("y", n, role="inout")
    d.buffer("s", role="inout")
    target = d.rng.choice(("x", "y"))
    with d.nest([("i", n)], margin=1, plain=0.9) as v:
        d.accumulate("add", d.load("x", v["i"]), "s", "")
        d.store(d.load("s", ""), target, shifted(v["i"], 1))


def matmul(d: Draft) -> None:
    """A product of matrices, its loops in any order, cleared before or in the nest."""
    n, m, p = d.extent("n"), d.extent("m"), d.extent("p")
    d.buffer("a", n, p)
    d.buffer("b", p, m)
    d.buffer("c", n, m, role="out")

    def update(i: str, j: str, k: str) -> None:
        product = d.op("mul", d.load("a", f"{i}, {k}"), d.load("b", f"{k}, {j}"))
        d.accumulate("add", product, "c", f"{i}, {j}")

    if d.maybe(0.4):
        with d.nest(d.shuffled(("i", n), ("j", m)), plain=1.0) as v:
            d.store("%zero", "c", f"{v['i']}, {v['j']}")
            with d.over("k", p) as k:
                update(v["i"], v["j"], k)
        return
    with d.nest([("i", n), ("j", m)], plain=1.0) as v:
        d.store("%zero", "c", f"{v['i']}, {v['j']}")
    with d.nest(d.shuffled(("i", n), ("j", m), ("k", p)), plain=0.8) as v:
        update(v["i"], v["j"], v["k"])


def scan(d: Draft) -> None:
    """Each element from earlier (or later) ones of its row, column or vector."""
    n, m = d.extent("n"), d.extent("m")
    back = d.rng.choice((1, 1, 2, -1))
    if d.maybe(0.4):
        d.buffer("x", n)
        d.buffer("a", n, role="inout")
        with d.over("i", n, margin=abs(back), plain=0.7) as i:
            d.store(d.tame_op(d.load("a", shifted(i, -back)), d.load("x", i)), "a", i)
        return
    d.buffer("x", n, m)
    d.buffer("a", n, m, role="inout")
    along_rows = d.maybe(0.5)
    with d.nest(d.shuffled(("i", n), ("j", m)), margin=abs(back), plain=0.8) as v:
        i, j = v["i"], v["j"]
        earlier = f"{i}, {shifted(j, -back)}" if along_rows else f"{shifted(i, -back)}, {j}"
        d.store(d.tame_op(d.load("a", earlier), d.load("x", f"{i}, {j}")), "a", f"{i}, {j}")


def transposed(d: Draft) -> None:
    """A square matrix updated from its transpose: by stores, or by accumulates that also read it."""
    n = d.extent("n")
    d.buffer("a", n, n, role="inout")
    part = d.rng.choice(("all", "below", "above"))
    with d.over("i", n, plain=0.8) as i:
        lower, upper = {"all": ("0", n.bound), "below": ("0", i), "above": (f"{i} + 1", n.bound)}[part]
        with d.loop("j", lower, upper) as j:
            other = d.load("a", f"{i}, {j}")
            if d.maybe(0.5):
                d.accumulate("add", other, "a", f"{j}, {i}")
            else:
                d.store(d.tame_op(d.load("a", f"{j}, {i}"), other), "a", f"{j}, {i}")


def triangular(d: Draft) -> None:
    """An inner loop whose bounds depend on the outer one: below, above or around the diagonal."""
    n = d.extent("n")
    d.buffer("x", n, n)
    shape = d.rng.choice(("below", "above", "band"))
    kind = d.rng.choice(("pointwise", "reduction", "in place"))
    d.buffer("y", *([n, n] if kind == "pointwise" else [n]), role="out" if kind == "pointwise" else "inout")
    with d.over("i", n, plain=0.7) as i:
        lower, upper = {
            "below": ("0", f"{i} + 1"),
            "above": (i, n.bound),
            "band": (f"max(0, {i} - 1)", f"min({n.bound}, {i} + 2)"),
        }[shape]
        with d.loop("j", lower, upper, d.rng.choice((1, 1, 2))) as j:
            value = d.load("x", f"{i}, {j}")
            if kind == "pointwise":
                d.store(d.any_op(value, "%two"), "y", f"{i}, {j}")
            elif kind == "reduction":
                d.accumulate("add", value, "y", d.rng.choice((i, j)))
            else:
                d.store(d.tame_op(d.load("y", i), d.load("y", j)), "y", i)


def affine(d: Draft) -> None:
    """One or two statements whose indices are arbitrary affine expressions into one large buffer."""
    extents = [d.extent(name) for name in "nm"[: d.rng.choice((1, 2, 2))]]
    for k, e in enumerate(extents):
        d.buffer(f"size{k}", e)
    d.buffer("a", 64, role="inout")

    def index(variables: Sequence[str]) -> str:
        factors = [d.rng.choice((-1, 0, 1, 1, 2)) for _ in variables]
        start = 2 * MOST * len(variables) + d.rng.randint(-2, 2) + 3
        terms = [f"{f} * {v}" for f, v in zip(factors, variables, strict=True) if f]
        return " + ".join([*terms, str(start)])

    with d.nest(list(zip("ij", extents, strict=False)), plain=0.7) as v:
        variables = list(v.values())
        for _ in range(d.rng.randint(1, 2)):
            value = d.tame_op(d.load("a", index(variables)), "%two")
            if d.maybe(0.3):
                d.accumulate("add", value, "a", index(variables))
            else:
                d.store(value, "a", index(variables))


def branches(d: Draft) -> None:
    """Statements under a branch on a loop variable or on data."""
    n, m = d.extent("n"), d.extent("m")
    d.buffer("x", n, m)
    d.buffer("y", n, m, role="out")
    d.buffer("z", n, role="inout")
    d.emit("%edge = arith.constant 3 : index")
    with d.nest([("i", n), ("j", m)], plain=0.8) as v:
        i, j = v["i"], v["j"]
        value = d.load("x", f"{i}, {j}")
        if d.maybe(0.5):
            d.emit(f"%cond = arith.cmpi slt, {d.rng.choice((i, j))}, %edge : index")
        else:
            d.emit(f"%cond = arith.{_greater(d)}, {value}, %zero : {d.element}")
        d.emit("nest.if %cond {")
        d.store(value, "y", f"{i}, {j}")
        if d.maybe(0.5):
            d.emit("} else {")
            if d.maybe(0.5):
                d.accumulate("add", value, "z", i)
            else:
                d.store("%two", "y", f"{i}, {j}")
        d.emit("}")


def aliased(d: Draft) -> None:
    """Two arguments that may share memory."""
    n = d.extent("n")
    d.buffer("x", n, role="inout")
    d.buffer("y", n, role="inout", overlaps="x")
    with d.over("i", n, plain=0.8) as i:
        d.store(d.tame_op(d.load("x", i), "%two"), "y", i)
        if d.maybe(0.4):
            d.store(d.load("y", i), "x", i)


def found(d: Draft) -> None:
    """Updates or stores of elements that other elements say: sums at indices, writes of which the last stays."""
    n, m, size = d.extent("n"), d.extent("m"), d.rng.choice((1, 2, 4))
    kind = d.rng.choice(("add", "add", "add", "store", "max"))
    d.buffer("x", n, m)
    rows = Extent("size", size)
    is_row = d.maybe(0.4)
    d.buffer("y", *((rows, m) if is_row else (rows,)), role="inout")
    reads = d.maybe(0.15)
    with d.nest([("i", n), ("j", m)], plain=0.85) as v:
        value = d.load("x", f"{v['i']}, {v['j']}")
        index = d.place(d.load("x", f"{v['i']}, 0") if d.maybe(0.3) else value, size)
        at = f"{index}, {v['j']}" if is_row else index
        if reads:
            value = d.tame_op(value, d.load("y", at))
        domain = d.rng.choice(("", "", f" where ({v['i']} >= 1)", d.mask(value) if d.maybe(0.3) else ""))
        if kind == "store":
            d.store(value, "y", at, domain if d.maybe(0.3) else "")
        else:
            signed = "maximum" if d.element.startswith("f") else "maxsi"
            order = " order(sequential)" if d.maybe(0.1) else ""
            d.accumulate("add" if kind == "add" else signed, value, "y", at, domain, order)


def checked(d: Draft) -> None:
    """A Python index that is checked, and fails for some extents."""
    n, m = d.extent("n"), d.extent("m")
    d.buffer("x", m)
    d.buffer("y", n, m, role="out")
    with d.nest([("i", n), ("j", m)], plain=0.8) as v:
        i, j = v["i"], v["j"]
        d.emit(f'%at = nest.index {d.rng.choice((i, j))} - 1 of {m.bound} axis 0 of "x"')
        d.store(d.any_op(d.load("x", "%at"), "%two"), "y", f"{i}, {j}")


def _greater(d: Draft) -> str:
    return "cmpf ogt" if d.element.startswith("f") else "cmpi sgt"


INTEGERS = ("i64", "i32")

FAMILIES: dict[str, tuple[Callable[[Draft], None], Sequence[str]]] = {
    "pointwise": (pointwise, tuple(DTYPES)),
    "flat": (flat, tuple(DTYPES)),
    "chain": (chain, tuple(DTYPES)),
    "rows": (rows, tuple(DTYPES)),
    "scaled": (scaled, tuple(DTYPES)),
    "reduction": (reduction, tuple(DTYPES)),
    "blocked": (blocked, INTEGERS),
    "tuples": (tuples, tuple(DTYPES)),
    "relative": (relative, ("f64", "f32")),
    "attention": (attention, ("f64", "f32")),
    "masked": (masked, ("f64", "f32")),
    "stencil": (stencil, tuple(DTYPES)),
    "blur": (blur, tuple(DTYPES)),
    "matmul": (matmul, tuple(DTYPES)),
    "scan": (scan, tuple(DTYPES)),
    "running": (running, INTEGERS),
    "transposed": (transposed, INTEGERS),
    "triangular": (triangular, tuple(DTYPES)),
    "affine": (affine, INTEGERS),
    "branches": (branches, tuple(DTYPES)),
    "aliased": (aliased, tuple(DTYPES)),
    "checked": (checked, tuple(DTYPES)),
    "kernel": (kernel, tuple(DTYPES)),
    "scratch": (scratch, tuple(DTYPES)),
    "window": (window, tuple(DTYPES)),
    "epilogue": (epilogue, tuple(DTYPES)),
    "tiles": (tiles, tuple(DTYPES)),
    "scatter": (scatter, INTEGERS),
    "found": (found, tuple(DTYPES)),
}
"""A family, and its element types; values of repeated updates may grow beyond what floats hold exactly."""


USUAL = tuple(
    name
    for name in FAMILIES
    if name not in ("tiles", "scatter", "tuples", "relative", "attention", "masked", "found")
)
"""Those that are drawn where none is asked for: the others give most primitives little."""


def draw_program(rng: random.Random, family: str | None = None) -> Program:
    """A random program, of one family when it is given."""
    name = family or rng.choice(USUAL)
    write, elements = FAMILIES[name]
    draft = Draft(name, rng, elements)
    write(draft)
    return draft.finish()

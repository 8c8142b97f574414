"""Families of programs in stages: with buffers of their own that hand values on, or a tile at a time; see `programs.py`."""

from __future__ import annotations

from program_drafts import Draft, Extent, shifted


def scratch(d: Draft) -> None:
    """One loop with buffers made before it: filled anew in each iteration, by some, a window that moves, or a scalar."""
    n = d.extent("n", least=2)
    d.buffer("x", n)
    d.buffer("y", n, role="inout")
    kind = d.rng.choice(("filled", "by some", "window", "handed on"))
    if kind == "window":
        d.local("u", n)
        d.store("%two", "u", "0")
        d.store("%two", "u", "1")
    else:
        d.local("u", *([] if kind == "handed on" else [4]))
    with d.over("i", n, margin=int(kind == "window"), plain=1.0 if kind == "window" else 0.8) as i:
        value = d.load("x", i)
        if kind == "window":
            d.store(value, "u", f"{i} + 1")
            value = d.tame_op(d.load("u", shifted(i, d.rng.choice((-1, 0)))), d.load("u", f"{i} + 1"))
        elif kind == "handed on":
            d.store("%zero", "u", "", f" where ({i} < 3)")  # the first iteration is one of these
            other = d.load("u", "")
            d.store(value, "u", "")
            value = d.tame_op(value, other)
        else:
            with d.loop("j", "0", "4") as j:
                if kind == "by some":
                    d.store("%two", "u", j, f" where ({i} < 3)")
                d.store(value, "u", j, f" where ({j} < {i})" if kind == "by some" else "")
            with d.loop("k", str(d.rng.randint(0, 2)), "4") as k:
                d.accumulate("add", d.load("u", k), "y", i)
        d.store(d.op("max", value, d.load("y", i)), "y", i)


def window(d: Draft) -> None:
    """Each iteration computes a window of an intermediate, mostly again what the one before has computed, and reads it."""
    n = d.extent("n", least=3)
    is_in_place = d.maybe(0.4)
    d.buffer("x", n, role="inout" if is_in_place else "in")
    d.buffer("y", n, role="out")
    d.local("t", n)
    width, step = d.rng.choice((2, 3, 3)), d.rng.choice((1, 1, 2))
    with d.loop("o", str(d.rng.choice((0, 0, 1))), f"{n.bound} - {width - 1}", step) as o:
        if (is_sum := d.maybe(0.4)) and d.maybe(0.8):
            with d.loop("h", o, f"{o} + {width}") as h:
                d.store("%zero", "t", h)
        elif is_sum:
            d.store("%zero", "t", o)
            width = 1
        with d.loop("i", o, f"{o} + {width}") as i:
            value = d.load("x", i)
            if is_sum:
                d.accumulate("add", value, "t", i)
            elif d.maybe(0.3):
                d.store(value, "t", i, f" where ({i} <= 2 * {o} + 1)")
                width = 1
            else:
                d.store(d.op("max", value, "%two"), "t", i)
        value = d.tame_op(d.load("t", o), d.load("t", shifted(o, width - 1)))
        d.store(value, "y", o)
        if is_in_place:
            d.store(value, "x", shifted(o, d.rng.choice((0, width - 1))))


def kernel(d: Draft) -> None:
    """Blocks of threads that hand elements on to each other through a buffer of the block, or keep their own."""
    n, threads = d.extent("n"), d.rng.randint(2, 4)
    d.buffer("x", n, threads)
    d.buffer("y", n, threads, role="out")
    with d.loop("b", "0", n.bound, mark='bind "block.x"') as b:
        d.local("s", threads)
        with d.loop("t", "0", str(threads), mark='bind "thread.x"') as t:
            d.store(d.any_op(d.load("x", f"{b}, {t}"), "%two"), "s", t)
        with d.loop("u", "0", str(threads), mark='bind "thread.x"') as u:
            of_another = f"{threads - 1} - {u}"
            value = d.load("s", d.rng.choice((u, of_another, of_another)))
            for _ in range(d.rng.randint(0, 2)):
                value = d.any_op(value, d.load("x", f"{b}, {u}"))
            d.store(value, "y", f"{b}, {u}")


def epilogue(d: Draft) -> None:
    """Sums that are started and completed in one iteration of a loop, and a nest that uses them."""
    n = d.extent("n", least=1)
    is_in_place = d.maybe(0.5)
    d.buffer("x", n, role="inout" if is_in_place else "in")
    target = "x" if is_in_place else d.buffer("y", n, role="inout")
    d.local("t", n)
    with d.loop("i", "0", n.bound) as i:
        d.store("%zero", "t", i)
        start = d.rng.choice(("0", "0", i))
        with d.loop("k", start, n.bound if d.maybe(0.6) else f"{i} + 1") as k:
            d.accumulate("add", d.load("x", k), "t", i)
    with d.over("j", n, plain=0.7) as j:
        d.store(d.tame_op(d.load("t", j), d.load("x", j)), target, j)


def tiles(d: Draft) -> None:
    """A product of matrices of constant extents, the terms a tile of constant size at a time, as a split leaves them."""
    n, m, size = (Extent(name, d.rng.randint(1, 4), 1) for name in ("n", "m", "size"))
    p = d.extent("p")
    d.buffer("a", n, p)
    d.buffer("b", p, m)
    d.buffer("c", n, m, role="inout")
    with (
        d.loop("o", "0", f"{p.bound} ceildiv {size.bound}") as o,
        d.nest(d.shuffled(("i", n), ("j", m), ("k", size)), plain=1.0) as v,
    ):
        k = f"{size.bound} * {o} + {v['k']}"
        product = d.op("mul", d.load("a", f"{v['i']}, {k}"), d.load("b", f"{k}, {v['j']}"))
        d.accumulate("add", product, "c", f"{v['i']}, {v['j']}", f" where ({k} < {p.bound})")


def scatter(d: Draft) -> None:
    """Sums into elements around each iteration, of another buffer, which may be cleared or made meanwhile."""
    n, m = d.extent("n"), d.extent("m")
    beside = d.rng.choice(("nothing", "clear", "make", "set", "read"))
    d.buffer("c", n, m, role="inout" if beside != "nothing" else "in")
    d.buffer("x", n, m, role="inout")
    d.buffer("large", 64, role="inout")
    kind = d.rng.choice(("rows", "around", "around", "triangle", "window"))

    def add(value: str, buffer: str, index: str, i: str) -> None:
        domain = d.rng.choice(("", "", "", f" where ({i} >= 2)", d.mask(value) if d.maybe(0.3) else ""))
        d.accumulate("add", value, buffer, index, domain)

    def scattered(i: str, j: str, places: list[str], buffer: str) -> None:
        if beside == "make":
            d.store(d.op("add", d.load("c", f"{i}, {j}"), "%two"), "c", f"{i}, {j}")
        elif beside == "read":
            d.store(d.load("x", f"{i}, {j}"), "c", f"{i}, {j}")
        value = d.load("c", f"{i}, {j}")
        if beside == "clear":
            d.store("%zero", "c", f"{i}, {j}")
        elif beside == "set":
            d.store("%two", "x", f"{i}, {j}")
        for place in places:
            add(d.tame_op(value, "%two") if d.maybe(0.5) else value, buffer, place, i)

    count = d.rng.randint(1, 3)
    if kind in ("rows", "around"):
        offsets = [(d.rng.randint(-1, 1), d.rng.randint(-1, 1) * (kind == "around")) for _ in range(count)]
        with d.nest(d.shuffled(("i", n), ("j", m)), margin=1, plain=0.8) as v:
            places = [f"{shifted(v['i'], p)}, {shifted(v['j'], q)}" for p, q in offsets]
            scattered(v["i"], v["j"], places, "x")
    elif kind == "triangle":
        with d.loop("i", "1", n.bound) as i, d.loop("j", "1", f"min({i}, {m.bound})") as j:
            places = [
                f"{shifted(i, -d.rng.randint(0, 1))}, {shifted(j, -d.rng.randint(0, 1))}"
                for _ in range(count)
            ]
            scattered(i, j, places, "x")
    else:
        with d.over("i", n) as i, d.over("j", m) as j:
            places = []
            for _ in range(count):
                f, g = d.rng.choice((-2, -1, 1, 1, 2)), d.rng.choice((0, 1, 1, -1))
                places.append(f"{f} * {i} + {g} * {j} + {d.rng.randint(24, 30)}")
            scattered(i, j, places, "large")

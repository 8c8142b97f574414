"""Lists and dicts changed in place: slices assigned, items deleted, entries whose keys unrolled loops compute."""

import nestor as nt
import numpy as np
import pytest

from .agreement import agrees

X = np.arange(4.0)


def assigned_slices(x):
    items = [x, x + 1, x + 2, x + 3]
    items[1:3] = [x * 2]
    items[:0] = (x - 1, x - 2)
    items[::2] = [x * 3, x * 4, x * 5]
    items[-1:] = []
    same = items
    same[0:1] = [x * 6, x * 7]
    return items, len(items)


def deleted(x):
    items = [x, x + 1, x + 2, x + 3, x + 4]
    same = items
    del items[0], items[-1]
    del same[1:]
    entries = {"a": x, "b": x * 2, "c": x * 3}
    del entries["b"]
    return items, len(same), entries


def computed_keys(x):
    entries = {}
    for k in range(3):
        entries[f"w{k}"] = x * k
        entries[k * 2] = x + k
    for k in (0, 2):
        del entries[k]
    return entries, sum(entries[f"w{k}"].sum() for k in range(3))


def swapped(x):
    items = [x, x + 1, x + 2]
    items[0:2] = items[1::-1]
    for k in range(2):
        items[k : k + 1] = [items[k] * 2, items[k]]
    return items


def in_a_loop_over_elements(x):
    weights = [1, 2, 3]
    del weights[1]
    weights[1:] = [5, 7]
    out = np.zeros(len(x))
    for i in range(len(x)):
        for w in weights:
            out[i] += w * x[i]
    return out


@pytest.mark.parametrize("target", ["cpu", "interp"])
@pytest.mark.parametrize(
    "function", [assigned_slices, deleted, computed_keys, swapped, in_a_loop_over_elements]
)
def test_as_in_python(function, target):
    agrees(function, X, target=target)


def wrong_length(x):
    items = [x, x, x]
    items[::2] = [x]
    return items


def no_such_item(x):
    items = [x]
    del items[3]
    return items


def no_such_key(x):
    entries = {"a": x}
    del entries["b"]
    return entries


def of_a_tuple(x):
    items = (x, x)
    del items[0]
    return items


@pytest.mark.parametrize(
    ("function", "error", "message"),
    [
        (wrong_length, ValueError, "attempt to assign sequence of size 1 to extended slice of size 2"),
        (no_such_item, IndexError, "list assignment index out of range"),
        (no_such_key, KeyError, "b"),
        (of_a_tuple, TypeError, "does not support item deletion"),
    ],
)
def test_errors_are_those_of_python(function, error, message):
    with pytest.raises(error):
        function(X)
    with pytest.raises(error, match=message):
        nt.jit(function)(X)


def in_each_turn(x, n):
    items = [x, x * 2]
    for _ in range(n):
        del items[0]
    return items


def test_a_list_that_shrinks_in_a_loop_is_refused():
    with pytest.raises(nt.NestorError):
        nt.jit(in_each_turn)(X, 1)


class Kept:
    def __init__(self, total, items):
        self.total, self.items = total, items


def shrunk_and_kept(xs, o, n):
    """`xs` has as many items as the run says; the new total is in two places of what is changed after it."""
    o.total += 1.0
    o.items += [o.total]
    i = 0
    while i < n:
        xs.pop()
        i += 1
    return o.total


@pytest.mark.parametrize("target", ["cpu", "interp"])
def test_what_is_in_two_changed_objects_behind_a_list_of_the_run(target):
    compiled = nt.jit(shrunk_and_kept, target=target)
    for n in (0, 1, 2):
        ends = []
        for f in (shrunk_and_kept, compiled):
            xs, o = [2.0, 1.5, 4.0], Kept(1.0, [2.0, 3.0])
            ends.append((f(xs, o, n), xs, o.total, o.items))
        assert ends[0] == ends[1]

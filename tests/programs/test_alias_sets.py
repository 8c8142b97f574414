"""Arguments that overlap: which sets they make, what is refused, and that one pattern does not answer for another."""

from __future__ import annotations

import itertools

import nestor as nt
import numpy as np
import pytest
from nestor.frontend.interface.errors import ReadOnlyError, UnsupportedError
from numpy.lib.stride_tricks import as_strided, sliding_window_view

pytestmark = pytest.mark.one_of(2)

TARGETS = ["cpu", "interp", "cuda-sim"]


def chain(x, y, z):
    """Of x, y and z some overlap: the loop reads what it wrote just before."""
    y[0] = 100
    for i in range(len(x)):
        z[i] = x[i] + 1


def numbers(count: int) -> np.ndarray:
    return np.random.default_rng(7).integers(-50, 50, count).astype(np.float64)


def agrees(function, views, count=64, *, compiled=None, target="cpu"):
    """Call with views of one array; compare the array and the result with Python's."""
    ours, pythons = numbers(count), numbers(count)
    compiled = nt.jit(function, target=target) if compiled is None else compiled
    want, got = function(*views(pythons)), compiled(*views(ours))
    np.testing.assert_array_equal(ours, pythons)
    if want is not None:
        np.testing.assert_array_equal(got, want)
    return compiled


@pytest.mark.parametrize("order", list(itertools.permutations(range(3))))
@pytest.mark.parametrize("target", TARGETS)
def test_an_argument_that_overlaps_two_others(order, target):
    """x and y lie end to end, z across the place where they meet: the order of the three does not matter."""
    n = 20
    agrees(chain, lambda b: [(b[:n], b[n : 2 * n], b[1 : n + 1])[k] for k in order], target=target)


def test_the_ir_says_which_arguments_are_in_one_set():
    b = np.zeros(80)
    x, y, z = b[:20], b[20:40], b[1:21]
    text = nt.jit(chain).lower(x, y, z).as_text("nest")
    assert text.count("nest.alias_set = 0 : i64") == 3
    text = nt.jit(chain).lower(x, b[40:60], b[42:62]).as_text("nest")
    assert text.count("nest.alias_set") == text.count("nest.alias_set = 1 : i64") == 2


def five(x, y, z, v, w):
    v[1:] += x[:-1]
    for i in range(len(x)):
        w[i] = y[i] - z[i]
    x[:] = w
    return x + y + z


@pytest.mark.parametrize("target", TARGETS)
def test_two_sets_that_a_late_argument_joins(target):
    """x with z, y with v; then w overlaps one of each: all five are one set."""
    for order in ((0, 1, 2, 3, 4), (4, 2, 0, 3, 1), (3, 4, 1, 0, 2)):

        def views(b, order=order):
            return [(b[:9], b[9:18], b[1:10], b[12:21], b[5:14])[k] for k in order]

        agrees(five, views, target=target)


def test_the_same_array_and_one_that_overlaps_it():
    for views in (
        lambda b: (b[:9], b[:9], b[1:10]),
        lambda b: (b[1:10], b[:9], b[:9]),
        lambda b: (b[:9], b[1:10], b[:9]),
    ):
        for target in TARGETS:
            agrees(chain, views, target=target)


def test_one_function_and_many_patterns_at_the_same_shapes():
    """Native calls among them, which are those without overlap."""
    for dynamic in (None, True):
        compiled = nt.jit(chain, dynamic=dynamic)
        patterns = [
            lambda b: (b[:9], b[20:29], b[40:49]),
            lambda b: (b[:9], b[9:18], b[1:10]),
            lambda b: (b[:9], b[1:10], b[40:49]),
            lambda b: (b[40:49], b[:9], b[:9]),
            lambda b: (b[:18:2], b[1:19:2], b[2:20:2]),
            lambda b: (b[8::-1], b[9:18], b[1:10]),
        ]
        for _ in range(40):
            agrees(chain, patterns[0], compiled=compiled)
        for views in [*patterns, *reversed(patterns)]:
            for _ in range(3):
                agrees(chain, views, compiled=compiled)


@pytest.mark.parametrize("target", TARGETS)
def test_memory_that_interleaves_is_apart(target):
    def even_and_odd(x, y, z):
        x += y
        for i in range(len(z)):
            y[i] = z[i] * 2

    def views(b):
        return (b[:40:2], b[1:41:2], b[60:40:-1])

    agrees(even_and_odd, views, target=target)
    assert "alias_set" not in nt.jit(even_and_odd).lower(*views(numbers(64))).as_text("nest")


def test_views_of_other_types_and_without_elements():
    def halves(x, y, z):
        y[1:] = x[:-1] + 1
        z[2:] = y[:-2]
        return x.sum()

    def call(function):
        words = np.arange(40)
        function(words[:8], words.view(np.int32)[3:11], words.view(np.int16)[20:36:2])
        return words

    def nothing(x, y, z):
        z[1:] = x[:-1]
        return y.sum()

    for target in TARGETS:
        np.testing.assert_array_equal(call(nt.jit(halves, target=target)), call(halves))
        agrees(nothing, lambda b: (b[:8], b[3:3], b[2:10]), target=target)


def pair_and_rest(pair, rest):
    pair[0][1:] = rest["z"][:-1] * 2
    rest["z"][0] = pair[1][0]
    return pair[0] - rest["z"]


def test_what_is_assigned_is_what_it_was_before():
    """NumPy 2.4 copies from arrays of one axis that have other steps than their target, and overlap it, as it goes."""

    def assigned(x, y):
        x[:] = y

    for target in TARGETS:
        for first, second in itertools.permutations(
            [slice(0, 16, 2), slice(1, 9), slice(12, 4, -1), slice(3, 27, 3)], 2
        ):
            b = np.arange(30.0)
            want = b[second].copy()
            nt.jit(assigned, target=target)(b[first], b[second])
            np.testing.assert_array_equal(b[first], want)


def test_arrays_in_structures():
    for target in TARGETS:
        agrees(pair_and_rest, lambda b: ((b[:9], b[9:18]), {"z": b[4:13]}), target=target)


# ---- read-only views ------------------------------------------------------------------------------------


def locked(array):
    view = array[:]
    view.setflags(write=False)
    return view


def second_written(x, y):
    y[0] = 9
    return x + 1


def test_a_read_only_view_of_an_argument_that_is_written():
    for target in TARGETS:
        agrees(second_written, lambda b: (locked(b), b), target=target)
        compiled = nt.jit(second_written, target=target)
        b = np.zeros(4)
        with pytest.raises(ReadOnlyError):
            compiled(b, locked(b))
        assert not b.any()
        agrees(second_written, lambda b: (b, b), compiled=compiled)


# ---- views taken before a write -------------------------------------------------------------------------


def reshaped(x, y):
    r = x.reshape(2, -1)
    y[5] = 50.0
    return r + 1


def windows(x, y):
    w = sliding_window_view(x, 3)
    y[5] = 50.0
    return w.sum(axis=1)


def stretched(x, y):
    d = np.broadcast_to(x, (2, 8))
    y[5] = 50.0
    return d + 1


def diagonal(x, y):
    d = np.diagonal(x.reshape(2, 4))
    y[5] = 50.0
    return d * 2


def chosen(x, y):
    b = np.zeros(8)
    if x.sum() > -1000:
        b = x
    y[5] = 50.0
    return b + 1


@pytest.mark.parametrize("function", [reshaped, windows, stretched, diagonal, chosen])
def test_a_view_is_not_read_after_its_memory_was_written_through_another_argument(function):
    """As for a write to the array itself, it is refused; apart from each other the same two arguments are fine."""
    compiled = nt.jit(function)
    agrees(function, lambda b: (b[:8], b[20:28]), compiled=compiled)
    for views in (lambda b: (b[:8], b[1:9]), lambda b: (b[3:11], b[:8])):
        b = numbers(64)
        with pytest.raises(
            UnsupportedError, match="is read after 'x', or an argument that overlaps it, was written"
        ):
            compiled(*views(b))
        np.testing.assert_array_equal(b, numbers(64))
    agrees(function, lambda b: (b[:8], b[20:28]), compiled=compiled)


# ---- memory that cannot be taken as it is ---------------------------------------------------------------


def along(x, y):
    x[1:] = y[:-1] + 1
    return y.sum()


def test_fields_of_records_that_overlap_are_refused():
    """Their elements are not a whole number of elements apart: the kernel would see copies."""
    records = np.zeros(10, np.dtype([("a", "f8"), ("b", "i4")]))
    x, y = records["a"][:-1], records["a"][1:]
    compiled = nt.jit(along)
    with pytest.raises(UnsupportedError, match="'x' overlaps another one"):
        compiled(x, y)
    assert not records["a"].any()
    assert compiled(records["a"][:4], records["a"][4:8]) == 0  # these do not
    np.testing.assert_array_equal(records["a"][:5], [0, 1, 1, 1, 0])


def test_arrays_that_are_not_aligned_and_overlap_are_refused():
    raw = np.zeros(8 * 20 + 1, np.uint8)
    odd, whole = raw[1:].view(np.float64), np.zeros(20)
    compiled = nt.jit(along)
    compiled(whole[:9], whole[1:10])
    with pytest.raises(UnsupportedError, match="not aligned"):
        compiled(odd[:9], odd[1:10])
    assert not raw.any()


def elementwise(x):
    for i in range(len(x)):
        x[i] = x[i] + 1


@pytest.mark.parametrize("target", TARGETS)
def test_a_write_to_an_array_whose_elements_share_memory_is_refused(target):
    def in_place(x):
        x += 1

    def folded(b):
        return as_strided(b, (32,), (0,))

    for function, view in (
        (elementwise, folded),
        (in_place, folded),
        (in_place, lambda b: sliding_window_view(b, 3, writeable=True)),
        (in_place, lambda b: as_strided(b[1:], (4, 4), (8, 24))),
    ):
        b = numbers(64)
        with pytest.raises(UnsupportedError, match="elements of which share memory"):
            nt.jit(function, target=target)(view(b))
        np.testing.assert_array_equal(b, numbers(64))


def test_arrays_whose_elements_share_memory_are_read():
    def read(x, y):
        y += x.sum(axis=0)
        return x[0] + 1

    agrees(read, lambda b: (sliding_window_view(b[:20], 3, writeable=True), b[30:33]))
    agrees(read, lambda b: (as_strided(b[:20], (4, 3), (16, 24)), b[30:33]))
    agrees(elementwise, lambda b: (as_strided(b, (5,), (24,)),))


# ---- arrays from outside --------------------------------------------------------------------------------

TABLE = np.arange(8.0)
BYTES = bytearray(range(16))


def beside_a_table(x):
    x[0] = 50
    return TABLE.sum() + x[0]


def beside_bytes(x):
    x[0] = 50
    return x[1] + BYTES[0]


@pytest.mark.parametrize("target", TARGETS)
def test_a_written_argument_in_the_memory_of_bytes_from_outside_is_refused(target):
    inside, outside = np.frombuffer(BYTES, np.uint8)[:3], np.zeros(3, np.uint8)
    compiled = nt.jit(beside_bytes, target=target)
    before = inside.copy()
    for _ in range(2):
        np.testing.assert_array_equal(compiled(outside), beside_bytes(outside.copy()))
        with pytest.raises(UnsupportedError, match="reads from outside"):
            compiled(inside)
        np.testing.assert_array_equal(inside, before)


@pytest.mark.parametrize("target", TARGETS)
def test_a_written_argument_in_the_memory_of_an_array_from_outside(target):
    compiled = nt.jit(beside_a_table, target=target)
    for _ in range(40):
        assert compiled(np.zeros(3)) == 78
    assert (
        compiled(TABLE[2:5]) == 126 and compiled(TABLE[1:4]) == 175 and TABLE[:4].tolist() == [0, 50, 50, 3]
    )
    TABLE[:] = range(8)


# ---- out= -----------------------------------------------------------------------------------------------


def two(x):
    return x + 1, x * 2


def test_arrays_for_results_that_overlap_each_other():
    """Results go to their places in order: the last one is whole."""
    compiled = nt.jit(two)
    for n in (8, 1000):
        b, x = np.zeros(n + 2), numbers(n)
        for _ in range(40):
            compiled(x, out=(np.zeros(n), np.zeros(n)))
        for first, second in ((0, 1), (1, 0), (0, 0)):
            b[:] = 0
            compiled(x, out=(b[first : first + n], b[second : second + n]))
            want = np.zeros(n + 2)
            want[first : first + n] = x + 1
            want[second : second + n] = x * 2
            np.testing.assert_array_equal(b, want)


def written_and_returned(x, y):
    y[1:] = x[:-1]
    return x + y


@pytest.mark.parametrize("target", TARGETS)
def test_out_overlaps_arguments_that_overlap(target):
    compiled = nt.jit(written_and_returned, target=target)
    for start in (0, 3, 30):
        ours, pythons = numbers(64), numbers(64)
        compiled(ours[:9], ours[4:13], out=ours[start : start + 9])
        pythons[start : start + 9] = written_and_returned(pythons[:9], pythons[4:13])
        np.testing.assert_array_equal(ours, pythons)

"""Arrays of other libraries in host memory are arguments without a copy, and `out`; stand-ins for their classes here."""

import gc
import weakref
from typing import NamedTuple

import nestor as nt
import numpy as np
import pytest
from nestor.frontend.interface.errors import DTypeError, ReadOnlyError
from nestor.runtime.cpu import fast_call

pytestmark = pytest.mark.one_of(2)


class Lent:
    """An array that others reach by `__array_interface__`."""

    def __init__(self, array, **more):
        self.array = array
        self.more = more

    @property
    def __array_interface__(self):
        return {**self.array.__array_interface__, **self.more}


class Exported:
    """An array that others reach by `__dlpack__`."""

    def __init__(self, array, device=(1, 0)):
        self.array = array
        self.device = device

    def __dlpack_device__(self):
        return self.device

    def __dlpack__(self, **options):
        if self.device[0] != 1:
            raise AssertionError("the memory of a device was asked for")
        return self.array.__dlpack__(**options)


class Space:
    """A library of the array API standard, all of whose floats are float32 unless `wide`."""

    __name__ = "space"

    def __init__(self, wide=True):
        self.wide = wide

    def asarray(self, array, copy=None):
        assert copy
        narrow = array.dtype == np.float64 and not self.wide
        return Standard(np.array(array, np.float32 if narrow else array.dtype), self)


class Standard(Exported):
    """An array of a library that follows the array API standard: `__dlpack__`, and a namespace."""

    def __init__(self, array, space):
        super().__init__(array)
        self.space = space
        self.dtype = array.dtype

    def __array_namespace__(self):
        return self.space


KINDS = [Lent, Exported]


class Pair(NamedTuple):
    a: object
    b: object


def affine(x, y):
    return x * 2 + y


def update(x, y):
    x[1:] += y[1:]
    return x


def parts(x):
    return x[1:], x.sum(), float(x.sum()), x.shape[0], x


def of_pair(p):
    return p.a + p.b * 2


@pytest.mark.parametrize("target", ["cpu", "interp", "cuda-sim"])
@pytest.mark.parametrize("kind", KINDS)
def test_values(kind, target):
    f = nt.jit(affine, target=target)
    for length in (3, 3, 5, 3, 9):
        x, y = np.arange(length, dtype=np.float32), np.full(length, 0.5, np.float32)
        np.testing.assert_array_equal(f(kind(x), kind(y)), affine(x, y))
        np.testing.assert_array_equal(f(kind(x), y), affine(x, y))
        np.testing.assert_array_equal(f(y=kind(y), x=x), affine(x, y))


@pytest.mark.parametrize("dynamic", [None, True, False])
@pytest.mark.parametrize("kind", KINDS)
def test_contents_are_read_at_every_call(kind, dynamic):
    f = nt.jit(affine, dynamic=dynamic)
    memory = np.ones(4)
    x = kind(memory)
    for value in range(50):
        memory[...] = value
        np.testing.assert_array_equal(f(x, 1.0), affine(memory, 1.0))


@pytest.mark.parametrize("kind", KINDS)
def test_no_program_is_left_for_each_array(kind):
    f = nt.jit(affine)
    for value in range(100):
        x = np.full(6, float(value))
        np.testing.assert_array_equal(f(kind(x), kind(x)), affine(x, x))
    counts = f.cache_info()
    assert counts["compiled"] == 1
    assert counts["signatures"] == 1


@pytest.mark.parametrize("kind", KINDS)
def test_nothing_holds_an_array_after_the_call(kind):
    f, references = nt.jit(affine), []
    for value in range(50):
        memory = np.full(5, float(value))
        argument = kind(memory)
        references += [weakref.ref(argument), weakref.ref(memory)]
        f(argument, argument)
    del memory, argument
    gc.collect()
    assert not any(reference() is not None for reference in references)


@pytest.mark.skipif(
    not fast_call.available(), reason="NESTOR_FAST_CALL=0, or an interpreter without native calls"
)
def test_calls_are_native_after_the_first_ones():
    f = nt.jit(affine)
    for value in range(100):
        x = np.full(5, float(value))
        np.testing.assert_array_equal(f(Exported(x), Exported(x)), affine(x, x))
    assert fast_call.hits(f) > 50


@pytest.mark.parametrize("target", ["cpu", "interp", "cuda-sim"])
@pytest.mark.parametrize("kind", KINDS)
def test_writes_go_to_the_memory_of_the_caller(kind, target):
    f = nt.jit(update, target=target)
    for length in (4, 4, 7):
        memory, expected = np.arange(length, dtype=float), np.arange(length, dtype=float)
        argument = kind(memory)
        assert f(argument, np.ones(length)) is argument
        np.testing.assert_array_equal(memory, update(expected, np.ones(length)))


@pytest.mark.parametrize("kind", KINDS)
def test_results_of_every_sort(kind):
    memory = np.arange(4.0)
    argument = kind(memory)
    view, total, number, length, same = nt.jit(parts)(argument)
    assert np.shares_memory(view, memory)
    assert (type(total), type(number), type(length)) == (np.float64, float, int)
    assert same is argument
    memory[1] = 7
    assert view[0] == 7


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    "change",
    [lambda x: x.T, lambda x: x[::2], lambda x: x[::-1, 1:], lambda x: x[:0], lambda x: x[0, 0], np.asfortranarray],
    ids=["transposed", "strided", "reversed", "empty", "rank 0", "columns"],
)  # fmt: skip
def test_layouts(kind, change):
    array = np.asarray(change(np.arange(12.0).reshape(4, 3)))
    for f in (nt.jit(affine), nt.jit(affine, dynamic=True)):
        result = f(kind(array), 1.0)
        np.testing.assert_array_equal(result, affine(array, 1.0))
        assert result.strides == np.asarray(affine(array, 1.0)).strides


@pytest.mark.parametrize("kind", KINDS)
def test_structures_and_defaults(kind):
    x, y = np.arange(3.0), np.ones(3)
    f = nt.jit(of_pair)
    for _ in range(3):
        np.testing.assert_array_equal(f(Pair(kind(x), y)), of_pair(Pair(x, y)))
        np.testing.assert_array_equal(f(Pair(x, kind(y))), of_pair(Pair(x, y)))

    weights = kind(y)

    @nt.jit
    def weighted(x, w=weights):
        return x * w

    for value in (1.0, 2.0, 3.0):
        y[...] = value
        np.testing.assert_array_equal(weighted(x), x * value)
        np.testing.assert_array_equal(weighted(x, 5.0), x * 5.0)


@pytest.mark.parametrize("kind", KINDS)
def test_out(kind):
    f, x, memory = nt.jit(affine), np.arange(3.0), np.empty(3)
    out = kind(memory)
    for value in (1.0, 2.0, 3.0):
        assert f(kind(x), value, out=out) is out
        np.testing.assert_array_equal(memory, affine(x, value))
        assert f(x, value, out=out) is out


@pytest.mark.parametrize("kind", KINDS)
def test_overlapping_arguments(kind):
    memory, expected = np.arange(6.0), np.arange(6.0)
    f = nt.jit(update)
    f(kind(memory[:-1]), kind(memory[1:]))
    update(expected[:-1], expected[1:])
    np.testing.assert_array_equal(memory, expected)


def test_what_is_read_only_is_not_written():
    memory = np.arange(4.0)
    memory.flags.writeable = False
    for argument in (Lent(memory), Lent(np.arange(4.0), data=bytes(32))):
        with pytest.raises(ReadOnlyError, match="read-only"):
            nt.jit(update)(argument, np.ones(4))
        np.testing.assert_array_equal(nt.jit(affine)(argument, 1.0), affine(np.asarray(argument), 1.0))
    with pytest.raises(ValueError, match="read-only"):
        nt.jit(affine)(np.ones(4), 1.0, out=Lent(memory))


def test_what_its_memory_does_not_hold_is_refused():
    with pytest.raises(
        nt.UnsupportedError, match=r"argument 'x' is a .*Lent that cannot be used without a copy"
    ):
        nt.jit(affine)(Lent(np.arange(4.0), data=bytes(31)), 1.0)
    with pytest.raises(nt.UnsupportedError, match="argument 'y' is a Lent with a mask"):
        nt.jit(affine)(1.0, Lent(np.arange(4.0), mask=np.ones(4, bool)))


def test_the_memory_of_a_device_is_refused():
    with pytest.raises(
        nt.UnsupportedError, match=r"argument 'y' is a .*Exported in the memory of a device"
    ) as caught:
        nt.jit(affine)(np.ones(3), Exported(np.ones(3), device=(2, 0)))
    assert 'nt.jit(f, target="cuda")' in str(caught.value)
    assert "def affine(x, y):" in str(caught.value)


def test_results_are_arrays_of_the_namespace():
    x, space = np.arange(4.0), Space()
    argument = Standard(x, space)
    f = nt.jit(parts)
    for _ in range(3):
        view, total, number, length, same = f(argument)
        assert (type(view), type(total), type(number), type(length)) == (Standard, Standard, float, int)
        np.testing.assert_array_equal(view.array, x[1:])
        assert not np.shares_memory(view.array, x)  # such a library takes its arrays for constant
        assert total.array.shape == ()
        assert same is argument
    mixed = nt.jit(affine)(np.ones(4), argument)
    assert type(mixed) is Standard
    np.testing.assert_array_equal(mixed.array, affine(np.ones(4), x))


def test_a_result_that_the_namespace_would_round_is_refused():
    x = np.arange(4, dtype=np.float32)
    f = nt.jit(affine)
    assert f(Standard(x, Space(wide=False)), 1.0).dtype == np.float32
    with pytest.raises(DTypeError, match="a result is float64, which space makes float32"):
        f(Standard(x, Space(wide=False)), np.ones(4))


def test_other_ways_to_a_program():
    x = np.arange(3.0)
    f = nt.jit(affine)
    for kind in KINDS:
        lowered = f.lower(kind(x), 1.0)
        assert "tensor<3xf64>" in lowered.as_text("nt")
        np.testing.assert_array_equal(lowered.compile()(kind(x), 1.0), affine(x, 1.0))
        assert "x: float64[3]" in f.explain(kind(x), 1.0)
        np.testing.assert_array_equal(nt.trace(affine)(kind(x), 1.0), affine(x, 1.0))
        traced = nt.trace(affine, kind(x), 1.0)
        np.testing.assert_array_equal(traced(x, 1.0), affine(x, 1.0))


def test_writes_of_compiled_stages_reach_the_caller():
    memory = np.arange(3.0)
    compiled = nt.jit(update).lower(Exported(memory), np.ones(3)).compile()
    compiled(Exported(memory), np.ones(3))
    np.testing.assert_array_equal(memory, [0, 2, 3])

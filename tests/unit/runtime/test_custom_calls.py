"""The runtime's side of calls of Python: names, arguments as attributes, memory as arrays, threads, what is freed."""

import gc
import sys
import threading

import nestor as nt
import numpy as np
import pytest
from nestor.frontend.jit.specialise.stages import build
from nestor.frontend.numpy_api.custom_calls import attribute_of
from nestor.runtime import custom_calls
from nestor.runtime.numpy_calls import NUMPY_CALLS
from nestor.tools.docs import numpy_coverage as numpy_docs
from parsed import parse_module

pytestmark = pytest.mark.usefixtures("collected_quickly")

TARGETS = ("cpu", "interp")


def test_two_functions_have_two_names():
    def make():
        def inner(x):
            return x

        return inner

    first, second = make(), make()
    names = [custom_calls.name_of(f) for f in (first, second, first)]
    assert names[0] == names[2] != names[1]
    assert [custom_calls.function_of(name) for name in names] == [first, second, first]


def test_no_function_of_the_user_takes_the_place_of_numpys():
    def sort(x):
        return x

    sort.__module__, sort.__qualname__ = "numpy", "sort"
    name = custom_calls.name_of(sort)
    assert not name.startswith("numpy.")
    assert custom_calls.function_of(name) is sort
    assert custom_calls.function_of("numpy.argsort") is np.argsort


@pytest.mark.parametrize("value", [None, True, 3, -1.5, "left", (1, (2.0, None)), ()])
def test_arguments_are_the_same_on_both_sides(value):
    got = custom_calls.python_value(attribute_of(value))
    assert got == value
    assert type(got) is type(value)


def test_calls_are_marked_in_the_docs():
    lines = numpy_docs.generate().splitlines()
    for name in ("np.sort", "np.linalg.svd", "np.median", "x.argsort"):
        assert [line.endswith(" (a call)") for line in lines if line.startswith(f"* `{name}(")] == [True]
    assert not any(
        line.endswith("(a call)") for line in lines if line.startswith(("* `np.sum(", "* `np.where("))
    )
    assert all(name.startswith("numpy.") for name in NUMPY_CALLS)


UNSIGNED = """
func.func @f(%x: tensor<3xui8> {nt.layout = "strided"}, %m: tensor<3xi1>) -> (tensor<3xui8>, tensor<3xi1>) {
  %y, %n = nt.custom_call "NAME"(%x, %m) {kinds = ["array", "array"], several = true} :
    (tensor<3xui8>, tensor<3xi1>) -> (tensor<3xui8>, tensor<3xi1>)
  func.return %y, %n : tensor<3xui8>, tensor<3xi1>
}
"""


@pytest.mark.parametrize("target", TARGETS)
def test_memory_is_seen_in_the_types_of_tensors(target):
    seen = []

    def look(x, m):
        seen.append((x.dtype, x.strides, m.dtype, x.flags.writeable, list(x)))
        return x[::-1], ~m

    text = UNSIGNED.replace("NAME", custom_calls.name_of(look))
    kernel, _ = build(parse_module(text, "test.mlir"), "f", target)
    x, mask = np.array([250, 0, 3, 0, 255], np.uint8)[::-2], np.array([True, False, True])
    y, n = np.zeros(3, np.uint8), np.zeros(3, bool)
    kernel([x, mask, y, n])
    assert seen == [(np.dtype(np.uint8), (-2,), np.dtype(bool), False, [255, 3, 250])]
    assert list(y) == [250, 3, 255]
    assert list(n) == [False, True, False]


@pytest.mark.parametrize("target", TARGETS)
def test_a_name_without_a_function(target):
    text = UNSIGNED.replace("NAME", "program.unheard_of")
    kernel, _ = build(parse_module(text, "test.mlir"), "f", target)
    with pytest.raises(LookupError, match=r"no function 'program\.unheard_of'"):
        kernel([np.zeros(3, np.uint8), np.zeros(3, bool), np.zeros(3, np.uint8), np.zeros(3, bool)])


def invert(a):
    return np.linalg.inv(np.sort(a, axis=0)).sum()


def test_threads_have_their_own_errors():
    f = nt.jit(invert)
    fine, singular = np.array([[1.0, 2], [3, 5]]), np.ones((2, 2))
    f(fine)
    outcomes = {True: 0, False: 0}

    def run(a):
        for _ in range(40):
            try:
                f(a)
                raised = False
            except np.linalg.LinAlgError:
                raised = True
            outcomes[raised == (a is singular)] += 1

    threads = [threading.Thread(target=run, args=(a,)) for a in (fine, singular, fine, singular)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert outcomes == {True: 160, False: 0}


def test_nothing_is_left_behind():
    f = nt.jit(invert)
    x = np.array([[1.0, 2], [3, 5]])
    f(x)
    gc.collect()
    before = sys.getrefcount(x), len(gc.get_objects())
    for _ in range(200):
        f(x)
    gc.collect()
    assert sys.getrefcount(x) == before[0]
    assert len(gc.get_objects()) < before[1] + 100


def nested(x):
    return nt.custom_call(other_kernel, x, result=nt.spec(x.shape, x.dtype)) + 1


@nt.jit
def other_kernel(x):
    return np.sort(x * 2)


def test_a_kernel_in_a_call_of_a_kernel():
    x = np.array([3.0, 1, 2])
    for target in TARGETS:
        np.testing.assert_array_equal(nt.jit(nested, target=target)(x), nested(x))

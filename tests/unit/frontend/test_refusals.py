"""What is not compiled is refused at its place: the file, line and column, a caret, the reason, and a way out."""

import contextlib
import datetime
import random
import time
from dataclasses import dataclass, field

import nestor as nt
import numpy as np
import pytest

X = np.arange(6.0)
LIST = [1, 2]


class Plain:
    def __init__(self, v):
        self.v = v


@dataclass
class Checked:
    v: object

    def __post_init__(self):
        self.w = 1


@dataclass
class Made:
    v: object = field(default_factory=lambda: [0])


def generator(x):
    yield x


def inner_generator(x):
    def items():
        yield x

    return list(items())


def tries(x):
    try:
        return x
    except ValueError:
        return x + 1


def with_statement(x):
    with contextlib.suppress(ValueError):
        return x


def recursion(x):
    return recursion(x + 1)


def inner_recursion(x):
    def f(v):
        return f(v + 1)

    return f(x)


def string_of_a_number(x):
    return f"{x.sum()}"


def sets(x):
    return {1, 2}


def global_statement(x):
    global LIST
    LIST = x
    return x


def nonlocal_statement(x):
    n = 0

    def count():
        nonlocal n
        n += 1

    count()
    return n


def inner_class(x):
    class C:
        pass

    return C


def conditional_import(x):
    if len(x) > 2:
        import math
    return math.pi * x


def async_function(x):
    async def f():
        return x

    return f


def deletes_an_element(x):
    del x[0]
    return x


def changes_a_global(x):
    LIST.append(1)
    return x


def run_time_key(x, k):
    d = {0: x, 1: x + 1}
    return d[int(k.sum())]


def missing_key(x):
    return {"a": x}["b"]


def decorated_inside(x):
    @contextlib.contextmanager
    def f():
        return x

    return f()


def kept_iterator(x):
    pairs = enumerate(x)
    return list(pairs)


def walrus_on_a_path(x):
    return x.sum() > 1 and (n := x.sum()) > 2 and n


def append_on_a_path(x):
    items = []
    is_large = x.sum() > 1 and grown(items, x) > 2
    return items, is_large


def grown(items, x):
    items.append(x)
    return x.max()


def endless_list(x):
    items = [1, 2]
    for v in items:
        items.append(v)
    return items


def slice_of_a_list(x):
    items = [x, x]
    items[0:1] += [x]
    return items


def unpacks_too_few(x):
    a, b, *c = (x,)
    return a, b, c


def joined_lists(x):
    items = [x]
    if x.sum() > 1:
        items.append(x)
    return items


def changes_a_tuple(x):
    t = (x, x)
    t[0] = x
    return t


def loop_over_number(x):
    for v in x.sum():
        x = x + v
    return x


def reads_a_file(x):
    return x + len(open("numbers").read())


def reads_the_clock(x):
    return x + time.time()


def asks_what_day_it_is(x):
    return x + datetime.datetime.now().day


def draws_a_number(x):
    return x + random.random()


def seeds(x):
    random.seed(x[0])


def draws_in_numpy(x):
    return x + np.random.normal(size=x.shape)


GENERATOR = np.random.default_rng(1)


def draws_by_a_generator(x):
    return x + GENERATOR.normal()


def two(a, b):
    return a + b


def unknown_keyword(x):
    return two(x, c=1)


def ragged(x):
    return np.array([[x[0], 2.0], [x[1]]])


def wide_recursion(x):
    return fibonacci(x[0])


@nt.jit
def fibonacci(n):
    return n if n < 2 else fibonacci(n - 1) + fibonacci(n - 2)


def not_in_numpy_here(x):
    return np.busday_count(x, x)


CASES = [
    (reads_a_file, "open is not supported in compiled code", "it may give another answer each time"),
    (reads_the_clock, "time is not supported in compiled code", "pass what it returns as an argument"),
    (asks_what_day_it_is, "now is not supported in compiled code", "pass what it returns as an argument"),
    (draws_a_number, "random.random is not supported in compiled code", "nt.random.uniform(key, shape)"),
    (seeds, "random.seed is not supported in compiled code", "draw outside"),
    (draws_in_numpy, "np.random.normal is not supported in compiled code", "nt.random.normal(key, shape)"),
    (draws_by_a_generator, "normal is not supported in compiled code: it keeps a state", "nt.random"),
    (unknown_keyword, "two(): got an unexpected keyword argument 'c'", None),
    (
        ragged,
        "setting an array element with a sequence. The requested array has an inhomogeneous shape",
        None,
    ),
    (wide_recursion, "'fibonacci' calls itself too deeply", "write a loop"),
    (not_in_numpy_here, "np.busday_count is not supported in compiled code", "docs/numpy.md lists"),
    (generator, "'generator' is a generator, which is not compiled", "return a list"),
    (inner_generator, "'items' is a generator, which is not compiled", "return a list"),
    (tries, "try is not supported", "around the call"),
    (with_statement, "with is not supported", "around the call"),
    (recursion, "calls itself too deeply", "write a loop"),
    (inner_recursion, "'f' calls itself too deeply", "write a loop"),
    (string_of_a_number, "a string made of numbers known at run time", None),
    (sets, "returning a set that is made in compiled code is not supported", "what the function returns"),
    (global_statement, "global is not supported", "return the value"),
    (nonlocal_statement, "nonlocal is not supported", "return the value"),
    (inner_class, "a class is not supported", "outside"),
    (conditional_import, "import is not supported", "top of the module"),
    (async_function, "async def is not supported", None),
    (deletes_an_element, "deleting a part of float64 array of shape", "np.delete"),
    (
        changes_a_global,
        "changing a list from outside the function is not supported",
        "pass it as an argument",
    ),
    (missing_key, "KeyError: 'b'", "its keys are ['a']"),
    (decorated_inside, "a decorated function inside a compiled function is not supported", None),
    (kept_iterator, "keeping an iterator is not supported", "list(...)"),
    (walrus_on_a_path, "computed on some paths only is not supported", "a statement of its own"),
    (append_on_a_path, "a list is changed in a part of an expression", "statement of its own"),
    (endless_list, "changing a list while a loop goes through it is not supported", "go through a copy"),
    (slice_of_a_list, "this slice of a list is not supported", "new list"),
    (unpacks_too_few, "not enough values to unpack (expected at least 2, got 1)", None),
    (joined_lists, "returning a list with arrays that others share is not supported", "append copies"),
    (changes_a_tuple, "a tuple does not support item assignment", None),
    (loop_over_number, "cannot be iterated over", None),
]


@pytest.mark.parametrize(("function", "message", "hint"), CASES, ids=lambda p: getattr(p, "__name__", None))
def test_refusals(function, message, hint):
    with pytest.raises(nt.NestorError) as caught:
        nt.jit(function)(X)
    text = str(caught.value)
    first = text.splitlines()[0]
    assert first.startswith(f"{__file__}:")
    assert int(first[len(__file__) + 1 :].split(":")[0]) >= function.__code__.co_firstlineno
    assert message in first
    caret = text.splitlines()[2]
    assert caret.strip() == "^"
    assert len(caret) == int(first[len(__file__) + 1 :].split(":")[1])
    if hint is not None:
        assert hint in text.split("help:")[1]


def test_options_that_do_not_exist_are_named():
    with pytest.raises(
        nt.NestorError, match=r"(?s)nt.jit has no option 'parallel'\n.*  help: its options: target, "
    ):
        nt.jit(parallel=True)


def test_what_is_no_type_of_an_argument():
    with pytest.raises(nt.NestorError, match=r"(?s)1\.5 is not an extent\n.*  help: an extent is an integer"):
        nt.spec((3, 1.5))
    with pytest.raises(nt.NestorError, match=r"(?s)'f9' not understood\n.*  help: one of bool, i1, "):
        nt.spec((3,), "f9")
    assert nt.spec((np.int64(3),)) == nt.spec((3,))


def test_keys_are_known_at_compile_time():
    with pytest.raises(nt.NestorError, match="the key of a dict must be known at compile time"):
        nt.jit(run_time_key)(X, X)


def test_changes_of_a_global_leave_it_as_it_was():
    with pytest.raises(nt.NestorError):
        nt.jit(changes_a_global)(X)
    assert LIST == [1, 2]


def test_a_jitted_function_names_an_unknown_keyword_before_what_is_missing():
    with pytest.raises(TypeError, match="unexpected keyword argument 'c'"):
        nt.jit(two)(X, c=1)

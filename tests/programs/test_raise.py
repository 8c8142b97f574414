"""`raise` under conditions that are known when the program runs: a check with an exception of its own."""

import warnings

import nestor as nt
import numpy as np
import pytest
from asserting import first_one_wins, texts
from early_ends import TARGETS, ends_alike, outcome

pytestmark = pytest.mark.one_of(2)

OPTIONS = [{"target": t} for t in TARGETS] + [{"dynamic": True}]
names = pytest.mark.parametrize("options", OPTIONS, ids=["cpu", "interp", "cuda-sim", "dynamic"])


class TooSmall(Exception):
    def __init__(self, value, limit=0):
        super().__init__(value, limit)
        self.missing = limit - value


def array(*values):
    return np.array(values, float)


def raised(function, *arguments):
    """The exception of a call."""
    with pytest.raises(Exception) as caught:
        function(*arguments)
    return caught.value


# ---- where it stands --------------------------------------------------------------------------------


def under_a_condition(n):
    if n < 0:
        raise ValueError("negative")
    return n + 1


def in_a_last_else(a, n):
    if n > 0:
        return a * 2
    elif n == 0:
        return a
    else:
        raise ValueError("negative")


def after_early_returns(a, n):
    if n == 1:
        return a + 1
    if n == 2:
        raise KeyError("two")
    if n == 3:
        return a.sum() + a
    raise TypeError


def in_a_loop_over_elements(a, n):
    for i in range(n):
        if a[i] < 0:
            raise ValueError("below")
        a[i] = 9
    return n


def in_a_loop_over_arrays(a, n):
    for i in range(n):
        a = a * 2
        if a.sum() > 20:
            raise OverflowError(i)
    return a


def in_a_while(a, n):
    k = 0
    while k < n:
        if a[k] == 5:
            raise ValueError("five")
        k += 1
    else:
        raise TypeError(k)


def positive(v):
    if v <= 0:
        raise TooSmall(v, limit=1)
    return v * 2


def refuse(n):
    raise RuntimeError(n)


def in_a_helper(a, n):
    s = 0.0
    for i in range(n):
        s += positive(a[i])
    if n == 3:
        refuse(n)
    return s + positive(n)


def in_nested_branches(a):
    if a.sum() > 3:
        if a[0] > 3:
            raise ValueError(a[0])
        a[0] = 4
        b = a * 2
    else:
        b = a * 3
        if a[1] > 1:
            raise KeyError(np.float32(a[1]))
    return b


def beside_a_loop_that_returns(a, n):
    if a[0] <= 2.5:
        pass
    elif n != 1:
        for _ in range(n):
            return 1.5
    else:
        raise ValueError
    return 0.5


def on_every_path(a, n):
    a += 1
    if n > 0:
        raise ValueError("positive")
    raise KeyError(n)


def of_a_flag(n, flag):
    if flag:
        raise ValueError(n)
    return n


WHERE = [
    (under_a_condition, [(2,), (-2,), (0,)]),
    (in_a_last_else, [(array(1, 2), n) for n in (1, 0, -1)]),
    (after_early_returns, [(array(1, 2), n) for n in (1, 2, 3, 4)]),
    (in_a_loop_over_elements, [(array(1, 2, -3, 4), n) for n in (2, 4, 0)]),
    (in_a_loop_over_arrays, [(array(1, 2), n) for n in (2, 9, 0)]),
    (in_a_while, [(array(1, 5), 1), (array(1, 5), 2)]),
    (in_a_helper, [(array(1, 2, 3, -1), n) for n in (1, 3, 4, 0)]),
    (in_nested_branches, [(array(x, y),) for x, y in ((1, 1), (3, 3), (0.5, 1.2), (9, 0), (0.1, 0.2))]),
    (beside_a_loop_that_returns, [(array(x, 0), n) for x in (1, 3) for n in (0, 1, 2)]),
    (on_every_path, [(array(1, 2), n) for n in (1, 0)]),
    (of_a_flag, [(3, True), (3, False)]),
]


@names
@pytest.mark.parametrize(("function", "calls"), WHERE, ids=[f.__name__ for f, _ in WHERE])
def test_it_fires_where_python_gets_there(function, calls, options):
    assert any(ends_alike(function, calls, **options))


# ---- what it raises ---------------------------------------------------------------------------------

ERROR = KeyError("made outside")


def classes(n):
    if n == 0:
        raise ValueError
    if n == 1:
        raise TooSmall(n)
    if n == 2:
        raise TooSmall(n, limit=7) from None
    if n == 3:
        raise StopIteration(n) from ValueError("because", n)
    if n == 4:
        raise KeyError(n) from TypeError
    if n == 5:
        raise ERROR
    error = AssertionError(n, "kept")
    if n == 6:
        raise error
    if n == 7:
        raise TooSmall
    if n == 8:
        raise n
    if n == 9:
        raise ValueError from n
    return n


def elements(a, k):
    raise ValueError(a[k], int(a[k]), a.dtype, a.shape, a[k] > 1, f"{a[k]}")


@names
def test_classes_causes_and_instances(options):
    ends_alike(classes, [(n,) for n in range(11)], **options)


@names
def test_texts_with_numbers(options):
    ends_alike(texts, [(n, 2.5) for n in range(10)], **options)


@names
@pytest.mark.parametrize("dtype", ["f8", "f4", "f2", "i1", "u8", "?"])
def test_elements(dtype, options):
    calls = [(np.array([3, 0, 1]).astype(dtype), k) for k in (0, 1, 2)]
    ends_alike(elements, calls, **options)
    error = raised(nt.jit(elements, **options), *calls[0])
    assert type(error.args[0]) is np.dtype(dtype).type


def test_the_class_is_the_programs_own_and_a_note_says_where():
    error = raised(nt.jit(positive), -4)
    assert type(error) is TooSmall
    assert error.missing == 5
    assert any(f"{positive.__code__.co_firstlineno + 2}" in note for note in error.__notes__)


def test_an_instance_from_outside_is_the_same_object():
    assert raised(nt.jit(classes), 5) is ERROR


def test_a_class_with_another_meaning_now():
    """The name is looked up again at each call, as other globals are."""
    global ERROR
    compiled = nt.jit(classes)
    before = ERROR
    assert raised(compiled, 5) is before
    try:
        ERROR = OSError("other")
        assert raised(compiled, 5) is ERROR
    finally:
        ERROR = before


# ---- in order ---------------------------------------------------------------------------------------


def writes_and_prints(a, n):
    a[0] = 1
    print("first", n)
    if n > 2:
        a[1] = 2
        print("second")
        raise ValueError(n)
    a[2] = 3
    print("third")
    if n > 1:
        raise KeyError(n)
    a += 1
    return a.sum()


def against_an_index(a, n):
    for i in range(4):
        if i == n:
            raise ValueError(i)
        a[i] = i
    return a


def index_before_a_known_one(a, n):
    s = a[n]
    a[5] = s


def known_index_after(a, n):
    if n < 0:
        raise ValueError(n)
    return a[5]


def only_checks(a, n):
    for i in range(n):
        if a[i] > 2:
            raise ValueError(i)
    if n == 7:
        return a
    raise KeyError


def target_before_operand(a, n):
    a[n + 3] += positive(n)


def value_before_target(a, n):
    a[positive(n)] = a[n]


@pytest.mark.parametrize("options", [{}, {"target": "interp"}, {"dynamic": True}])
def test_prints_and_writes_before_it_have_happened(options):
    assert ends_alike(writes_and_prints, [(array(0, 0, 0), n) for n in range(5)], **options)[-1] is ValueError


@names
def test_the_first_one_wins(options):
    ends_alike(first_one_wins, [(array(1, 2, 3), n, m) for n in range(3) for m in range(5)], **options)
    ends_alike(against_an_index, [(array(1, 2, 3), n) for n in range(5)], **options)
    ends_alike(index_before_a_known_one, [(array(1, 2, 3), n) for n in (4, 1)], **options)
    ends_alike(known_index_after, [(array(1, 2, 3), n) for n in (-1, 1)], **options)
    ends_alike(only_checks, [(array(1, 2, 3), n) for n in (2, 3, 4)], **options)
    ends_alike(target_before_operand, [(array(1, 2, 3), n) for n in (-1, 0, 1)], **options)
    ends_alike(value_before_target, [(array(1, 2, 3), n) for n in (-9, 0, 1, 4)], **options)


# ---- what is refused --------------------------------------------------------------------------------


def bare(a):
    if a.sum() > 0:
        raise
    return a


def with_an_array(a):
    if a.sum() > 0:
        raise ValueError(a)
    return a


def caught(a):
    try:
        if a.sum() > 0:
            raise ValueError
    except ValueError:
        return a
    return a * 2


def many(a, n):
    if n > 0:
        raise ValueError(*[a[k] for k in range(17)])
    return a


@pytest.mark.parametrize(
    ("function", "why"),
    [
        (bare, "a raise without an exception is not supported"),
        (with_an_array, "an exception with float64 array"),
        (caught, "try is not supported"),
    ],
)
def test_refused_by_name(function, why):
    """Whether it would fire or not."""
    for a in (array(1, 2), array(-1, -2)):
        with pytest.raises(nt.UnsupportedError, match=why):
            nt.jit(function)(a)


def test_more_numbers_than_the_record_holds():
    with pytest.raises(nt.UnsupportedError, match="17 numbers"):
        nt.jit(many)(np.arange(17.0), np.int64(1))


def test_no_warning_of_an_exception_that_is_not_raised():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert outcome(nt.jit(under_a_condition), (1,))[0] == 2


def in_a_loop_of_nothing_else(a, n, m):
    for i in range(n):
        if i > m:
            raise ValueError("many", i)
    return a.sum()


@names
def test_raised_with_a_number_in_a_loop_that_does_nothing_else(options):
    compiled, a = nt.jit(in_a_loop_of_nothing_else, **options), array(1, 2, 3)
    for n, m in ((5, 9), (5, 2), (0, 0), (40, 7)):
        assert outcome(compiled, (a, n, m)) == outcome(in_a_loop_of_nothing_else, (a, n, m))

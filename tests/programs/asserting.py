"""Programs with `assert` for test_raise.py: in the files of tests, pytest gives assertions other messages."""


def texts(n, x):
    if n == 0:
        raise ValueError(f"{n} and {x:.2f} of {(n, x)}")
    if n == 1:
        raise ValueError("%d and %6.3f" % (n, x))  # noqa: UP031
    if n == 2:
        raise ValueError("%d" % n)  # noqa: UP031
    if n == 3:
        raise ValueError("{} and {x:>9}".format(n, x=x))  # noqa: UP032
    if n == 4:
        raise ValueError("n = " + str(n) + repr(x) + format(x, ".1f"))
    if n == 5:
        raise ValueError(n, [n, x, None], {"n": n}, n > 3)
    assert n != 6, f"six: {n}"
    assert n != 7, (n, x)
    assert n != 8
    return n


def first_one_wins(a, n, m):
    if n > 1:
        raise ValueError(n)
    assert m < 3, "m"
    s = a[n + m]
    if m > 1:
        raise KeyError(s)
    assert n < 1, f"{n}"
    return s

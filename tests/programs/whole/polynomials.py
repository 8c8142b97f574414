"""Polynomials, series, number theory, sequences, queues and lists."""

import itertools
import math

import numpy as np
from whole.program import SIZED, Program

MODULUS = 97
TERMS = 8
BASIS = {"kind": "chebyshev", "degree": 3}


def multiply_and_divide(a, b):
    product = np.zeros(len(a) + len(b) - 1)
    for i in range(len(a)):
        product[i : i + len(b)] += a[i] * b
    rest = product.copy()
    quotient = np.zeros(len(a))
    for i in range(len(a)):
        q = rest[i] / b[0]
        quotient[i] = q
        rest[i : i + len(b)] -= q * b
    return product, quotient, np.abs(rest).max() < 1e-9


def durand_kerner(coefficients, rounds):
    n = len(coefficients) - 1
    roots = (0.4 + 0.9j) ** np.arange(n)
    for _ in range(rounds):
        for i in range(n):
            value = np.polyval(coefficients, roots[i])
            others = np.delete(roots, i) if False else roots[np.arange(n) != i]
            roots[i] -= value / np.prod(roots[i] - others)
    return roots


def newton_interpolation(x, y, t):
    table = y.astype(float)
    n = len(x)
    for k in range(1, n):
        table[k:] = (table[k:] - table[k - 1 : -1]) / (x[k:] - x[: n - k])
    value = np.zeros_like(t)
    for k in range(n - 1, -1, -1):
        value = value * (t - x[k]) + table[k]
    return value, table


def design_matrix(x):
    columns = [np.ones_like(x), x]
    for n in range(2, BASIS["degree"] + 1):
        if BASIS["kind"] == "chebyshev":
            columns.append(2 * x * columns[-1] - columns[-2])
        elif BASIS["kind"] == "legendre":
            columns.append(((2 * n - 1) * x * columns[-1] - (n - 1) * columns[-2]) / n)
        else:
            columns.append(x**n)
    return np.stack(columns, axis=1)


def horner_and_derivatives(coefficients, x):
    p = np.full_like(x, coefficients[0])
    d = np.zeros_like(x)
    dd = np.zeros_like(x)
    for c in coefficients[1:]:
        dd = dd * x + 2 * d
        d = d * x + p
        p = p * x + c
    return p, d, dd


def continued_fraction(x, n):
    terms = []
    h, k = (1, 0), (0, 1)
    for _ in range(n):
        a = int(math.floor(x))
        terms.append(a)
        h = (a * h[0] + h[1], h[0])
        k = (a * k[0] + k[1], k[0])
        if abs(x - a) < 1e-9:
            break
        x = 1 / (x - a)
    return h[0], k[0], h[0] / k[0]


def power_mod_table(bases, exponents):
    out = np.empty((len(bases), len(exponents)), dtype=np.int64)
    for i, b in enumerate(bases):
        for j, e in enumerate(exponents):
            result, base = 1, b % MODULUS
            while e > 0:
                if e & 1:
                    result = result * base % MODULUS
                base = base * base % MODULUS
                e >>= 1
            out[i, j] = result
    return out


def sieve_and_factor(n, numbers):
    is_prime = np.ones(n + 1, dtype=bool)
    is_prime[:2] = False
    for p in range(2, int(n**0.5) + 1):
        if is_prime[p]:
            is_prime[p * p :: p] = False
    primes = np.flatnonzero(is_prime)
    largest = np.zeros(len(numbers), dtype=np.int64)
    for k, m in enumerate(numbers):
        for p in primes:
            if p * p > m:
                break
            while m % p == 0:
                largest[k] = p
                m //= p
        if m > 1:
            largest[k] = m
    return primes, largest


def series_acceleration(x):
    s = np.cumsum([(-1) ** k * x ** (2 * k + 1) / (2 * k + 1) for k in range(TERMS)])
    out = [s[-1]]
    for _ in range(2):
        d = s[2:] - 2 * s[1:-1] + s[:-2]
        s = s[:-2] - (s[1:-1] - s[:-2]) ** 2 / np.where(d == 0, 1, d)
        out.append(s[-1])
    return out


def josephus(n, step):
    people = list(range(1, n + 1))
    order = []
    at = 0
    while people:
        at = (at + step - 1) % len(people)
        order.append(people.pop(at))
    return order[-1], order[0]


def josephus_by_arrays(n, step):
    alive = np.ones(n, dtype=bool)
    order = np.empty(n, dtype=np.int64)
    at = -1
    for k in range(n):
        left = step
        while left > 0:
            at = (at + 1) % n
            if alive[at]:
                left -= 1
        alive[at] = False
        order[k] = at + 1
    return order


def bank_queue(arrivals, services, tellers):
    free = [0.0] * tellers
    waits = np.zeros(len(arrivals))
    busy = 0.0
    for i, (t, s) in enumerate(zip(arrivals, services)):
        k = free.index(min(free))
        start = max(t, free[k])
        waits[i] = start - t
        free[k] = start + s
        busy += s
    return waits, max(free), busy / max(free)


def heap_sort(x):
    heap = x.copy()
    n = len(heap)
    for start in range(n // 2 - 1, -1, -1):
        root = start
        while 2 * root + 1 < n:
            child = 2 * root + 1
            if child + 1 < n and heap[child] < heap[child + 1]:
                child += 1
            if heap[root] >= heap[child]:
                break
            heap[root], heap[child] = heap[child], heap[root]
            root = child
    for end in range(n - 1, 0, -1):
        heap[0], heap[end] = heap[end], heap[0]
        root = 0
        while 2 * root + 1 < end:
            child = 2 * root + 1
            if child + 1 < end and heap[child] < heap[child + 1]:
                child += 1
            if heap[root] >= heap[child]:
                break
            heap[root], heap[child] = heap[child], heap[root]
            root = child
    return heap


def collatz_lengths(limit):
    lengths = np.zeros(limit + 1, dtype=np.int64)
    for n in range(1, limit + 1):
        k, m = 0, n
        while m >= n and m != 1:
            m = m // 2 if m % 2 == 0 else 3 * m + 1
            k += 1
        lengths[n] = k + lengths[m]
    longest = lengths.argmax()
    return longest, lengths[1:]


def permutations_by_sign(A):
    n = 3
    total = 0.0
    for p in itertools.permutations(range(n)):
        sign = 1
        for i in range(n):
            for j in range(i + 1, n):
                if p[i] > p[j]:
                    sign = -sign
        total += sign * math.prod(A[i, p[i]] for i in range(n))
    return total


def moving_median(x, width):
    out = np.empty(len(x) - width + 1, dtype=x.dtype)
    window = list(x[:width])
    window.sort()
    out[0] = window[width // 2]
    for i in range(width, len(x)):
        window.remove(x[i - width])
        k = 0
        while k < len(window) and window[k] < x[i]:
            k += 1
        window.insert(k, x[i])
        out[i - width + 1] = window[width // 2]
    return out


def binary_digits(values, bits):
    digits = [[(int(v) >> b) & 1 for b in range(bits)] for v in values]
    gray = np.array(digits)[:, ::-1]
    gray[:, 1:] ^= gray[:, :-1].copy()
    return gray, np.array(digits).sum(axis=0)


def _outside(k):
    global MODULUS, TERMS
    MODULUS = (97, 1000003, 2)[k]
    TERMS = (8, 12, 9)[k]
    BASIS["kind"], BASIS["degree"] = ("chebyshev", "legendre", "powers")[k], (3, 5, 2)[k]


PROGRAMS = [
    Program(
        multiply_and_divide,
        lambda r, k: (r.random((5, 3, 1)[k]) + 1, r.random((3, 6, 2)[k]) + 1),
        1e-9,
        long=True,
    ),
    Program(
        durand_kerner,
        lambda r, k: (np.array(([1.0, -6, 11, -6], [1.0, 0, 1], [1.0, -3, 3, -5, 2])[k]), 20),
        1e-7,
        long=True,
    ),
    Program(
        newton_interpolation,
        lambda r, k: (np.arange((5.0, 7.0, 2.0)[k]), r.integers(0, 9, (5, 7, 2)[k]), r.random((6, 3, 1)[k])),
        1e-10,
        quick=True,
    ),
    Program(design_matrix, lambda r, k: (r.random((6, 9, 1)[k]),), outside=_outside, long=True),
    Program(
        horner_and_derivatives, lambda r, k: (r.random((5, 3, 1)[k]), r.random((6, 9, 1)[k])), quick=True
    ),
    Program(continued_fraction, lambda r, k: ((math.pi, 2.5, 0.125)[k], (6, 9, 4)[k])),
    Program(
        power_mod_table,
        lambda r, k: (r.integers(1, 99, (3, 5, 1)[k]), r.integers(0, 60, (4, 2, 6)[k])),
        outside=_outside,
    ),
    Program(
        sieve_and_factor,
        lambda r, k: ((30, 50, 12)[k], r.integers(2, 140, (6, 9, 2)[k])),
        host=SIZED,
        long=True,
    ),
    Program(series_acceleration, lambda r, k: ((0.5, 1.0, 0.25)[k],), 1e-8, outside=_outside, long=True),
    Program(
        josephus, lambda r, k: ((7, 10, 4)[k], (3, 2, 5)[k]), host="the length of a list depends on elements"
    ),
    Program(josephus_by_arrays, lambda r, k: ((7, 10, 4)[k], (3, 2, 5)[k]), long=True),
    Program(
        bank_queue,
        lambda r, k: (np.cumsum(r.random((9, 15, 3)[k])), r.random((9, 15, 3)[k]) * 2, (2, 3, 1)[k]),
        long=True,
    ),
    Program(heap_sort, lambda r, k: (r.random((9, 20, 1)[k]),), long=True),
    Program(collatz_lengths, lambda r, k: ((20, 50, 1)[k],), long=True),
    Program(
        permutations_by_sign,
        lambda r, k: (r.random(((3, 3), (4, 4), (3, 5))[k]),),
        1e-11,
    ),
    Program(moving_median, lambda r, k: (r.random((9, 15, 5)[k]), (3, 5, 1)[k])),
    Program(binary_digits, lambda r, k: (r.integers(0, 30, (5, 9, 1)[k]), (5, 6, 5)[k]), long=True),
]

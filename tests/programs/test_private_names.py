"""Private names in classes: `__w` in the code of `class _Scale` is `_Scale__w`, wherever it stands."""

from __future__ import annotations

import nestor as nt
import numpy as np
import pytest

_Scale__factor = 5.0  # what `__factor` in the class is, outside of it


class _Scale:
    __base = 0.5

    def __init__(self):
        self.__w = 2.0
        self.__dict__["__w"] = -100.0  # another attribute

    def __times(self, x, __more=1.0):
        return x * self.__w * __more

    def attribute(self, x):
        return x * self.__w

    def method(self, x):
        return self.__times(x) + self.__times(x, 3.0)

    def of_the_class(self, x):
        return x + self.__base + _Scale.__base

    def written(self, x):
        self.__w = self.__w + 1.0
        return x * self.__w

    def local(self, x):
        __t = x + 1
        for __i in range(3):
            __t = __t * __i + x
        return __t

    def outside(self, x):
        return x * __factor  # noqa: F821  # pyright: ignore

    def nested(self, x):
        def __inner(__z):
            return __z * self.__w

        return __inner(x) + (lambda __y: __y * self.__w)(x)

    def items(self, x):
        return sum([x[__k] * __k for __k in range(3)])


class Other(_Scale):
    def __init__(self):
        super().__init__()
        self.__w = 7.0  # _Other__w

    def own(self, x):
        return x * self.__w + self.method(x)


METHODS = [
    _Scale.attribute, _Scale.method, _Scale.of_the_class, _Scale.local, _Scale.outside, _Scale.nested, _Scale.items,
    Other.own, _Scale.written,
]  # fmt: skip


@pytest.mark.parametrize("method", METHODS, ids=lambda m: m.__name__)
def test_private_names_of_a_class_are_as_in_python(method):
    ours, pythons = Other(), Other()
    compiled = nt.jit(lambda o, x: method(o, x))
    for x in (np.array([1.0, 2.0, 4.0]), np.array([3.0, -1.0, 0.5])):
        np.testing.assert_array_equal(compiled(ours, x), method(pythons, x))
        assert vars(ours) == vars(pythons)


def test_a_jitted_method_a_lambda_and_a_gradient_know_private_names():
    class Jitted:
        twice = nt.jit(lambda self, __x: __x * self.__w)

        def __init__(self):
            self.__w = 3.0

        @nt.jit
        def squared(self, x):
            return (x * self.__w) ** 2

        def loss(self, x):
            return (self.squared(x) * self.__w).sum()

    x = np.array([1.0, 2.0])
    ours = Jitted()
    np.testing.assert_array_equal(ours.squared(x), (x * 3) ** 2)
    np.testing.assert_array_equal(ours.twice(x), x * 3)
    np.testing.assert_allclose(nt.grad(ours.loss)(x), 54 * x)


def test_a_keyword_of_a_call_is_not_a_private_name():
    class Calls:
        def inner(self, __x):
            return __x * 2

        def wrong(self, x):
            return self.inner(__x=x)

    with pytest.raises(TypeError):
        Calls().wrong(1.0)
    with pytest.raises(TypeError):
        nt.jit(lambda o, x: o.wrong(x))(Calls(), np.ones(2))

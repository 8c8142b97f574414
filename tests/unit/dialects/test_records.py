"""Records behave as frozen dataclasses of the same fields."""

from __future__ import annotations

import copy
import dataclasses
import pickle

import pytest
from nestor.dialects.diagnostic import SourceLocation
from nestor.dialects.records import changed, record


class One:
    x: int
    y: object = None
    z: int = 3


class Named:
    x: int

    def __repr__(self) -> str:
        return f"<{self.x}>"


def _both(cls, **options):
    """The same class made in both ways."""
    decorate = (dataclasses.dataclass(frozen=True, **options), record(**options) if options else record)
    own = {name: item for name, item in vars(cls).items() if name not in ("__dict__", "__weakref__")}
    return [make(type(cls.__name__, (), dict(own))) for make in decorate]


CALLS = [
    ((1,), {}),
    ((1, [2]), {}),
    ((1, None, 4), {}),
    ((), {"x": 1}),
    ((1,), {"z": 3}),
    ((), {}),
    ((1, 2, 3, 4), {}),
    ((1,), {"x": 2}),
    ((1,), {"w": 2}),
    ((), {"y": 2}),
]


@pytest.mark.parametrize("options", [{}, {"eq": False}])
@pytest.mark.parametrize("cls", [One, Named])
def test_the_same_as_a_dataclass(cls, options):
    seen = []
    for kind in _both(cls, **options):
        things = [made for args, named in CALLS if not isinstance(made := _of(kind, *args, **named), str)]
        facts = [repr(thing) for thing in things]
        facts += [a == b for a in things for b in things]
        facts += [a == 1 for a in things]
        facts += [len({thing for thing in things if _of(hash, thing) != "TypeError"}), len(things)]
        facts += [isinstance(_of(setattr, thing, "x", 1), str) for thing in things]
        seen.append(facts)
    assert seen[0] == seen[1] and len(seen[0]) > 2


def _of(do, *arguments, **named):
    try:
        return do(*arguments, **named)
    except Exception as error:
        return type(error).__name__


@pytest.mark.parametrize(("arguments", "named"), CALLS)
def test_arguments_that_do_not_fit_are_refused(arguments, named):
    made = [_of(kind, *arguments, **named) for kind in _both(One)]
    assert (made[0] == "TypeError") == (made[1] == "TypeError")
    assert str(made[0]) == str(made[1])


def test_fields_do_not_change():
    place = SourceLocation("a.py", 3)
    with pytest.raises(AttributeError, match="cannot assign to field 'line'"):
        place.line = 4  # pyright: ignore
    with pytest.raises(AttributeError, match="cannot delete field 'line'"):
        del place.line  # pyright: ignore
    assert changed(place, line=4) == SourceLocation("a.py", 4) and place.line == 3
    with pytest.raises(TypeError, match="no field 'row'"):
        changed(place, row=4)


def test_copies_are_equal():
    place = SourceLocation("a.py", 3, column=5)
    assert pickle.loads(pickle.dumps(place)) == copy.deepcopy(place) == place
    assert {place: 1}[SourceLocation("a.py", 3, 5)] == 1

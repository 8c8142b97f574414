"""Objects of the caller that nested branches change: what one path leaves is what the caller sees."""

from __future__ import annotations

import nestor as nt
import numpy as np
import pytest

TARGETS = ["cpu", "interp", "cuda-sim"]
ROWS = [np.array(row) for row in ([1.0, -1, 4, 0, 2], [4.0, -1, 1, 2, 5], [-4.0, -3, -1, -2, 3], [4.0] * 5)]


class Account:
    def __init__(self):
        self.total = 1.0
        self.count = 0


def in_a_loop(x, account):
    for j in range(x.size):
        if x[j] > 0:
            if x[j] > 3:
                pass
            else:
                account.total = 2.0
        elif x[j] < -2:
            account.total = account.total + x[j]
    return x.sum() + account.total


def of_a_flag(x, account, flag):
    for j in range(x.size):
        if x[j] > 0:
            if flag:
                pass
            else:
                account.total = 2.0
    return x.sum()


def in_a_while(x, account):
    while account.count < 5:
        account.count += 1
        if x[account.count - 1] > 0:
            if x[account.count - 1] > 3:
                pass
            else:
                account.total = 2.0 * account.count
    return account.total


def on_arrays(x, account):
    if x.sum() > 0:
        if x[0] > 3:
            account.count = 4
        else:
            pass
    else:
        account.total = x[1]
    return x * account.total + account.count


def of_a_list(x, items):
    for j in range(x.size):
        if x[j] > 0:
            if x[j] > 3:
                pass
            else:
                items[1] = 2.0 + j
    return items[1]


def of_a_dict(x, table):
    for j in range(x.size):
        if x[j] > 0:
            if x[j] > 3:
                pass
            else:
                table["a"] = 2.0 + j
    return table["a"] * x


PROGRAMS = [
    (in_a_loop, Account),
    (lambda x, account: of_a_flag(x, account, True), Account),
    (lambda x, account: of_a_flag(x, account, False), Account),
    (in_a_while, Account),
    (on_arrays, Account),
    (of_a_list, lambda: [1.0, 2.0, 3.0]),
    (of_a_dict, lambda: {"a": 1.5}),
]


def state(thing):
    return vars(thing) if isinstance(thing, Account) else thing


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("program", range(len(PROGRAMS)))
def test_what_nested_branches_change_of_an_object_is_as_in_python(program, target):
    function, make = PROGRAMS[program]
    compiled = nt.jit(function, target=target)
    for x in ROWS:
        mine, theirs = make(), make()
        np.testing.assert_allclose(compiled(x.copy(), mine), function(x.copy(), theirs))
        assert state(mine) == state(theirs)


def test_a_flag_known_at_run_time_decides_what_is_changed():
    compiled = nt.jit(of_a_flag)
    for flag in (True, False, True):
        mine = Account()
        assert compiled(ROWS[0], mine, flag) == ROWS[0].sum()
        assert mine.total == (1.0 if flag else 2.0)

"""Loops on whole arrays that go on until a number that they compute from them is small: each way to say when."""

import numpy as np
from whole.program import SIZED, Program, symmetric

STATE = {"tolerance": 1e-3}
SHAPES = ((6, 7), (9, 5), (4, 4))
SIZES = (6, 9, 4)


def relax(u, tol):
    d = tol + 1.0
    while d > tol:
        v = u.copy()
        v[1:-1, 1:-1] = 0.25 * (u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:])
        d = np.abs(v - u).max()
        u = v
    return u


def relax_and_count(u, tol, most):
    d, rounds = np.inf, 0
    while d > tol and rounds < most:
        v = u.copy()
        v[1:-1] = (u[:-2] + u[1:-1] + u[2:]) / 3
        d = np.linalg.norm(v - u)
        u = v
        rounds += 1
    return u, rounds, d


def power_iteration(m, tol):
    x = np.ones(m.shape[0]) / np.sqrt(m.shape[0])
    value, change = 0.0, 1.0
    while change > tol:
        y = m @ x
        new = np.sqrt(np.sum(y * y))
        x = y / new
        change = abs(new - value)
        value = new
    return value, x


def power_iteration_of_signs(m, most):
    """Until the direction stays, up to its sign: `while True`, and two ways out."""
    x = np.ones(len(m))
    rounds = 0
    while True:
        y = m @ x
        y /= np.linalg.norm(y)
        if np.allclose(y, x, atol=1e-6) or np.allclose(y, -x, atol=1e-6):
            break
        x = y
        rounds += 1
        if rounds >= most:
            break
    return x, rounds


def sinkhorn(cost, a, b, tol):
    k = np.exp(-cost / 0.5)
    u, v = np.ones_like(a), np.ones_like(b)
    err = 1.0
    while err > tol:
        u = a / (k @ v)
        v = b / (k.T @ u)
        err = np.abs(u * (k @ v) - a).sum()
    return u[:, None] * k * v


def page_rank_until_steady(links, damping, tol):
    n = links.shape[0]
    out = links.sum(axis=0)
    m = np.where(out > 0, links / np.where(out > 0, out, 1.0), 1.0 / n)
    rank = np.full(n, 1.0 / n)
    delta = 1.0
    while delta > tol:
        new = damping * (m @ rank) + (1 - damping) / n
        delta = np.abs(new - rank).sum()
        rank = new
    return rank


def k_means_until_nothing_moves(points, k):
    centres = points[:k].copy()
    moved = True
    rounds = 0
    while moved:
        d = ((points[:, None, :] - centres[None]) ** 2).sum(axis=2)
        nearest = d.argmin(axis=1)
        new = centres.copy()
        for c in range(k):
            mine = nearest == c
            if mine.any():
                new[c] = (points * mine[:, None]).sum(axis=0) / mine.sum()
        moved = bool(np.any(new != centres))
        centres = new
        rounds += 1
    return centres, nearest, rounds


def newton_elementwise(a, tol):
    """Square roots of all elements at once; the condition computes on arrays."""
    x = np.maximum(a, 1.0)
    while np.any(np.abs(x * x - a) > tol * a):
        x = 0.5 * (x + a / x)
    return x


def newton_all_done(a):
    x = a.copy()
    done = False
    while not done:
        step = (np.exp(x) - a - 1.0) / np.exp(x)
        x = x - step
        done = np.all(np.abs(step) < 1e-10)
    return x


def conjugate_gradients(m, b, tol):
    x = np.zeros_like(b)
    r = b - m @ x
    p = r.copy()
    rs = r @ r
    while np.sqrt(rs) > tol:
        mp = m @ p
        alpha = rs / (p @ mp)
        x += alpha * p
        r -= alpha * mp
        new = r @ r
        p = r + (new / rs) * p
        rs = new
    return x


def steepest_descent(m, b, tol, most=200):
    x = np.zeros_like(b)
    for k in range(most):
        r = b - m @ x
        if np.sqrt(r @ r) < tol:
            return x, k
        x = x + (r @ r) / (r @ (m @ r)) * r
    return x, most


def backtracking(x, shrink):
    """Gradient descent whose steps are halved until the loss is less: two loops, one condition each."""
    loss = np.sum((x * x - 1.0) ** 2)
    change = 1.0
    while change > 1e-8:
        g = 4.0 * x * (x * x - 1.0)
        step = 1.0
        new = x - step * g
        value = np.sum((new * new - 1.0) ** 2)
        while value > loss - 1e-4 * step * np.sum(g * g) and step > 1e-12:
            step *= shrink
            new = x - step * g
            value = np.sum((new * new - 1.0) ** 2)
        change = loss - value
        x, loss = new, value
    return x, loss


def golden_rounds(f, lo, hi):
    """Bisection of all elements at once, until the widest bracket is small."""
    while (hi - lo).max() > 1e-6:
        mid = 0.5 * (lo + hi)
        left = mid * mid * mid > f
        hi = np.where(left, mid, hi)
        lo = np.where(left, lo, mid)
    return 0.5 * (lo + hi)


def transitive_closure(a):
    """Until nothing is new; the flag is a bool that NumPy made."""
    reach = a.copy()
    changed = True
    while changed:
        more = reach | (reach.astype(np.int64) @ reach.astype(np.int64) > 0)
        changed = (more != reach).any()
        reach = more
    return reach


def flood(grid, row, column):
    filled = np.zeros(grid.shape, dtype=bool)
    filled[row, column] = grid[row, column]
    before = -1
    while filled.sum() != before:
        before = filled.sum()
        grown = filled.copy()
        grown[1:] |= filled[:-1]
        grown[:-1] |= filled[1:]
        grown[:, 1:] |= filled[:, :-1]
        grown[:, :-1] |= filled[:, 1:]
        filled = grown & grid
    return filled, before


def label_components(grid):
    labels = np.where(grid, np.arange(1, grid.size + 1).reshape(grid.shape), 0)
    while True:
        new = labels.copy()
        new[1:] = np.maximum(new[1:], labels[:-1])
        new[:-1] = np.maximum(new[:-1], labels[1:])
        new[:, 1:] = np.maximum(new[:, 1:], labels[:, :-1])
        new[:, :-1] = np.maximum(new[:, :-1], labels[:, 1:])
        new = np.where(grid, new, 0)
        if np.array_equal(new, labels):
            return labels
        labels = new


def bellman_ford_until_settled(weights):
    d = np.full(weights.shape[0], np.inf)
    d[0] = 0.0
    for _ in range(weights.shape[0]):
        new = np.minimum(d, (d[:, None] + weights).min(axis=0))
        if (new == d).all():
            break
        d = new
    else:
        return d, True
    return d, False


def value_iteration(rewards, moves, discount, tol):
    """Of a decision process: (actions, states) rewards, (actions, states, states) moves."""
    v = np.zeros(rewards.shape[1])
    gap = np.inf
    while gap >= tol:
        q = rewards + discount * (moves @ v)
        new = q.max(axis=0)
        gap = (np.abs(new - v)).max()
        v = new
    return v, q.argmax(axis=0)


def policy_until_stable(rewards, moves, discount):
    n = rewards.shape[1]
    policy = np.zeros(n, dtype=np.int64)
    v = np.zeros(n)
    stable = False
    while not stable:
        for _ in range(60):
            v = rewards[policy, np.arange(n)] + discount * (moves[policy, np.arange(n)] * v).sum(axis=1)
        best = (rewards + discount * (moves @ v)).argmax(axis=0)
        stable = np.array_equal(best, policy)
        policy = best
    return v, policy


def soft_assignments(x, most):
    """Expectation and maximisation of two normal distributions, until the likelihood stays."""
    mean = np.array([x.min(), x.max()])
    spread = np.array([1.0, 1.0])
    old, new, rounds = -np.inf, -1e300, 0
    while new - old > 1e-6 * abs(new) and rounds < most:
        p = np.exp(-0.5 * ((x[:, None] - mean) / spread) ** 2) / spread
        total = p.sum(axis=1)
        w = p / total[:, None]
        mean = (w * x[:, None]).sum(axis=0) / w.sum(axis=0)
        spread = np.sqrt((w * (x[:, None] - mean) ** 2).sum(axis=0) / w.sum(axis=0)) + 1e-3
        old, new = new, np.log(total).sum()
        rounds += 1
    return mean, spread, rounds


def heat_to_time(u, dt, end, tol):
    """A counter of floats, or steady: whichever comes first."""
    t, change = 0.0, 1.0
    while t < end and change > tol:
        new = u.copy()
        new[1:-1] += dt * (u[2:] - 2 * u[1:-1] + u[:-2])
        change = np.max(np.abs(new - u)) / dt
        u = new
        t += dt
    return u, t


def adaptive_steps(y, end):
    """Euler steps that are halved where two of half the length say otherwise; `continue`."""
    t, h, taken = 0.0, 0.5, 0
    while t < end:
        h = min(h, end - t)
        one = y + h * (-2.0 * y)
        half = y + 0.5 * h * (-2.0 * y)
        two = half + 0.5 * h * (-2.0 * half)
        err = np.abs(one - two).max()
        if err > 1e-2 and h > 1e-4:
            h *= 0.5
            continue
        y = two
        t += h
        taken += 1
        h *= 1.5
    return y, taken


def time_steps_with_inner_solves(u, steps, tol):
    """Implicit heat: a loop over time, a loop until the solution stays in each."""
    sweeps = 0
    for _ in range(steps):
        old = u
        err = 1.0
        while err > tol:
            new = u.copy()
            new[1:-1] = (old[1:-1] + 0.5 * (u[:-2] + u[2:])) / 2.0
            err = np.abs(new - u).max()
            u = new
            sweeps += 1
    return u, sweeps


def while_in_while(x, tol):
    outer, count = 1.0, 0
    while outer > tol:
        inner, y = 1.0, x
        while inner > 0.1 * outer:
            z = 0.5 * (y + np.cos(y))
            inner = np.abs(z - y).max()
            y = z
            count += 1
        outer = np.abs(y - x).max()
        x = y
    return x, count


def damped_until_patience(x, patience):
    """The best so far; ends after some rounds without a better one."""
    best, best_loss, bad, v = x, np.inf, 0, np.zeros_like(x)
    while bad < patience:
        v = 0.8 * v - 0.15 * (x - 0.5)
        x = x + v
        loss = np.sum((x - 0.5) ** 2)
        if loss < best_loss - 1e-9:
            best, best_loss, bad = x, loss, 0
        else:
            bad += 1
    return best, best_loss


def halving_until_positive(m):
    """A shift that makes a matrix diagonally dominant."""
    shift = 0.0
    while not np.all(np.diag(m) + shift > np.abs(m - np.diag(np.diag(m))).sum(axis=1)):
        shift = 2 * shift + 1.0
    return m + shift * np.eye(m.shape[0]), shift


def reads_outside(x):
    """The tolerance stands outside."""
    err, rounds = 1.0, 0
    while err > STATE["tolerance"]:
        y = np.tanh(x) * 0.9
        err = np.abs(y - x).sum()
        x = y
        rounds += 1
    return x, rounds


class Solver:
    def __init__(self, tol):
        self.tol = tol
        self.err = 1.0
        self.rounds = 0

    def step(self, x):
        y = np.sin(x) * 0.8 + 0.1
        self.err = np.max(np.abs(y - x))
        self.rounds += 1
        return y


def of_an_object(x, tol):
    solver = Solver(tol)
    while solver.err > solver.tol:
        x = solver.step(x)
    return x, solver.rounds


def residual(m, b, x):
    return b - m @ x


def of_a_function(m, b, tol):
    """The condition calls a function of what is carried."""
    d = np.diag(m).copy()
    x = np.zeros_like(b)
    while np.abs(residual(m, b, x)).max() > tol:
        x = x + residual(m, b, x) / d
    return x


def of_a_closure(b, tol):
    def far(x):
        return np.sqrt(((x - b / (1 + x)) ** 2).sum()) > tol

    x = np.ones_like(b)
    rounds = 0
    while far(x):
        x = 0.5 * (x + b / (1 + x))
        rounds += 1
    return x, rounds


def two_errors(x, y, tol):
    """Both must be small; they are carried beside each other, and one of them is read by nobody else."""
    ex = ey = 1.0
    while ex > tol or ey > tol:
        nx = 0.5 * (x + np.cos(y))
        ny = 0.5 * (y + np.sin(nx))
        ex, ey = np.abs(nx - x).max(), np.abs(ny - y).max()
        x, y = nx, ny
    return x + y


def errors_in_an_array(x, tol):
    errors = np.ones(2)
    while errors.max() > tol:
        y = 0.5 * x + 0.1
        errors[1] = errors[0]
        errors[0] = np.abs(y - x).max()
        x = y
    return x, errors


def history_of_errors(x, tol):
    errors = []
    err = 1.0
    while err > tol:
        y = np.sqrt(x + 1.0)
        err = float(np.abs(y - x).max())
        errors.append(err)
        x = y
    return x, errors


def first_row_decides(m):
    while m[0].sum() < 10.0:
        m = m * 1.5
    return m


def one_element_decides(m, limit):
    k = 0
    while m[-1, 0] < limit:
        m = m + np.arange(m.shape[1])[::-1]
        k += 1
    return m, k


def sum_of_a_slice(x):
    while x[1::2].sum() > 0.5:
        x = x * 0.7
    return x.sum()


def integers_until_one(x):
    """Collatz, of all elements at once."""
    steps = np.zeros_like(x)
    while (x != 1).any():
        busy = x != 1
        x = np.where(busy, np.where(x % 2 == 0, x // 2, 3 * x + 1), 1)
        steps += busy
    return steps


def bubble_passes(x):
    """Odd-even transposition, in place, until a pass changes nothing."""
    swapped = True
    while swapped:
        before = x.copy()
        for start in (0, 1):
            a, b = x[start:-1:2].copy(), x[start + 1 :: 2].copy()
            x[start:-1:2], x[start + 1 :: 2] = np.minimum(a, b), np.maximum(a, b)
        swapped = not np.array_equal(before, x)


def in_place_until(u, tol):
    """Writes its argument in every round; nothing is returned but the number of rounds."""
    rounds = 0
    while True:
        old = u.copy()
        u[1:-1] = 0.5 * (u[:-2] + u[2:])
        rounds += 1
        if np.abs(u - old).max() <= tol:
            return rounds


def nan_ends_it(x, most):
    """Comparisons with NaN are false."""
    err, rounds = 1.0, 0
    while err > 1e-9:
        y = x * x
        err = np.abs(y - x).max()
        x = np.where(y > 1e3, np.nan, y)
        rounds += 1
        if rounds == most:
            break
    return x, rounds


def dead_state_beside(x, tol):
    """Values that nobody reads beside the one that decides, and one that is read after the loop only."""
    unused, last, err = x * 2.0, x, 1.0
    while err > tol:
        unused = unused + x
        last = x
        x = 0.5 * x
        err = x.max()
    return last


def returned_from_within(x, tol, most):
    for k in range(most):
        y = np.exp(-x)
        if np.abs(y - x).max() < tol:
            return y, k
        x = 0.5 * (x + y)
    return x, -1


def single_precision(u, tol):
    d = np.float32(1.0)
    while d > tol:
        v = 0.5 * u
        d = np.abs(v - u).max()
        u = v
    return u, d


def complex_fixed_point(z, tol):
    err = 1.0
    while err > tol:
        w = np.cos(z) * 0.5
        err = np.abs(w - z).max()
        z = w
    return z


def orthogonal_iteration(m, tol):
    """Newton's iteration for the polar factor, the norm of a matrix in the condition."""
    q = m / np.sqrt((m * m).sum())
    while np.linalg.norm(q.T @ q - np.eye(q.shape[1])) > tol:
        q = 1.5 * q - 0.5 * q @ q.T @ q
    return q


def _tolerances(k):
    STATE["tolerance"] = (1e-1, 1e-3, 10.0)[k]


def _vector(r, k):
    return r.random(SIZES[k])


def _links(r, k):
    return (r.random((SIZES[k], SIZES[k])) < 0.4).astype(float)


def _process(r, k):
    n, actions = (5, 7, 1)[k], (3, 2, 4)[k]
    moves = r.random((actions, n, n))
    return r.random((actions, n)), moves / moves.sum(axis=2, keepdims=True), 0.5


def _weights(r, k):
    w = r.random((SIZES[k], SIZES[k])) + 0.1
    return (np.where(r.random(w.shape) < 0.5, np.inf, w),)


TOLERANCES = (1e-2, 1e-5, 0.5)

PROGRAMS = [
    Program(relax, lambda r, k: (r.random(SHAPES[k]), TOLERANCES[k]), quick=True),
    Program(relax_and_count, lambda r, k: (_vector(r, k), TOLERANCES[k], (100, 5, 0)[k]), joins=True),
    Program(power_iteration, lambda r, k: (symmetric(r, SIZES[k]), TOLERANCES[k]), 1e-9),
    Program(power_iteration_of_signs, lambda r, k: (symmetric(r, SIZES[k]), (100, 3, 1)[k]), 1e-9),
    Program(
        sinkhorn,
        lambda r, k: (
            r.random(SHAPES[k]),
            np.full(SHAPES[k][0], 1 / SHAPES[k][0]),
            np.full(SHAPES[k][1], 1 / SHAPES[k][1]),
            TOLERANCES[k],
        ),
        1e-9,
    ),
    Program(page_rank_until_steady, lambda r, k: (_links(r, k), 0.85, TOLERANCES[k]), 1e-9),
    Program(k_means_until_nothing_moves, lambda r, k: (r.random(((12, 9, 5)[k], 2)), (3, 2, 1)[k]), 1e-9),
    Program(newton_elementwise, lambda r, k: (_vector(r, k) + 0.1, (1e-3, 1e-12, 0.9)[k])),
    Program(newton_all_done, lambda r, k: (_vector(r, k),), 1e-9),
    Program(conjugate_gradients, lambda r, k: (symmetric(r, SIZES[k]), _vector(r, k), TOLERANCES[k]), 1e-8),
    Program(steepest_descent, lambda r, k: (symmetric(r, SIZES[k]), _vector(r, k), TOLERANCES[k]), 1e-8),
    Program(backtracking, lambda r, k: (_vector(r, k) + 0.2, (0.5, 0.25, 0.7)[k]), 1e-8),
    Program(golden_rounds, lambda r, k: (_vector(r, k), np.zeros(SIZES[k]), np.ones(SIZES[k]))),
    Program(transitive_closure, lambda r, k: (r.random((SIZES[k], SIZES[k])) < 0.2,)),
    Program(flood, lambda r, k: (r.random(SHAPES[k]) < 0.7, (0, 2, 3)[k], (0, 1, 3)[k])),
    Program(label_components, lambda r, k: (r.random(SHAPES[k]) < 0.6,)),
    Program(bellman_ford_until_settled, _weights),
    Program(value_iteration, lambda r, k: (*_process(r, k), TOLERANCES[k]), 1e-10),
    Program(policy_until_stable, _process, 1e-10),
    Program(soft_assignments, lambda r, k: (_vector(r, k) * 5, (40, 3, 0)[k]), 1e-8),
    Program(heat_to_time, lambda r, k: (_vector(r, k), 0.2, (2.0, 50.0, 0.0)[k], TOLERANCES[k])),
    Program(adaptive_steps, lambda r, k: (_vector(r, k), (1.0, 2.5, 0.0)[k]), 1e-10),
    Program(time_steps_with_inner_solves, lambda r, k: (_vector(r, k), (3, 2, 0)[k], TOLERANCES[k]), 1e-10),
    Program(while_in_while, lambda r, k: (_vector(r, k), TOLERANCES[k]), 1e-10),
    Program(damped_until_patience, lambda r, k: (_vector(r, k), (3, 5, 1)[k]), 1e-10),
    Program(halving_until_positive, lambda r, k: (r.standard_normal((SIZES[k], SIZES[k])),), 1e-10),
    Program(reads_outside, lambda r, k: (_vector(r, k),), 1e-10, outside=_tolerances),
    Program(of_an_object, lambda r, k: (_vector(r, k), TOLERANCES[k]), 1e-10),
    Program(
        of_a_function, lambda r, k: (symmetric(r, SIZES[k]) + 9 * np.eye(SIZES[k]), _vector(r, k), 1e-4), 1e-9
    ),
    Program(of_a_closure, lambda r, k: (_vector(r, k), TOLERANCES[k]), 1e-10),
    Program(two_errors, lambda r, k: (_vector(r, k), _vector(r, k), TOLERANCES[k]), 1e-10),
    Program(errors_in_an_array, lambda r, k: (_vector(r, k), TOLERANCES[k])),
    Program(history_of_errors, lambda r, k: (_vector(r, k), TOLERANCES[k]), host=SIZED),
    Program(first_row_decides, lambda r, k: (r.random(SHAPES[k]) + 0.1,)),
    Program(one_element_decides, lambda r, k: (r.random(SHAPES[k]), (10.0, 30.5, -1.0)[k])),
    Program(sum_of_a_slice, lambda r, k: (_vector(r, k),)),
    Program(integers_until_one, lambda r, k: (r.integers(1, 30, SIZES[k]).astype(("i8", "i4", "i8")[k]),)),
    Program(bubble_passes, lambda r, k: (_vector(r, k),)),
    Program(in_place_until, lambda r, k: (_vector(r, k), TOLERANCES[k])),
    Program(nan_ends_it, lambda r, k: (_vector(r, k) * (1.0, 3.0, 1.2)[k], (50, 20, 3)[k])),
    Program(dead_state_beside, lambda r, k: (_vector(r, k), TOLERANCES[k])),
    Program(returned_from_within, lambda r, k: (_vector(r, k), TOLERANCES[k], (50, 4, 0)[k]), 1e-10),
    Program(single_precision, lambda r, k: (_vector(r, k).astype("f4"), 1e-3), 1e-6),
    Program(complex_fixed_point, lambda r, k: (_vector(r, k) + 0.2j, TOLERANCES[k]), 1e-10),
    Program(orthogonal_iteration, lambda r, k: (r.random((SIZES[k], 3)), (1e-2, 1e-6, 0.5)[k]), 1e-8),
]

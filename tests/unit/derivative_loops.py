"""Programs of loops and branches on arrays, and what they are called with."""

import numpy as np

_RNG = np.random.default_rng(3)
X = _RNG.standard_normal((5, 3))
H, V = _RNG.standard_normal((2, 3))
W = _RNG.standard_normal((3, 3)) / 2
P = np.abs(H) + 0.5


def steps(h, w):
    for _ in range(9):
        h = np.tanh(h @ w)
    return h


def run_time_steps(h, w, n):
    for _ in range(n):
        h = np.tanh(h @ w + 0.1)
    return h


def a_step_of_two(x, h):
    for t in range(1, x.shape[0], 2):
        h = np.tanh(x[t] + h * x[t - 1])
    return h


def run_time_bounds(x, h, a, b):
    for t in range(a, b, 3):
        h = np.sin(x[t % 5] + h)
    return h


def downwards(x, h):
    for t in range(x.shape[0] - 1, -1, -1):
        h = np.tanh(x[t] + h) * x[t]
    return h


def rows(x, h):
    for row in x:
        h = np.tanh(row + h)
    return h


def a_linear_loop(h, v):
    for _ in range(9):
        h = h * 0.5 + v
    return h


def several_carried(h, v):
    a = h
    b = v
    s = 0.0
    for _ in range(9):
        a, b = np.tanh(a * b), a + 0.5 * b
        s = s + (a * b).sum()
    return a, b, s


def a_swap(h, v):
    a, b = h, v
    for _ in range(9):
        a, b = b * 1.1, np.sin(a)
    return a


def carried_untouched(h, v):
    a, b = h, v
    for _ in range(9):
        a = a * b
    return a, b + 0.0


def counted_beside(h, v):
    n = 0
    on = False
    for _ in range(9):
        h = np.sin(h) * v
        if h.sum() > 0:
            n += 1
            on = True
    return h, n, on


def nested(x, h):
    for t in range(x.shape[0]):
        for s in range(t):
            h = np.tanh(x[s] * h + x[t])
    return h


def nested_products(h, w):
    for _ in range(3):
        g = h @ w
        for _ in range(7):
            g = np.tanh(g @ w) + h
        h = np.sin(g) * h
    return h


def a_branch(h, v):
    if h.sum() > 0:
        return h * v
    return np.sin(h)


def a_branch_with_products(h, w):
    if h[0] > 100:
        y = np.tanh(h @ w)
    else:
        y = np.sin(w @ h) * h
    return y * y


def nested_branches(h, v):
    y = h
    if h.sum() > 0:
        if v[0] > 0:
            y = h * v
    elif v[1] > 0:
        y = np.exp(h)
    else:
        y = v / 3
    return y


def branches_in_a_loop(x, h):
    for t in range(x.shape[0]):
        if h.sum() > 0:
            h = np.tanh(x[t] + h)
        else:
            h = np.sin(h) * x[t] + 0.3
    return h


def products_in_a_branch_of_a_loop(h, w):
    for _ in range(9):
        if h[0] > 0:
            h = np.tanh(h @ w) - 0.2
        else:
            h = np.cos(w @ h)
    return h


def a_loop_in_a_branch(h, v):
    if h.sum() > 100:
        for _ in range(9):
            h = np.sin(h) * v
    else:
        for _ in range(9):
            h = np.cos(h) + v * h
    return h


def a_break(h, v):
    for _ in range(30):
        h = h * 1.3 + v
        if np.abs(h).max() > 4:
            break
    return h


def a_continue(x, h):
    for _ in range(20):
        if h[0] > 0.5:
            h = h * 0.3
            continue
        h = np.cos(h + 0.1)
    return h * x[0]


def an_early_return(h, v):
    for _ in range(30):
        h = h * 1.2 + v
        if np.abs(h).max() > 4:
            return h * 2
    return h


def while_large(h, v):
    while np.abs(h).sum() > 0.1:
        h = h * np.tanh(v)
    return h


def newton(h):
    x = h
    n = 0
    while np.abs(x * x - h).max() > 1e-3:
        x = (x + h / x) / 2
        n += 1
    return x, n


def while_in_a_loop(h, v):
    for _ in range(3):
        g = h + 3
        while g.sum() > 1:
            g = g * 0.6 - v * v
        h = np.sin(h) * g
    return h


def a_loop_in_while(h, v):
    while np.abs(h).sum() > 0.1:
        for _ in range(9):
            h = h * 0.9 * np.tanh(v)
    return h


def sums_in_a_loop(x, h):
    for t in range(x.shape[0]):
        h = h * np.exp(-(x * h).sum(axis=1).max()) + x[t] / x.sum()
    return h


def softmax_in_a_loop(x, h):
    for _ in range(9):
        e = np.exp(x @ h - (x @ h).max())
        h = np.tanh((e / e.sum()) @ x)
    return h


def a_list_of_results(x, h):
    found = []
    for t in range(5):
        h = np.tanh(x[t] + h)
        found.append(h)
    return found[1] * found[4] + found[2]


def energy(h, v):
    q, p = h, v
    for _ in range(20):
        p = p - 0.1 * np.sin(q)
        q = q + 0.1 * p
    return (p * p).sum() / 2 - np.cos(q).sum()


def runge_kutta(h, v):
    y, dt = h, 0.1
    for _ in range(10):
        k1 = np.sin(y) * v
        k2 = np.sin(y + dt / 2 * k1) * v
        k3 = np.sin(y + dt / 2 * k2) * v
        k4 = np.sin(y + dt * k3) * v
        y = y + dt / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
    return y


def lstm(x, h, wx, wh):
    c = h * 0.0
    n = h.shape[0]
    for t in range(20):
        z = x[t % 5] @ wx + h @ wh
        i = 1 / (1 + np.exp(-z[:n]))
        f = 1 / (1 + np.exp(-z[n : 2 * n]))
        o = 1 / (1 + np.exp(-z[2 * n : 3 * n]))
        c = f * c + i * np.tanh(z[3 * n :])
        h = o * np.tanh(c)
    return h, c


def maxima(h, v):
    for _ in range(9):
        h = np.maximum(h * 0.9, np.minimum(v, h + 0.1)) + np.where(h > 0, h, 0.1)
    return h


def views(x):
    for _ in range(9):
        x = np.sin(x.T[::-1].reshape(5, 3)) * x + x[:1, ::-1]
    return x


def stored_rows(x, h):
    out = np.zeros_like(x)
    for t in range(x.shape[0]):
        h = np.tanh(x[t] + h)
        out[t] = h
    return out * out


def outer_products(x, h, w):
    for t in range(20):
        h = np.tanh(w @ h + w.T @ x[t % 5])
    return h


def captured_once(h, v):
    g = np.exp(v) * h
    for _ in range(9):
        h = np.tanh(h * g + v)
    return h * g


def not_used(h, v):
    g = v
    for _ in range(9):
        g = np.sin(g) * h
        h = h * 0.9
    return h


def a_matrix_power(w):
    y = w
    for _ in range(9):
        y = np.tanh(y @ w) + y.T
    return y


PROGRAMS = {
    "steps": (steps, X, W),
    "run-time steps": (run_time_steps, X, W, 7),
    "no steps": (run_time_steps, X, W, 0),
    "one step": (run_time_steps, X, W, 1),
    "a negative number of steps": (run_time_steps, X, W, -3),
    "a step of two": (a_step_of_two, X, H),
    "run-time bounds": (run_time_bounds, X, H, 2, 17),
    "run-time bounds without an iteration": (run_time_bounds, X, H, 5, 2),
    "downwards": (downwards, X, H),
    "rows": (rows, X, H),
    "a linear loop": (a_linear_loop, H, V),
    "several carried": (several_carried, H, V),
    "a swap": (a_swap, H, V),
    "carried untouched": (carried_untouched, H, V),
    "counted beside": (counted_beside, H, V),
    "nested": (nested, X, H),
    "nested products": (nested_products, H, W),
    "a branch": (a_branch, P, V),
    "the other side": (a_branch, -P, V),
    "a branch with products": (a_branch_with_products, H, W),
    "nested branches": (nested_branches, P, V),
    "nested branches, other sides": (nested_branches, -P, -P),
    "branches in a loop": (branches_in_a_loop, X, H),
    "products in a branch of a loop": (products_in_a_branch_of_a_loop, H, W),
    "a loop in a branch": (a_loop_in_a_branch, H, V),
    "a break": (a_break, H, V),
    "a continue": (a_continue, X, H),
    "an early return": (an_early_return, H, V),
    "while": (while_large, H, V),
    "while without an iteration": (while_large, H * 1e-3, V),
    "newton": (newton, P),
    "while in a loop": (while_in_a_loop, H, V),
    "a loop in while": (a_loop_in_while, H, V),
    "sums in a loop": (sums_in_a_loop, X, H),
    "softmax in a loop": (softmax_in_a_loop, X, H),
    "a list of results": (a_list_of_results, X, H),
    "energy": (energy, H, V),
    "runge-kutta": (runge_kutta, H, V),
    "lstm": (lstm, X, H, _RNG.standard_normal((3, 12)), _RNG.standard_normal((3, 12))),
    "maxima": (maxima, H, V),
    "views": (views, X),
    "stored rows": (stored_rows, X, H),
    "outer products": (outer_products, X, H, W),
    "captured once": (captured_once, H, V),
    "not used": (not_used, H, V),
    "a matrix power": (a_matrix_power, W),
}

"""Plain NumPy and Python loops that write in place, as they are written: functions that give one number, and arguments."""

import numpy as np

_RNG = np.random.default_rng(5)


def normal(*shape):
    return _RNG.standard_normal(shape)


def spread(*shape):
    """Positive numbers, no two of which are close."""
    count = int(np.prod(shape))
    return (0.3 + 0.37 * _RNG.permutation(count)).reshape(shape) / max(1, count) * 3


# ---- sweeps and stencils ---------------------------------------------------------------------------------


def heat_in_place(u):
    u = u.copy()
    for _ in range(4):
        for i in range(1, u.shape[0] - 1):
            u[i] = u[i] + 0.2 * (u[i - 1] - 2 * u[i] + u[i + 1]) * u[i]
    return (u * u).sum()


def burgers(u):
    u = u.copy()
    for _ in range(3):
        for i in range(1, u.shape[0]):
            u[i] = u[i] - 0.1 * u[i] * (u[i] - u[i - 1])
    return (u**3).sum()


def seidel_nonlinear(u, f):
    u = u.copy()
    for _ in range(3):
        for i in range(1, u.shape[0] - 1):
            for j in range(1, u.shape[1] - 1):
                u[i, j] = (
                    0.25 * (u[i - 1, j] + u[i + 1, j] + u[i, j - 1] + u[i, j + 1])
                    - 0.1 * np.sin(u[i, j]) * f[i, j]
                )
    return (u * f).sum()


def cube(u):
    u = u.copy()
    for _ in range(2):
        for i in range(1, u.shape[0] - 1):
            for j in range(1, u.shape[1] - 1):
                for k in range(1, u.shape[2] - 1):
                    u[i, j, k] = np.tanh(u[i - 1, j, k] + u[i, j + 1, k] * u[i, j, k - 1])
    return (u * u).sum()


def jacobi_with_two_arrays(a):
    a, b = a.copy(), np.zeros(a.shape)
    for _ in range(3):
        for i in range(1, a.shape[0] - 1):
            for j in range(1, a.shape[1] - 1):
                b[i, j] = 0.2 * (a[i, j] + a[i - 1, j] + a[i + 1, j] + a[i, j - 1] * a[i, j + 1])
        for i in range(1, a.shape[0] - 1):
            for j in range(1, a.shape[1] - 1):
                a[i, j] = b[i, j]
    return (a * a).sum()


def wave(c, u):
    n = u.shape[0]
    before, now, after = np.zeros(n), u.copy(), np.zeros(n)
    for _ in range(5):
        for i in range(1, n - 1):
            after[i] = 2 * now[i] - before[i] + 0.1 * c[i] * c[i] * (now[i - 1] - 2 * now[i] + now[i + 1])
        for i in range(n):
            before[i] = now[i]
            now[i] = after[i]
    return (now * now).sum()


def reaction(u, v):
    u, v = u.copy(), v.copy()
    for _ in range(3):
        for i in range(1, u.shape[0] - 1):
            r = u[i] * v[i] * v[i]
            u[i] += 0.1 * (u[i - 1] - 2 * u[i] + u[i + 1]) - r + 0.04 * (1 - u[i])
            v[i] += 0.05 * (v[i - 1] - 2 * v[i] + v[i + 1]) + r - 0.1 * v[i]
    return (u * v).sum()


def fdtd(ex, hz):
    ex, hz = ex.copy(), hz.copy()
    for t in range(3):
        ex[0] = float(t)
        for i in range(1, ex.shape[0]):
            ex[i] = ex[i] - 0.5 * (hz[i] - hz[i - 1])
        for i in range(ex.shape[0] - 1):
            hz[i] = hz[i] - 0.7 * (ex[i + 1] - ex[i]) * hz[i]
    return (ex * hz).sum()


def red_and_black(u):
    u = u.copy()
    for _ in range(2):
        for color in range(2):
            for i in range(1, u.shape[0] - 1):
                for j in range(1 + (i + color) % 2, u.shape[1] - 1, 2):
                    u[i, j] = (
                        0.2 * (u[i - 1, j] + u[i + 1, j] + u[i, j - 1] + u[i, j + 1]) + 0.1 * u[i, j] ** 2
                    )
    return (u * u).sum()


def downwards_sweep(u):
    u = u.copy()
    for i in range(u.shape[0] - 2, -1, -1):
        u[i] = u[i] * np.exp(-u[i + 1] * u[i])
    return u.sum()


# ---- linear algebra --------------------------------------------------------------------------------------


def forward_substitution(a, b):
    x = b.copy()
    for i in range(x.shape[0]):
        for j in range(i):
            x[i] -= a[i, j] * x[j]
        x[i] = x[i] / (3 + a[i, i])
    return (x * x).sum()


def backward_substitution(a, b):
    n = b.shape[0]
    x = b.copy()
    for i in range(n - 1, -1, -1):
        s = x[i]
        for j in range(i + 1, n):
            s -= a[i, j] * x[j]
        x[i] = s / (3 + a[i, i])
    return (x**3).sum()


def lu(a):
    a = a.copy()
    n = a.shape[0]
    for k in range(n):
        for i in range(k + 1, n):
            a[i, k] = a[i, k] / a[k, k]
            for j in range(k + 1, n):
                a[i, j] -= a[i, k] * a[k, j]
    return (a * a).sum()


def lu_with_a_row(a):
    n = a.shape[0]
    a = a.copy()
    for i in range(n):
        for j in range(i):
            for k in range(j):
                a[i, j] -= a[i, k] * a[k, j]
            a[i, j] /= a[j, j]
        for j in range(i, n):
            for k in range(i):
                a[i, j] -= a[i, k] * a[k, j]
    return np.log(np.abs(np.diag(a))).sum()


def cholesky(a):
    n = a.shape[0]
    a = a @ a.T + 2.0 * np.eye(n)
    for i in range(n):
        for j in range(i):
            for k in range(j):
                a[i, j] -= a[i, k] * a[j, k]
            a[i, j] /= a[j, j]
        for k in range(i):
            a[i, i] -= a[i, k] * a[i, k]
        a[i, i] = np.sqrt(a[i, i])
    s = 0.0
    for i in range(n):
        for j in range(i + 1):
            s += a[i, j] * (i + 2 * j + 1)
    return s


def gauss_jordan(a):
    n = a.shape[0]
    a = a + 4.0 * np.eye(n)
    for k in range(n):
        p = a[k, k]
        for j in range(n):
            a[k, j] = a[k, j] / p
        for i in range(n):
            if i != k:
                q = a[i, k]
                for j in range(n):
                    a[i, j] = a[i, j] - q * a[k, j] * 0.5
    return (a * a).sum()


def gram_schmidt(a):
    q = a.copy()
    for j in range(q.shape[1]):
        for k in range(j):
            r = 0.0
            for i in range(q.shape[0]):
                r += q[i, k] * q[i, j]
            for i in range(q.shape[0]):
                q[i, j] -= r * q[i, k]
        s = 0.0
        for i in range(q.shape[0]):
            s += q[i, j] * q[i, j]
        s = np.sqrt(s)
        for i in range(q.shape[0]):
            q[i, j] /= s
    return (q[0] * q[1]).sum() + q[2, 1]


def thomas(a, d):
    n = d.shape[0]
    c, d = a.copy(), d.copy()
    c[0] = c[0] / 4
    d[0] = d[0] / 4
    for i in range(1, n):
        m = 4 - a[i] * c[i - 1]
        c[i] = c[i] / m
        d[i] = (d[i] - a[i] * d[i - 1]) / m
    for i in range(n - 2, -1, -1):
        d[i] -= c[i] * d[i + 1]
    return (d * d).sum()


def power_iteration(a):
    n = a.shape[0]
    x = np.ones(n)
    y = np.zeros(n)
    for _ in range(4):
        for i in range(n):
            y[i] = 0.0
            for j in range(n):
                y[i] += (a[i, j] * a[i, j] + 0.1) * x[j]
        s = 0.0
        for i in range(n):
            s += y[i] * y[i]
        for i in range(n):
            x[i] = y[i] / np.sqrt(s)
    return x[0] + 2 * x[1]


def horner(c, x):
    s = np.zeros(x.shape[0])
    for k in range(x.shape[0]):
        s[k] = c[0]
        for i in range(1, c.shape[0]):
            s[k] = s[k] * x[k] + c[i]
    return (s * s).sum()


# ---- recurrences and scans -------------------------------------------------------------------------------


def carried_number(x):
    s = 1.0
    for i in range(x.shape[0]):
        s = np.sin(s) + x[i]
    return s


def logistic(r):
    x = 0.3
    for i in range(r.shape[0]):
        x = (3 + 0.1 * r[i]) * x * (1 - x)
    return x


def product(x):
    s = 1.0
    for i in range(x.shape[0]):
        s *= x[i]
    return s + 2.0


def products_of_columns(x):
    p = np.ones(x.shape[1])
    for i in range(x.shape[0]):
        for j in range(x.shape[1]):
            p[j] *= x[i, j]
    return (p * p).sum()


def running_product(x):
    y = x.copy()
    for i in range(1, y.shape[0]):
        y[i] = y[i] * y[i - 1]
    for i in range(1, y.shape[0]):
        y[i] = y[i] * y[i - 1]
    return y.sum()


def gru(x, w):
    h = np.zeros(w.shape[0])
    z = np.zeros(w.shape[0])
    for t in range(x.shape[0]):
        for i in range(h.shape[0]):
            s = x[t]
            for j in range(h.shape[0]):
                s += w[i, j] * h[j]
            z[i] = 1 / (1 + np.exp(-s))
        for i in range(h.shape[0]):
            h[i] = (1 - z[i]) * h[i] + z[i] * np.tanh(x[t] * z[i])
    return (h * h).sum()


def deriche(x):
    a, b = 0.4, 0.6
    y, z = np.zeros(x.shape), np.zeros(x.shape)
    for i in range(x.shape[0]):
        before, twice, first = 0.0, 0.0, 0.0
        for j in range(x.shape[1]):
            y[i, j] = a * x[i, j] + 0.1 * first + b * before - 0.1 * twice
            first = x[i, j]
            twice = before
            before = y[i, j]
        after, twice, first = 0.0, 0.0, 0.0
        for j in range(x.shape[1] - 1, -1, -1):
            z[i, j] = 0.2 * first + b * after - 0.1 * twice
            first = x[i, j]
            twice = after
            after = z[i, j]
    return ((y + z) ** 2).sum()


def kalman(y):
    m, p, s = 0.0, 1.0, 0.0
    for t in range(y.shape[0]):
        p = 0.9 * p + 0.2
        k = p / (p + 0.5)
        r = y[t] - m
        s += r * r / (p + 0.5) + np.log(p + 0.5)
        m = np.sin(m + k * r)
        p = (1 - k) * p * (1 + 0.1 * m * m)
    return s


def normalised(x):
    """Welford's running mean and variance."""
    mean, m2 = 0.0, 0.0
    for i in range(x.shape[0]):
        d = x[i] - mean
        mean += d / (i + 1)
        m2 += d * (x[i] - mean)
    return m2 / x.shape[0] + mean


# ---- dynamic programs ------------------------------------------------------------------------------------


def soft_dtw(x, y):
    n, m = x.shape[0], y.shape[0]
    r = np.full((n + 1, m + 1), 50.0)
    r[0, 0] = 0.0
    for i in range(1, n + 1):
        for j in range(1, m + 1):
            d = (x[i - 1] - y[j - 1]) ** 2
            a, b, c = -r[i - 1, j - 1], -r[i - 1, j], -r[i, j - 1]
            top = max(a, b, c)
            r[i, j] = d - (top + np.log(np.exp(a - top) + np.exp(b - top) + np.exp(c - top)))
    return r[n, m]


def dtw_of_one_row(x, y):
    n, m = x.shape[0], y.shape[0]
    row = np.full(m + 1, 100.0)
    row[0] = 0.0
    for i in range(n):
        diagonal = row[0]
        row[0] = 100.0
        for j in range(1, m + 1):
            best = min(diagonal, row[j], row[j - 1])
            diagonal = row[j]
            row[j] = abs(x[i] - y[j - 1]) + best
    return row[m] * row[m]


def edit_costs(x, y, gap):
    n, m = x.shape[0], y.shape[0]
    d = np.zeros((n + 1, m + 1))
    for i in range(1, n + 1):
        d[i, 0] = i * gap[0]
    for j in range(1, m + 1):
        d[0, j] = j * gap[0]
    for i in range(1, n + 1):
        for j in range(1, m + 1):
            same = d[i - 1, j - 1] + (x[i - 1] - y[j - 1]) ** 2
            d[i, j] = min(same, d[i - 1, j] + gap[0], d[i, j - 1] + gap[0])
    return d[n, m]


def floyd_warshall(w):
    d = w.copy()
    n = d.shape[0]
    for k in range(n):
        for i in range(n):
            for j in range(n):
                d[i, j] = min(d[i, j], d[i, k] + d[k, j])
    return (d * d).sum()


def viterbi(e, t):
    v = e[0].copy()
    new = np.zeros(v.shape[0])
    for k in range(1, e.shape[0]):
        for j in range(v.shape[0]):
            best = v[0] + t[0, j]
            for i in range(1, v.shape[0]):
                best = max(best, v[i] + t[i, j])
            new[j] = best + e[k, j]
        for j in range(v.shape[0]):
            v[j] = new[j]
    return v.max()


def forward_algorithm(e, t):
    v = np.exp(e[0])
    for k in range(1, e.shape[0]):
        new = np.zeros(v.shape[0])
        for j in range(v.shape[0]):
            for i in range(v.shape[0]):
                new[j] += v[i] * np.exp(0.1 * t[i, j])
        for j in range(v.shape[0]):
            v[j] = new[j] * np.exp(0.1 * e[k, j])
    return np.log(v.sum())


def knapsack(v):
    best = np.zeros(8)
    for i in range(v.shape[0]):
        size = i % 3 + 1
        for c in range(7, size - 1, -1):
            best[c] = max(best[c], best[c - size] + v[i] * v[i])
    return best[7]


def largest_sum(x):
    best, now = -100.0, 0.0
    for i in range(x.shape[0]):
        now = max(now + x[i], x[i])
        best = max(best, now)
    return best * best


# ---- while, break, data that decide ----------------------------------------------------------------------


def relaxed(u, tolerance):
    u = u.copy()
    change = 1.0
    while change > tolerance:
        change = 0.0
        for i in range(1, u.shape[0] - 1):
            new = 0.5 * (u[i - 1] + u[i + 1]) + 0.1 * np.sin(u[i])
            change = max(change, abs(new - u[i]))
            u[i] = new
    return (u * u).sum()


def newton_of_each(a):
    s = 0.0
    for i in range(a.shape[0]):
        x = 1.0
        while abs(x * x * x - a[i]) > 1e-11:
            x = x - (x * x * x - a[i]) / (3 * x * x)
        s += x * x
    return s


def kepler(m, e):
    total = 0.0
    for k in range(m.shape[0]):
        x = m[k]
        for _ in range(40):
            d = (x - e[k] * np.sin(x) - m[k]) / (1 - e[k] * np.cos(x))
            x = x - d
            if abs(d) < 1e-12:
                break
        total += np.sin(x)
    return total


def until(x, limit):
    s = 0.0
    for i in range(x.shape[0]):
        s = s * x[i] + x[i] * x[i]
        if s > limit:
            break
    return s


def counted_down(x):
    n, s = x.shape[0], 1.0
    while n > 0:
        n -= 1
        if x[n] < 0:
            continue
        s = s * np.cos(s * x[n])
    return s


def walks(x, starts):
    s = 0.0
    for k in range(starts.shape[0]):
        i = int(starts[k])
        y = 1.0
        while i < x.shape[0]:
            y = y * x[i] + 0.5
            i += 1 + int(starts[k]) % 2
        s += y * y
    return s


def rows_of_a_sparse_matrix(first, column, value, x):
    y = x.copy()
    for i in range(first.shape[0] - 1):
        for k in range(first[i], first[i + 1]):
            y[i] = y[i] + np.sin(y[i]) * value[k] * x[column[k]]
    return (y * y).sum()


def adaptive_quadrature(c):
    s, x, h = 0.0, 0.0, 0.25
    while x < 1.0:
        one = np.sin(c[0] * x) * np.exp(c[1] * x)
        two = np.sin(c[0] * (x + h)) * np.exp(c[1] * (x + h))
        s += h * (one + two) / 2 + 0.01 * s * s
        x += h
        h = h * 0.9
    return s


def conjugate_gradients(a, b):
    n = b.shape[0]
    x, r, p, q = np.zeros(n), b.copy(), b.copy(), np.zeros(n)
    rho = (b * b).sum()
    while rho > 1e-20:
        pq = 0.0
        for i in range(n):
            q[i] = 3 * p[i]
            for j in range(n):
                q[i] += 0.1 * a[i, j] * a[j, i] * p[j]
            pq += p[i] * q[i]
        alpha, before = rho / pq, rho
        rho = 0.0
        for i in range(n):
            x[i] += alpha * p[i]
            r[i] -= alpha * q[i]
            rho += r[i] * r[i]
        for i in range(n):
            p[i] = r[i] + rho / before * p[i]
    return (x * x).sum()


# ---- steps in time ---------------------------------------------------------------------------------------


def double_pendulum(start):
    y = start.copy()
    k, z, total = np.zeros(4), np.zeros(4), np.zeros(4)
    for _ in range(3):
        for i in range(4):
            total[i] = 0.0
            z[i] = y[i]
        for stage in range(4):
            d = z[0] - z[1]
            m = 3 - np.cos(2 * d)
            k[0] = z[2]
            k[1] = z[3]
            k[2] = (
                -3 * np.sin(z[0])
                - np.sin(z[0] - 2 * z[1])
                - 2 * np.sin(d) * (z[3] ** 2 + z[2] ** 2 * np.cos(d))
            ) / m
            k[3] = 2 * np.sin(d) * (2 * z[2] ** 2 + 2 * np.cos(z[0]) + z[3] ** 2 * np.cos(d)) / m
            weight = 2.0 if 0 < stage < 3 else 1.0
            length = 0.1 if stage == 2 else 0.05
            for i in range(4):
                total[i] += weight * k[i]
                z[i] = y[i] + length * k[i]
        for i in range(4):
            y[i] += 0.1 / 6 * total[i]
    return (y * y).sum()


def bodies(p, v):
    p, v = p.copy(), v.copy()
    for _ in range(2):
        for i in range(p.shape[0]):
            for j in range(p.shape[0]):
                if i != j:
                    dx, dy = p[j, 0] - p[i, 0], p[j, 1] - p[i, 1]
                    r = dx * dx + dy * dy + 0.1
                    v[i, 0] += 0.01 * dx / (r * np.sqrt(r))
                    v[i, 1] += 0.01 * dy / (r * np.sqrt(r))
        for i in range(p.shape[0]):
            for k in range(2):
                p[i, k] += 0.1 * v[i, k]
    return (p * p).sum() + (v * v).sum()


def bouncing(h, v):
    y, s, energy = h[0], v[0], 0.0
    for _ in range(30):
        s -= 0.1
        y += 0.1 * s
        if y < 0:
            y = -0.8 * y
            s = -0.8 * s
        energy += y * y
    return energy


def oscillator(x):
    q, p = x[0], x[1]
    for _ in range(20):
        p -= 0.1 * np.sin(q)
        q += 0.1 * p
    return q * p


def chain(q):
    q = q.copy()
    p = np.zeros(q.shape[0])
    for _ in range(3):
        for i in range(1, q.shape[0] - 1):
            f = q[i + 1] - 2 * q[i] + q[i - 1]
            p[i] += 0.1 * (f + f**3)
        for i in range(1, q.shape[0] - 1):
            q[i] += 0.1 * p[i]
    return (q**4).sum()


# ---- scatters and gathers --------------------------------------------------------------------------------


def scatter_add(i, w):
    h = np.zeros(5)
    for k in range(i.shape[0]):
        h[i[k]] += w[k] * np.sin(h[i[k] - 1]) + w[k]
    return (h * h).sum()


def histogram(x):
    h = np.zeros(6)
    for k in range(x.shape[0]):
        b = int(x[k])
        h[b] += (x[k] - b) ** 2
    return (h * h).sum()


def bilinear(image, at):
    s = 0.0
    for k in range(at.shape[0]):
        i, j = int(np.floor(at[k, 0])), int(np.floor(at[k, 1]))
        a, b = at[k, 0] - i, at[k, 1] - j
        value = (1 - a) * ((1 - b) * image[i, j] + b * image[i, j + 1])
        value += a * ((1 - b) * image[i + 1, j] + b * image[i + 1, j + 1])
        s += value * value
    return s


def partial_sort(x):
    """Bubble sort: swaps that the data decide."""
    x = x.copy()
    for i in range(x.shape[0]):
        for j in range(x.shape[0] - 1 - i):
            if x[j] > x[j + 1]:
                x[j], x[j + 1] = x[j + 1], x[j]
    s = 0.0
    for i in range(x.shape[0]):
        s += x[i] * x[i] * (i + 1)
    return s


def clipped(x):
    y = x.copy()
    for i in range(1, y.shape[0]):
        if y[i] > 1.0:
            y[i] = 1.0
        elif y[i] < -1.0:
            y[i] = y[i - 1] * y[i]
        else:
            y[i] *= y[i - 1]
    return (y * y).sum()


def mesh(x, edge):
    f = np.zeros(x.shape[0])
    x = x.copy()
    for _ in range(2):
        for e in range(edge.shape[0]):
            a, b = edge[e, 0], edge[e, 1]
            d = x[b] - x[a]
            t = d * d * d
            f[a] += t
            f[b] -= t
        for i in range(x.shape[0]):
            x[i] += 0.1 * f[i]
            f[i] = 0.5 * f[i]
    return (x * x).sum()


# ---- slices, temporaries, nested functions ---------------------------------------------------------------


def softmax_in_place(x):
    y = x.copy()
    for _ in range(3):
        for i in range(y.shape[0]):
            m = y[i].max()
            y[i] = np.exp(y[i] - m) * m
    return (y * y).sum()


def local_arrays(x):
    y = x[0].copy()
    for t in range(x.shape[0]):
        k = np.zeros(y.shape[0])
        for i in range(y.shape[0]):
            for j in range(i + 1):
                k[i] += y[j] * x[t, i]
            k[i] = np.tanh(k[i])
        for i in range(y.shape[0]):
            y[i] = y[i] + 0.5 * k[i] * k[i]
    return (y * y).sum()


def damped_rows(x):
    y = x.copy()
    n = 0
    while (y * y).sum() > 0.5 and n < 20:
        for i in range(y.shape[0]):
            for j in range(y.shape[1]):
                y[i, j] = y[i, j] * 0.8 * np.cos(y[i, j - 1])
        n += 1
    return y.sum()


def loops_inside_of_loops(x):
    s, k = 1.0, 0
    while k < 4:
        j = 0
        while j < k + int(x[0, 0] > 0):
            m = 0
            while m < 2:
                s = np.sin(s * x[k % 3, j % 4]) + 0.2 * s * s
                m += 1
            j += 1
        k += 1
    return s


def conditional_expressions(x):
    y = x[0].copy()
    for _ in range(3):
        for i in range(1, y.shape[0]):
            y[i] = y[i] * y[i - 1] if y[i] > 0 and y[i - 1] < 0.5 else np.exp(-y[i]) * 0.3
    return y.sum()


def largest_of_each_row(x):
    y = x.copy()
    for _ in range(2):
        for i in range(y.shape[0]):
            k = np.argmax(y[i])
            y[i, k] = y[i, k] * y[i, 0]
            y[i] = np.sin(y[i])
    return y.sum()


def whole_slices(x):
    y = x.copy()
    for _ in range(3):
        y[1:-1] = y[1:-1] * y[:-2] + 0.1 * np.sin(y[2:])
        y[0] *= 0.5 * y[1]
    return (y * y).sum()


def pivoting(x):
    y = x.copy()
    n, m = y.shape
    for k in range(n):
        p = k
        for i in range(k + 1, n):
            if abs(y[i, k]) > abs(y[p, k]):
                p = i
        for j in range(m):
            y[k, j], y[p, j] = y[p, j], y[k, j]
        for i in range(k + 1, n):
            f = y[i, k] / y[k, k]
            for j in range(k, m):
                y[i, j] -= f * y[k, j]
    return (y[:, n:] ** 2).sum()


def nested_function(x):
    def joined(a, b):
        return np.tanh(a * b)

    s = 0.3
    for i in range(x.shape[0]):
        for j in range(x.shape[1]):
            s = joined(s + x[i, j], x[i, j - 1]) + s
    return s


def early_return(x):
    s = 1.0
    for i in range(x.shape[0]):
        s = s * x[i] + np.cos(s)
        if s > 1.2:
            return s * s
    return s


SHORT, LONG = 5, 7
EDGES = np.array([[0, 1], [1, 2], [2, 0], [3, 1], [-1, 0]])
FIRST, COLUMN = np.array([0, 2, 2, 5, 6]), np.array([0, 3, 1, 1, 2, 0])

PROGRAMS = {
    heat_in_place: [(normal(LONG),), (normal(SHORT)[::-1],), (normal(2),)],
    burgers: [(normal(LONG),), (normal(1),)],
    seidel_nonlinear: [
        (normal(4, 5), normal(4, 5)),
        (normal(5, 4).T, normal(4, 5)),
        (normal(2, 3), normal(2, 3)),
    ],
    cube: [(normal(4, 3, 4),), (normal(3, 4, 3),)],
    jacobi_with_two_arrays: [(normal(4, 5),), (normal(3, 3),)],
    wave: [(normal(LONG), normal(LONG)), (normal(SHORT), normal(SHORT))],
    reaction: [(normal(LONG), normal(LONG)), (normal(SHORT)[::-1], normal(SHORT))],
    fdtd: [(normal(SHORT), normal(SHORT)), (normal(LONG), normal(LONG))],
    red_and_black: [(normal(5, 6),), (normal(4, 4),)],
    downwards_sweep: [(normal(LONG),), (normal(1),)],
    forward_substitution: [(normal(4, 4), normal(4)), (normal(2, 2), normal(2))],
    backward_substitution: [(normal(4, 4), normal(4)), (normal(5, 5).T, normal(5))],
    lu: [(normal(4, 4) + 4 * np.eye(4),), (normal(3, 3) + 4 * np.eye(3),), (normal(1, 1),)],
    lu_with_a_row: [(normal(4, 4) + 4 * np.eye(4),), (normal(3, 3) + 4 * np.eye(3),)],
    cholesky: [(normal(4, 4),), (normal(2, 2),)],
    gauss_jordan: [(normal(3, 3),), (normal(4, 4),)],
    gram_schmidt: [(normal(4, 3),), (normal(3, 2),)],
    thomas: [(normal(LONG), normal(LONG)), (normal(2), normal(2))],
    power_iteration: [(normal(3, 3),), (normal(4, 4),)],
    horner: [(normal(4), normal(3)), (normal(1), normal(2))],
    carried_number: [(normal(LONG),), (normal(0),)],
    logistic: [(normal(LONG),), (normal(1),)],
    product: [(normal(LONG),), (np.array([1.0, 0.0, 2.0]),), (np.array([0.0, 0.0]),), (normal(0),)],
    products_of_columns: [(normal(3, 4),), (np.array([[0.0, 1.0], [2.0, 0.0]]),)],
    running_product: [(normal(LONG),), (normal(1),)],
    gru: [(normal(4), normal(3, 3)), (normal(2), normal(2, 2))],
    deriche: [(normal(3, 5),), (normal(5, 3).T,)],
    kalman: [(normal(LONG),), (normal(2),)],
    normalised: [(normal(LONG),), (normal(1),)],
    soft_dtw: [(normal(4), normal(3)), (normal(2), normal(5))],
    dtw_of_one_row: [(normal(4), normal(3)), (normal(2), normal(5))],
    edit_costs: [(normal(4), normal(3), np.array([0.7])), (normal(2), normal(4), np.array([0.4]))],
    floyd_warshall: [(spread(4, 4),), (spread(3, 3).T,)],
    viterbi: [(normal(4, 3), normal(3, 3)), (normal(2, 2), normal(2, 2))],
    forward_algorithm: [(normal(4, 3), normal(3, 3)), (normal(2, 2), normal(2, 2))],
    knapsack: [(normal(LONG),), (normal(3),)],
    largest_sum: [(normal(LONG),), (normal(1),)],
    relaxed: [(normal(LONG), 1e-3), (normal(SHORT), 0.1), (normal(SHORT), 100.0)],
    newton_of_each: [(spread(5),), (spread(2),)],
    kepler: [(spread(4), np.array([0.1, 0.3, 0.5, 0.7])), (spread(2), np.array([0.2, 0.4]))],
    until: [(spread(LONG), 2.0), (spread(SHORT), 0.01), (spread(SHORT), 1e9)],
    counted_down: [(normal(LONG),), (normal(0),)],
    walks: [(normal(LONG), np.array([0.5, 3.5, 7.5, 2.5])), (normal(SHORT), np.array([1.5]))],
    rows_of_a_sparse_matrix: [
        (FIRST, COLUMN, normal(6), normal(4)),
        (FIRST[:3], COLUMN[:2], normal(2), normal(4)),
    ],
    adaptive_quadrature: [(np.array([2.0, 0.3]),), (np.array([-1.0, 0.1]),)],
    conjugate_gradients: [(normal(3, 3), normal(3)), (normal(4, 4), normal(4))],
    double_pendulum: [(np.array([1.0, -0.5, 0.3, 0.1]),)],
    bodies: [(normal(3, 2), normal(3, 2)), (normal(2, 2), normal(2, 2))],
    bouncing: [(np.array([1.0]), np.array([0.3]))],
    oscillator: [(np.array([0.5, 0.2]),)],
    chain: [(normal(LONG),), (normal(3),)],
    scatter_add: [(np.array([0, 3, 3, 1, -1]), normal(5)), (np.array([2]), normal(1))],
    histogram: [(spread(LONG),), (spread(3),)],
    bilinear: [
        (normal(4, 5), np.array([[0.3, 1.7], [2.2, 3.1], [1.5, 0.5]])),
        (normal(3, 3), np.array([[0.3, 0.7]])),
    ],
    partial_sort: [(spread(6),), (spread(2),)],
    clipped: [(1.5 * normal(LONG),), (normal(1),)],
    mesh: [(normal(4), EDGES), (normal(5), EDGES[:2])],
    softmax_in_place: [(normal(3, 5),), (normal(2, 4)[::-1],)],
    local_arrays: [(normal(3, 5),), (normal(2, 1),)],
    damped_rows: [(normal(3, 5),), (0.01 * normal(2, 4),)],
    loops_inside_of_loops: [(abs(normal(3, 5)),), (-abs(normal(3, 4)),)],
    conditional_expressions: [(normal(3, 5),), (normal(1, 4),)],
    largest_of_each_row: [(normal(3, 5),), (normal(2, 4),)],
    whole_slices: [(normal(5, 3),), (normal(4, 2),)],
    pivoting: [(normal(3, 5),), (normal(2, 5),)],
    nested_function: [(normal(3, 5),), (normal(2, 2),)],
    early_return: [(normal(LONG),), (np.full(4, 0.1),)],
}

"""Finance: options, yields, portfolios, order books, indicators."""

import math

import numpy as np
from nestor import random
from whole.program import SIZED, Program

RATES = {"short": 0.02, "spread": 0.01}
COSTS = 0.001
COVARIANCE = np.eye(2)


def binomial_option(S, K, T, sigma, steps, kind):
    r = RATES["short"]
    dt = T / steps
    u = math.exp(sigma * math.sqrt(dt))
    d = 1 / u
    p = (math.exp(r * dt) - d) / (u - d)
    prices = S * u ** np.arange(steps, -steps - 1, -2.0)
    values = np.maximum(prices - K, 0) if kind == "call" else np.maximum(K - prices, 0)
    for n in range(steps, 0, -1):
        prices = prices[:-1] * d
        values = np.exp(-r * dt) * (p * values[:-1] + (1 - p) * values[1:])
        if kind == "american put":
            values = np.maximum(values, K - prices)
    return values[0]


def asian_option(key, S, K, sigma, paths, steps):
    z = random.normal(key, (paths, steps), np.float64)
    dt = 1.0 / steps
    drift = (RATES["short"] - 0.5 * sigma**2) * dt
    logs = np.cumsum(drift + sigma * np.sqrt(dt) * z, axis=1)
    average = (S * np.exp(logs)).mean(axis=1)
    payoff = np.exp(-RATES["short"]) * np.maximum(average - K, 0)
    return payoff.mean(), payoff.std(ddof=1) / np.sqrt(paths)


def implied_volatility(prices, S, strikes, T):
    out = np.full(len(prices), np.nan)
    for i in range(len(prices)):
        lo, hi = 1e-6, 5.0
        for _ in range(60):
            mid = 0.5 * (lo + hi)
            d1 = (math.log(S / strikes[i]) + 0.5 * mid**2 * T) / (mid * math.sqrt(T))
            d2 = d1 - mid * math.sqrt(T)
            value = S * 0.5 * (1 + math.erf(d1 / math.sqrt(2))) - strikes[i] * 0.5 * (
                1 + math.erf(d2 / math.sqrt(2))
            )
            if value > prices[i]:
                hi = mid
            else:
                lo = mid
        if abs(value - prices[i]) < 1e-4 * S:
            out[i] = mid
    return out


def bootstrap_curve(maturities, coupons):
    discount = np.zeros(len(maturities))
    for i in range(len(maturities)):
        c = coupons[i]
        annuity = 0.0
        for j in range(i):
            annuity += discount[j] * (maturities[j] - (maturities[j - 1] if j > 0 else 0.0))
        step = maturities[i] - (maturities[i - 1] if i > 0 else 0.0)
        discount[i] = (1 - c * annuity) / (1 + c * step)
    zero = -np.log(discount) / maturities
    forward = np.empty_like(zero)
    forward[0] = zero[0]
    forward[1:] = -np.diff(np.log(discount)) / np.diff(maturities)
    return discount, zero + RATES["spread"], forward


def internal_rate(flows, guess=0.1):
    rate = guess
    for n in range(50):
        t = np.arange(len(flows))
        factors = (1 + rate) ** -t
        value = flows @ factors
        slope = -(t * flows) @ factors / (1 + rate)
        step = value / slope
        rate -= step
        if abs(step) < 1e-12:
            break
    else:
        raise ArithmeticError("no convergence")
    return rate, n


def crossover_strategy(prices, fast, slow):
    n = len(prices)
    cash, shares = 1000.0, 0
    trades = []
    for t in range(slow, n):
        a = prices[t - fast : t].mean()
        b = prices[t - slow : t].mean()
        if a > b and shares == 0:
            shares = int(cash // (prices[t] * (1 + COSTS)))
            cash -= shares * prices[t] * (1 + COSTS)
            if shares:
                trades.append((t, 1))
        elif a < b and shares > 0:
            cash += shares * prices[t] * (1 - COSTS)
            shares = 0
            trades.append((t, -1))
    return cash + shares * prices[-1], len(trades), np.array(trades).sum()


def minimum_variance(cap, rounds):
    n = len(COVARIANCE)
    w = np.full(n, 1 / n)
    for _ in range(rounds):
        gradient = 2 * COVARIANCE @ w
        w = w - 0.05 * gradient
        lo, hi = w.min() - 1, w.max()
        for _ in range(50):
            mid = (lo + hi) / 2
            if np.clip(w - mid, 0, cap).sum() > 1:
                lo = mid
            else:
                hi = mid
        w = np.clip(w - hi, 0, cap)
    return w, w @ COVARIANCE @ w


def match_orders(prices, sizes):
    bids = []
    fills = []
    for p, q in zip(prices, sizes):
        if q > 0:
            bids.append([p, q])
            bids.sort(key=lambda order: -order[0])
            continue
        left = -q
        while left > 0 and bids and bids[0][0] >= p:
            best = bids[0]
            done = min(left, best[1])
            fills.append(best[0] * done)
            left -= done
            best[1] -= done
            if best[1] == 0:
                bids.pop(0)
    return sum(fills), len(bids)


def drawdowns(equity):
    peak = np.maximum.accumulate(equity)
    depth = 1 - equity / peak
    worst = depth.argmax()
    start = equity[: worst + 1].argmax()
    after = np.flatnonzero(equity[worst:] >= peak[worst])
    end = worst + after[0] if after.size > 0 else -1
    return depth.max(), start, worst, end, equity[start : worst + 1].copy()


def garch_likelihood(returns, omega, alpha, beta):
    variance = np.empty_like(returns)
    variance[0] = returns.var()
    for t in range(1, len(returns)):
        variance[t] = omega + alpha * returns[t - 1] ** 2 + beta * variance[t - 1]
    return -0.5 * np.sum(np.log(2 * np.pi * variance) + returns**2 / variance), variance[-1]


def _outside(k):
    global COSTS, COVARIANCE
    RATES["short"], RATES["spread"] = (0.02, 0.05, 0.0)[k], (0.01, 0.0, 0.003)[k]
    COSTS = (0.001, 0.0, 0.01)[k]
    m = np.random.default_rng(k).standard_normal(((5, 3), (8, 5), (4, 2))[k])
    COVARIANCE = m.T @ m / len(m)


def _walk(r, n):
    return 10 * np.exp(np.cumsum(0.05 * r.standard_normal(n)))


PROGRAMS = [
    Program(
        binomial_option,
        lambda r, k: (
            100.0,
            (95.0, 105.0, 100.0)[k],
            1.0,
            0.2,
            (8, 12, 5)[k],
            ("call", "american put", "put")[k],
        ),
        outside=_outside,
        tolerance=1e-11,
        long=True,
    ),
    Program(
        asian_option,
        lambda r, k: (np.uint64((1, 8, 3)[k]), 100.0, 99.0, 0.2, (16, 9, 30)[k], (6, 4, 3)[k]),
        outside=_outside,
        tolerance=1e-10,
        quick=True,
    ),
    Program(
        implied_volatility,
        lambda r, k: (r.random((4, 7, 1)[k]) * 20 + 5, 100.0, np.linspace(90, 110, (4, 7, 1)[k]), 0.5),
        tolerance=1e-8,
    ),
    Program(
        bootstrap_curve,
        lambda r, k: (np.arange(1.0, (6, 9, 3)[k]), r.random((5, 8, 2)[k]) / 20),
        outside=_outside,
        tolerance=1e-11,
    ),
    Program(internal_rate, lambda r, k: (np.concatenate([[-100.0], r.random((5, 9, 3)[k]) * 60]),), 1e-9),
    Program(
        crossover_strategy,
        lambda r, k: (_walk(r, (30, 41, 12)[k]), (3, 4, 2)[k], (7, 9, 5)[k]),
        outside=_outside,
        host=SIZED,
        long=True,
    ),
    Program(minimum_variance, lambda r, k: ((0.6, 0.4, 0.9)[k], (10, 5, 3)[k]), 1e-9, outside=_outside),
    Program(
        match_orders,
        lambda r, k: (r.integers(8, 13, (12, 20, 3)[k]), r.integers(-5, 6, (12, 20, 3)[k])),
        refused="of a list that a loop makes is not supported",
    ),
    Program(
        drawdowns,
        lambda r, k: (_walk(r, (20, 33, 6)[k]),),
        joins=True,
        host=SIZED,
        long=True,
    ),
    Program(garch_likelihood, lambda r, k: (r.standard_normal((20, 33, 6)[k]), 0.1, 0.2, 0.6), 1e-11),
]

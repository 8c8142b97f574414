"""Numerical programs on tables and sequences: dynamic programming, filters, searching, iteration (see numerical.py)."""

from __future__ import annotations

import numpy as np


def longest_common(a, b, table):
    for i in range(len(a)):
        for j in range(len(b)):
            if a[i] == b[j]:
                table[i + 1, j + 1] = table[i, j] + 1
            else:
                table[i + 1, j + 1] = max(table[i, j + 1], table[i + 1, j])
    return table[len(a), len(b)]


def knapsack(weights, values, best):
    for i in range(len(weights)):
        for w in range(len(best) - 1, weights[i] - 1, -1):
            candidate = best[w - weights[i]] + values[i]
            if candidate > best[w]:
                best[w] = candidate


def edit_distance(a, b, row):
    for j in range(len(b) + 1):
        row[j] = j
    for i in range(len(a)):
        diagonal = row[0]
        row[0] = i + 1
        for j in range(len(b)):
            above = row[j + 1]
            cost = diagonal if a[i] == b[j] else diagonal + 1
            row[j + 1] = min(cost, above + 1, row[j] + 1)
            diagonal = above
    return row[len(b)]


def viterbi(start, move, emit, seen, score, back):
    states = len(start)
    for s in range(states):
        score[0, s] = start[s] + emit[s, seen[0]]
    for t in range(1, len(seen)):
        for s in range(states):
            best = score[t - 1, 0] + move[0, s]
            which = 0
            for p in range(1, states):
                candidate = score[t - 1, p] + move[p, s]
                if candidate > best:
                    best = candidate
                    which = p
            score[t, s] = best + emit[s, seen[t]]
            back[t, s] = which


def horner(x, coefficients, out):
    for i in range(len(x)):
        y = x[i] * 0
        for k in range(len(coefficients)):
            y = y * x[i] + coefficients[k]
        out[i] = y


def histogram(x, bins, low, high):
    n = len(bins)
    for i in range(len(x)):
        k = int((x[i] - low) / (high - low) * n)
        if 0 <= k < n:
            bins[k] += 1


def recursive_filter(x, y, a, b):
    y[0] = b * x[0]
    for i in range(1, len(x)):
        y[i] = b * x[i] + a * y[i - 1]


def filter_both_ways(x, y, a):
    state = x[0]
    for i in range(len(x)):
        state = a * state + (1 - a) * x[i]
        y[i] = state
    for i in range(len(x) - 1, -1, -1):
        state = a * state + (1 - a) * y[i]
        y[i] = state


def prefix_sum(x):
    for i in range(1, len(x)):
        x[i] += x[i - 1]


def moving_average(x, out, width):
    s = x[0] * 0
    for i in range(len(x)):
        s += x[i]
        if i >= width:
            s -= x[i - width]
        if i >= width - 1:
            out[i - width + 1] = s / width


def rolling_maximum(x, out, width):
    for i in range(len(out)):
        best = x[i]
        for k in range(1, width):
            if x[i + k] > best:
                best = x[i + k]
        out[i] = best


def convolve(x, kernel, out):
    for i in range(len(out)):
        s = x[i] * 0
        for k in range(len(kernel)):
            s += x[i + k] * kernel[k]
        out[i] = s


def convolve_2d(x, kernel, out):
    for i in range(out.shape[0]):
        for j in range(out.shape[1]):
            s = x[i, j] * 0
            for p in range(kernel.shape[0]):
                for q in range(kernel.shape[1]):
                    s += x[i + p, j + q] * kernel[p, q]
            out[i, j] = s


def max_pool(x, out):
    for i in range(out.shape[0]):
        for j in range(out.shape[1]):
            best = x[2 * i, 2 * j]
            for p in range(2):
                for q in range(2):
                    best = max(best, x[2 * i + p, 2 * j + q])
            out[i, j] = best


def logistic(x, steps, r):
    for i in range(len(x)):
        y = x[i]
        for _ in range(steps):
            y = r * y * (1 - y)
        x[i] = y


def mandelbrot(out, limit):
    for i in range(out.shape[0]):
        for j in range(out.shape[1]):
            cr = 3.0 * j / out.shape[1] - 2.0
            ci = 2.0 * i / out.shape[0] - 1.0
            zr = 0.0
            zi = 0.0
            count = 0
            while zr * zr + zi * zi <= 4 and count < limit:
                t = zr * zr - zi * zi + cr
                zi = 2 * zr * zi + ci
                zr = t
                count += 1
            out[i, j] = count


def mandelbrot_masks(cr, ci, limit):
    zr = np.zeros_like(cr)
    zi = np.zeros_like(ci)
    count = np.zeros(cr.shape, dtype=np.int64)
    for _ in range(limit):
        inside = zr * zr + zi * zi <= 4
        new = zr * zr - zi * zi + cr
        zi = np.where(inside, 2 * zr * zi + ci, zi)
        zr = np.where(inside, new, zr)
        count = count + inside
    return count


def sieve(prime):
    n = len(prime)
    prime[0] = False
    prime[1] = False
    k = 2
    while k * k < n:
        if prime[k]:
            for j in range(k * k, n, k):
                prime[j] = False
        k += 1


def insertion_sort(a):
    for i in range(1, len(a)):
        key = a[i]
        j = i - 1
        while j >= 0 and a[j] > key:
            a[j + 1] = a[j]
            j -= 1
        a[j + 1] = key


def binary_search(a, queries, found):
    for q in range(len(queries)):
        low = 0
        high = len(a)
        while low < high:
            middle = (low + high) // 2
            if a[middle] < queries[q]:
                low = middle + 1
            else:
                high = middle
        found[q] = low


def greatest_divisors(a, b, out):
    for i in range(len(a)):
        x = a[i]
        y = b[i]
        while y != 0:
            r = x % y
            x = y
            y = r
        out[i] = x


def nearest_centre(x, centres, which):
    for i in range(x.shape[0]):
        best = np.inf
        for c in range(centres.shape[0]):
            s = 0.0
            for k in range(x.shape[1]):
                t = x[i, k] - centres[c, k]
                s += t * t
            if s < best:
                best = s
                which[i] = c


def bodies(position, velocity, mass, steps, dt):
    n = len(mass)
    for _ in range(steps):
        for i in range(n):
            fx = 0.0
            fy = 0.0
            for j in range(n):
                dx = position[j, 0] - position[i, 0]
                dy = position[j, 1] - position[i, 1]
                d2 = dx * dx + dy * dy + 0.01
                inverse = mass[j] / (d2 * np.sqrt(d2))
                fx += dx * inverse
                fy += dy * inverse
            velocity[i, 0] += dt * fx
            velocity[i, 1] += dt * fy
        for i in range(n):
            position[i, 0] += dt * velocity[i, 0]
            position[i, 1] += dt * velocity[i, 1]


def interpolate(image, xs, ys, out):
    for i in range(len(xs)):
        x0 = int(xs[i])
        y0 = int(ys[i])
        fx = xs[i] - x0
        fy = ys[i] - y0
        top = image[y0, x0] * (1 - fx) + image[y0, x0 + 1] * fx
        bottom = image[y0 + 1, x0] * (1 - fx) + image[y0 + 1, x0 + 1] * fx
        out[i] = top * (1 - fy) + bottom * fy

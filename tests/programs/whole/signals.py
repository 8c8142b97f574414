"""Signals: spectra, filters, modulation, peaks."""

import numpy as np
from whole.program import NUMPY, SIZED, Program

NEEDS_FFT = "np.fft calls NumPy's transforms"
TAPS = np.ones(3) / 3
RATE = 8.0


def power_spectrum(x):
    n = len(x)
    window = np.hanning(n)
    X = np.fft.rfft(x * window)
    power = (X * X.conj()).real / (RATE * (window**2).sum())
    power[1:-1] *= 2
    return np.fft.rfftfreq(n, 1 / RATE), power


def radix_two_fft(x):
    n = len(x)
    X = x.astype(complex)
    j = 0
    for i in range(1, n):
        bit = n >> 1
        while j & bit:
            j ^= bit
            bit >>= 1
        j |= bit
        if i < j:
            X[i], X[j] = X[j], X[i]
    size = 2
    while size <= n:
        w = np.exp(-2j * np.pi * np.arange(size // 2) / size)
        for start in range(0, n, size):
            half = start + size // 2
            even = X[start:half].copy()
            odd = X[half : start + size] * w
            X[start:half] = even + odd
            X[half : start + size] = even - odd
        size *= 2
    return X


def fft_convolution(a, b):
    n = len(a) + len(b) - 1
    size = 1
    while size < n:
        size *= 2
    A = np.zeros(size, dtype=complex)
    B = np.zeros(size, dtype=complex)
    A[: len(a)] = a
    B[: len(b)] = b
    return np.fft.ifft(np.fft.fft(A) * np.fft.fft(B)).real[:n]


def goertzel(x, frequencies):
    out = np.zeros(len(frequencies), dtype=np.complex128)
    n = len(x)
    for k, f in enumerate(frequencies):
        w = 2 * np.pi * f / n
        c = 2 * np.cos(w)
        s1 = s2 = 0.0
        for v in x:
            s1, s2 = v + c * s1 - s2, s1
        out[k] = s1 * np.exp(1j * w) - s2
    return out


def find_peaks(x, height):
    peaks = []
    i = 1
    while i < len(x) - 1:
        if x[i] > x[i - 1]:
            ahead = i + 1
            while ahead < len(x) - 1 and x[ahead] == x[i]:
                ahead += 1
            if x[ahead] < x[i]:
                if x[i] >= height:
                    peaks.append((i + ahead - 1) // 2)
                i = ahead
        i += 1
    return np.array(peaks, dtype=np.int64)


def fir_filter(x):
    y = np.zeros_like(x)
    taps = TAPS
    for n in range(len(x)):
        m = min(n + 1, len(taps))
        y[n] = taps[:m] @ x[n - m + 1 : n + 1][::-1]
    return y


def biquad_cascade(x, sections):
    y = x.astype(float)
    for b0, b1, b2, a1, a2 in sections:
        z1 = z2 = 0.0
        for n in range(len(y)):
            v = y[n]
            out = b0 * v + z1
            z1 = b1 * v - a1 * out + z2
            z2 = b2 * v - a2 * out
            y[n] = out
    return y


def analytic_envelope(x):
    n = x.shape[-1]
    X = np.fft.fft(x)
    h = np.zeros(n)
    if n % 2 == 0:
        h[0] = h[n // 2] = 1
        h[1 : n // 2] = 2
    else:
        h[0] = 1
        h[1 : (n + 1) // 2] = 2
    z = np.fft.ifft(X * h)
    phase = np.unwrap(np.angle(z))
    return np.abs(z), np.diff(phase) * RATE / (2 * np.pi)


def demodulate(x, carrier):
    t = np.arange(len(x)) / RATE
    mixed = x * np.exp(-2j * np.pi * carrier * t)
    width = 4
    smooth = np.empty(len(x) - width + 1, dtype=mixed.dtype)
    total = mixed[:width].sum()
    smooth[0] = total
    for i in range(1, len(smooth)):
        total += mixed[i + width - 1] - mixed[i - 1]
        smooth[i] = total
    smooth /= width
    return smooth.real, smooth.imag, np.abs(smooth)


def short_time_energy(x, frame, hop):
    starts = range(0, len(x) - frame + 1, hop)
    frames = np.array([x[s : s + frame] for s in starts])
    energy = (frames**2).mean(axis=1)
    loud = energy > energy.mean()
    return frames[loud], energy


def resample_linear(x, factor):
    n = int(len(x) * factor)
    out = np.empty(n, dtype=x.dtype)
    for i in range(n):
        t = i / factor
        k = int(t)
        if k + 1 >= len(x):
            out[i] = x[-1]
        else:
            out[i] = x[k] + (x[k + 1] - x[k]) * (t - k)
    return out


def zero_crossings_and_runs(x):
    sign = np.sign(x)
    sign[sign == 0] = 1
    at = np.flatnonzero(np.diff(sign)) + 1
    bounds = np.concatenate([np.array([0]), at, np.array([len(x)])])
    return at, np.diff(bounds), np.add.reduceat(x, bounds[:-1]) if False else bounds[-1]


def _outside(k):
    global TAPS, RATE
    TAPS = (np.ones(3) / 3, np.array([0.5, -0.25, 0.125, 1.0]), np.array([2.0]))[k]
    RATE = (8.0, 100.0, 44.1)[k]


def _sine(r, n):
    return np.sin(np.arange(n) * 0.7) + 0.1 * r.standard_normal(n)


PROGRAMS = [
    Program(
        power_spectrum,
        lambda r, k: (_sine(r, (16, 21, 8)[k]),),
        1e-10,
        outside=_outside,
        python=NEEDS_FFT,
        host=NUMPY,
        long=True,
    ),
    Program(radix_two_fft, lambda r, k: (r.standard_normal((8, 16, 2)[k]),), 1e-10, long=True),
    Program(
        fft_convolution,
        lambda r, k: (r.standard_normal((5, 9, 1)[k]), r.standard_normal((4, 3, 7)[k])),
        1e-10,
        python=NEEDS_FFT,
        host=NUMPY,
    ),
    Program(goertzel, lambda r, k: (_sine(r, (16, 21, 8)[k]), np.arange((4, 7, 1)[k])), 1e-9),
    Program(
        find_peaks,
        lambda r, k: (r.integers(0, 5, (20, 33, 9)[k]).astype(float), (2.0, 0.0, 9.0)[k]),
        host=SIZED,
    ),
    Program(fir_filter, lambda r, k: (_sine(r, (16, 21, 5)[k]),), outside=_outside),
    Program(
        biquad_cascade, lambda r, k: (_sine(r, (16, 21, 5)[k]), r.random(((2, 5), (3, 5), (1, 5))[k]) / 4)
    ),
    Program(
        analytic_envelope,
        lambda r, k: (_sine(r, (16, 21, 8)[k]),),
        1e-9,
        outside=_outside,
        python=NEEDS_FFT,
        host=NUMPY,
    ),
    Program(
        demodulate, lambda r, k: (_sine(r, (16, 21, 5)[k]), (1.5, 0.25, 2.0)[k]), 1e-10, outside=_outside
    ),
    Program(
        short_time_energy,
        lambda r, k: (_sine(r, (16, 21, 9)[k]), (4, 5, 3)[k], (2, 4, 1)[k]),
        host=SIZED,
    ),
    Program(resample_linear, lambda r, k: (_sine(r, (9, 12, 4)[k]), (1.5, 0.7, 3.0)[k])),
    Program(
        zero_crossings_and_runs,
        lambda r, k: (np.round(_sine(r, (16, 21, 8)[k]), 1),),
        host=SIZED,
    ),
]

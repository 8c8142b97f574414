"""np.fft: transforms along one axis and several, of all lengths, against NumPy; frequencies and shifts."""

import linecache
import re

import nestor as nt
import numpy as np
import pytest
from agreement import agrees

pytestmark = pytest.mark.filterwarnings("ignore")

ROWS = [
    "np.fft.fft(x)", "np.fft.ifft(x)", "np.fft.fft(r)", "np.fft.rfft(r)", "np.fft.irfft(x)", "np.fft.fft(m)",
    "np.fft.fft(m, axis=0)", "np.fft.fft(x, 16)", "np.fft.fft(x, n=4)", "np.fft.fft(x, norm='ortho')",
    "np.fft.ifft(x, norm='forward')", "np.fft.rfft(r, n=7)", "np.fft.irfft(x, n=9)", "np.fft.irfft(x, 8)", "np.fft.fft2(m)",
    "np.fft.ifft2(m)", "np.fft.fftn(m)", "np.fft.ifftn(m)", "np.fft.fftn(m, s=(5, 6), axes=(0, 1))",
    "np.fft.fftn(m, axes=(0,))", "np.fft.rfft2(m.real)", "np.fft.rfftn(m.real)", "np.fft.irfft2(m)", "np.fft.irfftn(m)",
    "np.fft.irfftn(m, s=(3, 7), axes=(0, 1))", "np.fft.hfft(x)", "np.fft.ihfft(r)", "np.fft.fft(m, n=3, axis=0)",
    "np.fft.fft(m.T)", "np.fft.fft(x[::-2])", "np.fft.fft(x[:1])", "np.fft.fft(r > 0)", "np.fft.fft(x)[1:3].real * 2",
    "abs(np.fft.rfft(r)) ** 2", "np.fft.ifft(np.fft.fft(x) * np.fft.fft(x)).real + 1", "np.fft.fft([1, 2, 3j]) + x[0]",
    "np.fft.fftfreq(9) + r", "np.fft.fftfreq(8, 0.5) + r[0]", "np.fft.rfftfreq(9) + r[0]", "np.fft.fftfreq(len(x)) * r",
    "np.fft.fftshift(x)", "np.fft.ifftshift(x)", "np.fft.fftshift(m)", "np.fft.fftshift(m, axes=0)",
    "np.fft.ifftshift(m, axes=(0,))", "np.fft.fftshift(np.fft.fftfreq(9)) + r",
]  # fmt: skip
REFUSED = [
    ("np.fft.fft(x, n=0)", "Invalid number of FFT data points"),
    ("np.fft.fft(x[:0])", "Invalid number of FFT data points"),
    ("np.fft.fft(x, axis=3)", "axis 3 is out of bounds"),
    ("np.fft.fft(x, norm='bad')", "Invalid norm value bad"),
    ("np.fft.fftn(m, s=(4, 4), axes=(0,))", "Shape and axes have different lengths"),
    ("np.fft.rfft(x)", ""),
]


def program(text):
    used = [n for n in "xrm" if re.search(rf"(?<![\w.']){n}(?!\w|')", text)]
    source = f"def f({', '.join(used)}):\n    return {text}\n"
    file = f"<test {text}>"
    linecache.cache[file] = (len(source), None, source.splitlines(keepends=True), file)
    space = {"np": np}
    exec(compile(source, file, "exec"), space)
    return space["f"], used


def arguments(dtype):
    rng = np.random.default_rng(3)
    x, m = [(rng.normal(size=s) + 1j * rng.normal(size=s)).astype(dtype) for s in ((9,), (3, 4))]
    return {"x": x, "r": x.real.copy(), "m": m}


@pytest.mark.parametrize(("dtype", "rows"), [("c16", ROWS), ("c8", ROWS[::5])], ids=["c16", "c8"])
def test_transforms(dtype, rows):
    given, wrong = arguments(dtype), []
    for text in rows:
        function, used = program(text)
        try:
            agrees(function, *[given[n] for n in used], tolerance=1e-12 if dtype == "c16" else 1e-5)
        except (nt.NestorError, AssertionError) as error:
            wrong.append(f"{text}: {error}")
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize(("text", "message"), REFUSED)
def test_what_numpy_refuses(text, message):
    function, used = program(text)
    given = arguments("c16")
    with pytest.raises(nt.NestorError, match=message):
        nt.jit(function)(*[given[n] for n in used])


def filtered(x, gain):
    spectrum = np.fft.rfft(x)
    spectrum[2:] *= gain
    return np.fft.irfft(spectrum, n=len(x)), np.fft.fft(x * 1j).imag


@pytest.mark.parametrize("target", ["cpu", "interp"])
def test_all_lengths_by_one_program(target):
    """Lengths with factors, primes, and powers of two."""

    def spectrum(x):
        return np.fft.fft(x * 2), np.fft.rfft(x.real)

    rng = np.random.default_rng(0)
    for n in (2, 8, 30, 13, 97, 128):
        x = rng.normal(size=n) + 1j * rng.normal(size=n)
        agrees(spectrum, x, dynamic=True, target=target, tolerance=1e-9)


@pytest.mark.parametrize("n", [4, 9, 31])
def test_in_a_program(n):
    x = np.random.default_rng(n).normal(size=n)
    got, want = nt.jit(filtered)(x, 0.5), filtered(x, 0.5)
    for one, other in zip(got, want, strict=True):
        np.testing.assert_allclose(one, other, atol=1e-12)


def spectrogram(x, n):
    out = np.zeros((4, n // 2 + 1))
    for k in range(4):
        out[k] = abs(np.fft.rfft(x[k * n : (k + 1) * n])) ** 2
    return out


def test_in_a_loop():
    agrees(spectrogram, np.random.default_rng(1).normal(size=32), 8, tolerance=1e-9)

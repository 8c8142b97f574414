"""Programs for a GPU on the disk: another process has host function, checks and machine code without compiling."""

import os
import subprocess
import sys
from pathlib import Path

import fake_cupy
import nestor as nt
import numpy as np
import pytest
from nestor.frontend.jit.specialise import stages
from nestor.runtime.cuda import engine, host_program
from nestor.runtime.disk_cache import COUNTS
from test_cuda_runtime import on_device, pick, plain, scaled

pytestmark = pytest.mark.one_of(4)

SHIFT = 1.0


def centred(x, scale=2.0, rounds=1):
    for _ in range(rounds):
        x = x - x.mean(axis=0)
    return x * scale, x.max()


def shifted(x):
    return x + SHIFT


def _tripled(x):
    return x * 3


TRIPLED = "__device__ double _tripled(double x) { return x * 3; }"
tripled = nt.custom_op(_tripled, cuda=TRIPLED)


def with_a_kernel(x):
    return tripled(x + 1).sum(axis=0)


def swapped(x):
    x[:] = x[::-1].copy() * 2


@pytest.fixture
def cupy(monkeypatch, tmp_path):
    monkeypatch.setenv("NESTOR_CACHE", "1")
    monkeypatch.setenv("NESTOR_CACHE_DIR", str(tmp_path))
    return fake_cupy.install(monkeypatch)


@pytest.fixture
def compiled(monkeypatch):
    """The pipelines that were run, and the architectures that machine code was made for."""
    found = []
    lower, make = stages.lowered_copy, engine.compile_for_device

    def lowered(module, pipeline, *args, **kwargs):
        found.append(pipeline[0])
        return lower(module, pipeline, *args, **kwargs)

    def made(text, capability, driver):
        found.append(capability)
        return make(text, capability, driver)

    monkeypatch.setattr(stages, "lowered_copy", lowered)
    monkeypatch.setattr(engine, "compile_for_device", made)
    return found


def again(compiled, function, **options):
    """The function as another process has it."""
    compiled.clear()
    return nt.jit(function, target="cuda", **options)


def agree(found, wanted):
    for one, other in zip(
        *[each if isinstance(each, tuple) else (each,) for each in (found, wanted)], strict=True
    ):
        np.testing.assert_allclose(plain(one), other, rtol=1e-12, atol=1e-12)
        assert plain(one).dtype == other.dtype and plain(one).shape == other.shape


CALLS = {
    "a float": (scaled, (np.arange(12.0), 3.0)),
    "several kernels": (centred, (np.random.default_rng(0).random((90, 70)),)),
    "rounds": (centred, (np.random.default_rng(0).random((90, 70)), 0.5, 3)),
    "a global": (shifted, (np.arange(12.0),)),
    "a kernel of the user": (with_a_kernel, (np.arange(12.0).reshape(3, 4),)),
    "nothing": (scaled, (np.zeros((0, 3)), 3.0)),
}


@pytest.mark.one_of(2)
@pytest.mark.parametrize("name", CALLS)
@pytest.mark.parametrize("dynamic", [None, True])
def test_another_function_like_it_compiles_nothing(cupy, compiled, name, dynamic):
    function, arguments = CALLS[name]
    first = nt.jit(function, target="cuda", dynamic=dynamic)
    wanted = function(*arguments)
    agree(first(*on_device(cupy, arguments)), wanted)
    assert compiled
    second = again(compiled, function, dynamic=dynamic)
    for _ in range(3):  # by the program, then by its plan
        agree(second(*on_device(cupy, arguments)), wanted)
    assert compiled == [] and second.cache_info()["compiled"] == 1
    assert "taken from the disk" in second.explain(*on_device(cupy, arguments))


def test_checks_and_writes(cupy, compiled):
    for _ in range(2):
        picks = again(compiled, pick)
        for a, places in ((np.zeros(5), np.array([1, 3])), (np.zeros(5), np.array([1, 7]))):
            ours = on_device(cupy, (a, places))
            if places.max() < 5:
                picks(*ours)
            else:
                with pytest.raises(
                    IndexError, match="index 7 is out of bounds for axis 0 with size 5"
                ) as caught:
                    picks(*ours)
                assert "test_cuda_runtime.py" in str(caught.value)
            assert ours[0].host.tolist() == [0, 1, 0, 1 * (places[1] == 3), 0]
    assert compiled == []
    for _ in range(2):
        turns = again(compiled, swapped)
        x = cupy.asarray(np.arange(6.0))
        turns(x)
        assert x.host.tolist() == [10, 8, 6, 4, 2, 0]
    assert compiled == []


def test_what_is_no_longer_so_is_compiled_again(cupy, compiled, monkeypatch):
    x = cupy.asarray(np.arange(5.0))
    agree(again(compiled, shifted)(x), np.arange(5.0) + 1)
    monkeypatch.setitem(globals(), "SHIFT", 3.0)
    agree(again(compiled, shifted)(x), np.arange(5.0) + 3)
    assert compiled
    agree(again(compiled, shifted)(x), np.arange(5.0) + 3)
    assert compiled == []
    agree(again(compiled, shifted, boundscheck=False)(x), np.arange(5.0) + 3)
    assert compiled
    agree(again(compiled, shifted)(cupy.asarray(np.arange(6.0))), np.arange(6.0) + 3)
    assert compiled  # other extents: a program of its own


def test_another_text_of_a_kernel_is_compiled(cupy, compiled, monkeypatch):
    x = np.arange(6.0).reshape(2, 3)
    given = [(TRIPLED, 256), (TRIPLED, 256), (TRIPLED, 64), (TRIPLED.replace("* 3", "* 3.0 + 0.0"), 64)]
    for (text, block), is_compiled in zip(given, [True, False, True, True], strict=True):
        monkeypatch.setitem(globals(), "tripled", nt.custom_op(_tripled, cuda=text, block=block))
        agree(again(compiled, with_a_kernel)(cupy.asarray(x)), with_a_kernel(x))
        assert bool(compiled) == is_compiled


def test_programs_of_the_cpu_and_of_a_gpu_are_apart(cupy, compiled):
    x = np.arange(5.0)
    agree(again(compiled, shifted)(cupy.asarray(x)), x + 1)
    on_cpu = nt.jit(shifted)
    np.testing.assert_array_equal(on_cpu(x), x + 1)
    assert "taken from the disk" not in on_cpu.explain(x)
    agree(again(compiled, shifted)(cupy.asarray(x)), x + 1)
    assert compiled == []


def test_another_architecture_has_machine_code_of_its_own(cupy, compiled):
    x = np.arange(5.0)
    agree(again(compiled, shifted)(cupy.asarray(x)), x + 1)
    cupy.capability = "80"
    agree(again(compiled, shifted)(cupy.asarray(x)), x + 1)
    assert compiled == [80]  # the text is there


def test_arrays_for_which_indices_have_64_bits(cupy, compiled, monkeypatch):
    x = np.arange(50.0)
    agree(again(compiled, scaled, dynamic=True)(cupy.asarray(x), 2.0), x * 2)
    kept = again(compiled, scaled, dynamic=True)
    agree(kept(cupy.asarray(x), 2.0), x * 2)
    assert compiled == []
    monkeypatch.setattr(host_program, "LARGEST_SMALL", 60)
    large = np.arange(80.0)
    agree(kept(cupy.asarray(large), 3.0), large * 3)
    assert "cuda" in compiled
    agree(kept(cupy.asarray(x), 2.0), x * 2)


TABLE = np.arange(5.0)


def looked_up(x):
    return x + TABLE


def test_arrays_from_outside_are_in_no_file(cupy, compiled, monkeypatch):
    x = cupy.asarray(np.ones(5))
    before = COUNTS.stored
    first = again(compiled, looked_up)
    agree(first(x), TABLE + 1)
    assert COUNTS.stored == before
    assert "not kept on the disk: it reads arrays from outside" in first.explain(x)
    monkeypatch.setitem(globals(), "TABLE", TABLE * 2)
    agree(again(compiled, looked_up)(x), TABLE + 1)


def test_a_file_that_is_damaged_is_passed_over(cupy, compiled, tmp_path):
    x = np.arange(5.0)
    agree(again(compiled, shifted)(cupy.asarray(x)), x + 1)
    for file in tmp_path.rglob("*.kernels"):
        data = bytearray(file.read_bytes())
        data[len(data) // 2] ^= 0xFF
        file.write_bytes(bytes(data))
    agree(again(compiled, shifted)(cupy.asarray(x)), x + 1)
    assert compiled


PROCESS = """
import sys
import pytest, numpy as np
sys.path[:0] = {folders!r}
import fake_cupy
cupy = fake_cupy.install(pytest.MonkeyPatch())
before = set(sys.modules)
import nestor as nt
from test_kept_plans import centred
f = nt.jit(centred, target="cuda")
x = np.random.default_rng(0).random((90, 70))
for _ in range(2):
    found = f(cupy.asarray(x))
assert np.allclose(found[0].host, centred(x)[0])
from nestor.runtime.disk_cache import COUNTS
print(COUNTS.hits, COUNTS.stored)
"""


def test_another_process(tmp_path):
    folders = [str(Path(__file__).parent), str(Path(fake_cupy.__file__).parent), *sys.path]
    environment = {**os.environ, "NESTOR_CACHE": "1", "NESTOR_CACHE_DIR": str(tmp_path)}
    said = [
        subprocess.run(
            [sys.executable, "-c", PROCESS.format(folders=folders)],
            env=environment,
            capture_output=True,
            text=True,
            check=True,
        ).stdout.split()
        for _ in range(2)
    ]
    assert said == [["0", "1"], ["1", "0"]]


WITHOUT_COMPILER = """
import sys
sys.modules["xdsl"] = None
import nestor.runtime.cuda.engine, nestor.runtime.cuda.launch_plan, nestor.frontend.jit.call.cuda_kernel
import nestor.frontend.jit.driver.cuda_call
"""


def test_nothing_of_the_compiler_is_needed_to_run():
    subprocess.run([sys.executable, "-c", WITHOUT_COMPILER], check=True)

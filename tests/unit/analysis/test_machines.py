"""Machines by name: what is scheduled and compiled for them here, what of it runs here, and what the disk keeps apart."""

import re

import nestor as nt
import numpy as np
import pytest
from nestor.analysis.machine import CPUS, GPUS, UnknownMachine, cpu, gpu, options_of
from nestor.frontend.interface.errors import DTypeError
from nestor.runtime.cpu import host as host_module
from nestor.runtime.cpu.host import host, why_not_run
from nestor.transforms.schedulers.cpu.schedule_cpu import NestScheduleCpuPass


def scaled(x):
    return x * np.float32(2) + np.float32(1)


def total(a, b):
    return a @ b


X = np.arange(1000, dtype=np.float32)

LACKS_AVX2 = why_not_run(CPUS["skylake"])
needs_avx2 = pytest.mark.skipif(LACKS_AVX2 is not None, reason=f"{LACKS_AVX2}")


@pytest.fixture
def no_name(monkeypatch):
    """The tests say themselves which machine they mean."""
    monkeypatch.delenv("NESTOR_MACHINE", raising=False)


def test_fields_take_the_place_of_those_of_the_table():
    assert cpu("skylake", threads=1, l2_kib=None) == CPUS["skylake"]._replace(threads=1)
    assert options_of(cpu("skylake", threads=1)) == {"machine": "skylake", "threads": 1}
    assert gpu("a100").limits.shared_of_block == 163 << 10


@pytest.mark.parametrize("wrong", ["skylark", "h100"])
def test_a_name_without_a_description_is_refused_with_those_that_there_are(wrong):
    with pytest.raises(UnknownMachine) as caught:
        cpu(wrong)
    assert "skylake" in caught.value.hint
    assert "a GPU" in str(caught.value) or "did you mean 'skylake'?" in caught.value.hint


def test_options_of_this_processor_describe_it_to_a_pass():
    described = NestScheduleCpuPass(**options_of(host()))
    assert described._cpu(None) == host()  # type: ignore[arg-type]


# ---- compiled for others -----------------------------------------------------------------------------


@pytest.mark.parametrize("name", CPUS)
def test_code_for_each_processor_has_its_vectors(name, no_name):
    text = nt.jit(scaled, machine=name).lower(X).as_text("asm")
    widest = max(bits for bits, register in ((128, "xmm"), (256, "ymm"), (512, "zmm")) if register in text)
    assert widest == CPUS[name].vector_bits


def test_llvm_ir_prefers_the_vectors_of_the_machine(no_name):
    text = nt.jit(scaled, machine="zen3").lower(X).as_text("llvm-ir")
    assert '"prefer-vector-width"="256"' in text and "<16 x float>" not in text.replace("x float> @llvm", "")


@pytest.mark.parametrize("name", GPUS)
def test_kernels_for_each_gpu(name, no_name):
    a = np.ones((64, 64), np.float32)
    assert "__global__" in nt.jit(total, target="cuda-sim", machine=name).lower(a, a).as_text("cuda")


# ---- run here ----------------------------------------------------------------------------------------


@needs_avx2
def test_masked_code_runs_and_has_no_wider_vectors(no_name):
    masked = nt.jit(scaled, machine="skylake")
    np.testing.assert_array_equal(masked(X), scaled(X))
    assert "zmm" not in masked.lower(X).compile().engine.assembly
    a = np.random.default_rng(0).random((70, 90), np.float32)
    np.testing.assert_allclose(nt.jit(total, machine="skylake")(a, a.T), a @ a.T, rtol=1e-5)


def test_masking_removes_what_this_processor_lacks(monkeypatch):
    features = {name: True for one in CPUS.values() for name in one.features} | {"sgx": False}
    monkeypatch.setattr(host_module, "_features", lambda: features)
    assert host_module.llvm_target(CPUS["zen4"]) == ("znver4", "-sgx")
    features["avx512vl"] = False
    assert why_not_run(CPUS["zen4"]) == "this processor lacks avx512vl"
    assert why_not_run(CPUS["zen3"]) is None
    assert host_module.llvm_target(CPUS["zen4"]) == ("znver4", "")  # to look at


def test_what_this_processor_lacks_is_not_run_but_can_be_looked_at(no_name, monkeypatch):
    lacking = dict.fromkeys(CPUS["skylake"].features, False)
    monkeypatch.setattr(host_module, "_features", lambda: lacking)
    compiled = nt.jit(scaled, machine="skylake")
    with pytest.raises(
        nt.UnsupportedError, match=r"'skylake' does not run here: this processor lacks avx2, bmi"
    ):
        compiled(X)
    assert "ymm" in compiled.lower(X).as_text("asm")


@needs_avx2
def test_the_environment_is_the_default(monkeypatch):
    monkeypatch.setenv("NESTOR_MACHINE", "skylake")
    assert "zmm" not in nt.jit(scaled).lower(X).as_text("asm")
    wide = nt.jit(scaled, machine="host").lower(X).as_text("llvm-ir")
    assert f'"prefer-vector-width"="{host().vector_bits}"' in wide
    a = np.ones((8, 8), np.float32)
    assert "__global__" in nt.jit(total).lower(a, a).as_text("cuda")  # a processor says nothing of GPUs


@pytest.mark.parametrize(
    "options, message",
    [
        ({"machine": "skylark"}, "there is no CPU 'skylark'"),
        ({"machine": "h100"}, "'h100' is a GPU, and a CPU is wanted"),
        ({"machine": "skylake", "target": "cuda-sim:checked"}, "'skylake' is a CPU, and a GPU is wanted"),
        ({"machine": "skylark", "target": "interp"}, "there is no machine 'skylark'"),
        ({"machine": 512}, "there is no machine '512'"),
    ],
)
def test_names_are_checked(options, message, no_name):
    with pytest.raises(DTypeError, match=re.escape(message)):
        nt.jit(scaled, **options)


def test_the_name_in_the_environment_is_checked(monkeypatch):
    monkeypatch.setenv("NESTOR_MACHINE", "skylark")
    with pytest.raises(DTypeError, match=r"there is no machine 'skylark' \(NESTOR_MACHINE\)"):
        nt.jit(scaled)


# ---- kept apart --------------------------------------------------------------------------------------


def _key(**options):
    jitted = nt.jit(scaled, **options)
    names, values, groups = jitted._leaves((X,), {})
    return jitted._request(jitted._types(names, values, groups), values).key()


def test_the_disk_keeps_machines_apart(monkeypatch, tmp_path, no_name):
    monkeypatch.setenv("NESTOR_CACHE", "1")
    monkeypatch.setenv("NESTOR_CACHE_DIR", str(tmp_path))
    keys = [_key(), _key(machine="skylake"), _key(machine="zen3")]
    monkeypatch.setenv("NESTOR_MACHINE", "skylake")
    assert len({*keys, _key()}) == 4

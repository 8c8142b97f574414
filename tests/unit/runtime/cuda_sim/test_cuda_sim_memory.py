"""Memory of checked kernels: views stay where they begin, elements are told from gaps, results from what was written."""

from __future__ import annotations

import gc

import numpy as np
import pytest
from nestor.runtime.cuda_sim.faults import SimulatorFault
from nestor.runtime.cuda_sim.memory import GuardedMemory
from nestor.runtime.cuda_sim.module import SimModule

SOURCE = """
extern "C" __global__ void at(const float *x, float *out, int k) { out[0] = x[k]; }
extern "C" __global__ void add(float *x, const float *y, int n) {
  if (threadIdx.x < n) x[threadIdx.x] += y[threadIdx.x];
}
extern "C" __global__ void shift(float *x, const float *y) { x[threadIdx.x] = y[threadIdx.x]; }
"""


@pytest.fixture(scope="module")
def module():
    return SimModule(SOURCE, "checked")


def fault_at(module, x, k):
    with pytest.raises(SimulatorFault) as caught:
        module.launch("at", (1,), (1,), [x, np.zeros(1, np.float32), np.int32(k)])
    (report,) = caught.value.reports
    assert report.kind == "out-of-bounds"
    return report.place


def test_elements_of_a_view_are_told_from_what_lies_between(module):
    base = np.arange(60, dtype=np.float32).reshape(6, 10)
    x, out = base[1:5:2, ::3], np.zeros(1, np.float32)
    for k in (0, 3, 9, 20, 29):
        module.launch("at", (1,), (1,), [x, out, np.int32(k)])
        assert out[0] == 10 + k
    for k in (1, 10, 19, 30, -1, -10):
        assert fault_at(module, x, k) == f"x[{k}], where x has shape (2 x 4)"


def test_negative_strides(module):
    x, out = np.arange(12, dtype=np.float32)[::-2], np.zeros(1, np.float32)
    module.launch("at", (1,), (1,), [x, out, np.int32(-10)])
    assert out[0] == 1
    assert fault_at(module, x, 1) == "x[1], where x has shape (6)"
    assert fault_at(module, x, -3) == "x[-3], where x has shape (6)"


@pytest.mark.parametrize("k", [-1, 5, 4000, -4000])
def test_an_index_beyond_an_array_meets_no_other_array(module, k):
    """Sixty-four KiB on each side of an array belong to nobody."""
    assert fault_at(module, np.zeros(5, np.float32), k) == f"x[{k}], where x has shape (5)"


def test_arguments_that_overlap_do_so_in_the_copies(module):
    memory = np.arange(9, dtype=np.float32)
    module.launch("add", (1,), (32,), [memory[:4], memory[5:], np.int32(4)])
    np.testing.assert_array_equal(memory, [5, 7, 9, 11, 4, 5, 6, 7, 8])
    with pytest.raises(SimulatorFault, match=r"race on global memory: x\[\d\]"):
        module.launch("shift", (1,), (4,), [memory[:5], memory[1:6]])


def test_copies_keep_their_place_in_an_allocation():
    base = np.zeros(100, np.float32)
    first, second, third = GuardedMemory().adopt([base, base[3:40], np.zeros((4, 4))])
    assert first.ctypes.data % 256 == 0 and third.ctypes.data % 256 == 0
    assert second.ctypes.data - first.ctypes.data == 12
    (alone,) = GuardedMemory().adopt([base[7:]])
    assert alone.ctypes.data % 256 == 28


def test_temporaries_are_unwritten_and_forgotten_with_their_last_view():
    memory = GuardedMemory()
    temporary = memory.allocate((3, 4), np.dtype(np.float32))
    assert np.isnan(temporary).all()
    region = memory.region_of(temporary)
    assert region is not None and region.state is not None and (region.state == 1).all()
    memory.copied(np.ones((3, 4), np.float32), temporary)
    assert (region.state == 3).all()
    view = temporary.reshape(12)
    del temporary
    gc.collect()
    assert memory.region_of(view) is region
    del view
    gc.collect()
    assert memory.regions == []


def test_what_was_not_written_stays_so_in_a_copy():
    memory = GuardedMemory()
    source, target = (memory.allocate((8,), np.dtype(np.int32)) for _ in range(2))
    memory.copied(np.zeros(4, np.int32), source[:4])
    memory.copied(source, target)
    region = memory.region_of(target)
    assert region is not None and region.state is not None
    assert region.state.tolist() == [3] * 4 + [1] * 4


def test_a_temporary_that_nothing_has_written(module):
    memory = GuardedMemory()
    x, out = memory.allocate((4,), np.dtype(np.float32)), memory.allocate((1,), np.dtype(np.float32))
    x[:2] = 1
    memory.copied(np.ones(2, np.float32), x[:2])
    module.launch("at", (1,), (1,), [x, out, np.int32(1)], memory=memory)
    assert out[0] == 1
    with pytest.raises(SimulatorFault, match=r"read of global memory that nothing has written: x\[2\]"):
        module.launch("at", (1,), (1,), [x, out, np.int32(2)], memory=memory)

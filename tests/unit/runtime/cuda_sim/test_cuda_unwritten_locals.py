"""Checked mode of the CUDA simulator: local variables that are used before they are written are named with their lines."""

from __future__ import annotations

import numpy as np
import pytest
from nestor.runtime.cuda_sim.faults import SimulatorFault
from nestor.runtime.cuda_sim.module import SimModule
from nestor.runtime.cuda_sim.unwritten_locals import filled_with_nan

HEAD = 'extern "C" __global__ void __launch_bounds__(32) {}(const float *x, float *out, int n) {{\n'
BODIES = {
    "right": """
  float sum[4];
  for (int k = 0; k < 4; ++k) sum[k] = x[k];
  out[threadIdx.x] = sum[threadIdx.x % 4];""",
    "right_under_a_guard": """
  float value;
  const bool inside = threadIdx.x < n;
  if (inside) value = x[threadIdx.x];
  __syncwarp();
  out[threadIdx.x] = 0.0f;
  if (inside) out[threadIdx.x] = value;""",
    "right_as_it_is_called": """
  float value;
  if (n > 4) value = x[threadIdx.x];
  out[threadIdx.x] = value;  // may be unwritten""",
    "never_written": """
  float value;
  // prog.py:3: y = x + 1
  out[threadIdx.x] = value + x[threadIdx.x];  // here""",
    "no_first_value": """
  float total;
  for (int k = 0; k < n; ++k) {
    total += x[k];
  }
  out[threadIdx.x] = total;  // here""",
    "one_element_short": """
  float sum[4];
  for (int k = 0; k < 3; ++k) sum[k] = x[k];
  float total = 0.0f;
  for (int k = 0; k < 4; ++k) total += sum[k];  // here
  out[threadIdx.x] = total;""",
    "past_a_branch": """
  float value;
  // prog.py:5: y = x
  if (threadIdx.x < n) value = x[threadIdx.x];
  out[threadIdx.x] = value;  // here""",
    "largest_from_nothing": """
  float best;
  if (n > 40) best = 0.0f;
  for (int k = 0; k < n; ++k) best = best > x[k] || best != best ? best : x[k];
  out[threadIdx.x] = best;""",
}
SOURCE = "\n".join(HEAD.format(name) + body + "\n}" for name, body in BODIES.items())


@pytest.fixture(scope="module")
def module():
    return SimModule(SOURCE, "checked")


def run(module: SimModule, name: str) -> np.ndarray:
    out = np.full(32, 7, np.float32)
    module.launch(name, (1,), (32,), [np.arange(32, dtype=np.float32), out, np.int32(9)])
    return out


@pytest.mark.parametrize("name", [name for name in BODIES if name.startswith("right")])
def test_what_is_written_first_is_clean(module, name):
    """A variable that some branch leaves unwritten is no fault of a launch that does not take that branch."""
    assert run(module, name)[1] == 1


@pytest.mark.parametrize(
    ("name", "what"),
    [
        ("never_written", "use of the local variable 'value', which nothing has written\n"),
        (
            "no_first_value",
            "use of the local variable 'total', which nothing has written: out[0] depends on it",
        ),
        ("one_element_short", "use of "),
        (
            "past_a_branch",
            "use of the local variable 'value', which nothing has written: out[9] depends on it",
        ),
    ],
)
def test_what_is_used_too_early_is_reported(module, name, what):
    with pytest.raises(SimulatorFault) as caught:
        run(module, name)
    (report,) = caught.value.reports
    assert report.kind == "uninitialised" and report.first.text.endswith("// here"), str(caught.value)
    assert what in str(caught.value)
    if "prog.py" in BODIES[name]:
        assert "from prog.py:" in str(caught.value)


def test_what_the_compiler_does_not_see_is_nan(module):
    """The smallest number, or zero, would be no larger than what comes."""
    assert np.isnan(run(module, "largest_from_nothing")).all()


def test_a_text_is_filled_with_all_bits():
    """Variables without a value; neither members of structures, nor parameters, nor shared memory."""
    text = """struct pair {
  float at;
};
  __shared__ float tile[4][2];
  nt_vector<float, 4> sums[2];  // of k
  unsigned int count;
  const float t = x;
  return t;"""
    filled = text.replace("sums[2];", "sums[2]; __builtin_memset(&sums, 255, sizeof sums);")
    filled = filled.replace("count;", "count; __builtin_memset(&count, 255, sizeof count);")
    assert filled_with_nan(text) == filled

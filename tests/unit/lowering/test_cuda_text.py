"""What tests/programs/cuda_text.py complains of in CUDA C, and that lines of it are broken where they may be."""

import pytest
from cuda_text import complaints
from nestor.lowering.cuda_c.lines import LINE_LIMIT, wrapped

GOOD = """extern "C" __global__ void f(const float *x, float *y, int n) {
  const int i = blockIdx.x * 256 + threadIdx.x;
  if (i >= n) return;
  if (i > 0) {
    y[i] = (x[i] + 1.0f) * (x[i] - 1.0f);
  }
}
"""


@pytest.mark.parametrize(
    ("line", "complaint"),
    [
        ("  const int k = i + 1;", "never used"),
        ("  y[i] = (float)(float)x[i];", "a cast to what it is"),
        ("  y[i] = x[i + 0];", "arithmetic that does nothing"),
        ("  y[i] = x[i] + -1;", "arithmetic that does nothing"),
        ("  y[i] = (x[i] + 1.0f);", "parentheses around all"),
        ("  y[i] = x[i]" + " + x[i]" * 20 + ";", "longer than"),
        ("  if (i > 0) {\n    y[i] = 1.0f;\n  }", "the same branch again"),
        ("  if (i > 1) {\n    if (i > 1) {\n      y[i] = 1.0f;\n    }\n  }", "asked twice"),
        (
            "  float m = __int_as_float(0xff800000);\n  m = nt_maximum(m, x[i]);\n  y[i] = m;",
            "set for nothing",
        ),
    ],
)
def test_complaints(line, complaint):
    assert not complaints(GOOD)
    (found,) = complaints(GOOD.removesuffix("}\n") + f"{line}\n}}\n")
    assert found.startswith(complaint)


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        ("a = b;", ["a = b;"]),
        (f"{'s' * 40} = fmaf({'a' * 30}, {'b' * 30}, {'c' * 40});",
         [f"{'s' * 40} = fmaf(", f"    {'a' * 30}, {'b' * 30},", f"    {'c' * 40});"]),
        (f"{'s' * 40} = f({'a' * 30}, {'b' * 30});", [f"{'s' * 40} =", f"    f({'a' * 30}, {'b' * 30});"]),
        (f"const nt_vector<float, 4> a_v = nt_load<4>(&{'a' * 60}[i]);",
         ["const nt_vector<float, 4> a_v =", f"    nt_load<4>(&{'a' * 60}[i]);"]),
        (f"if ({'a' * 50} * 3 < b && {'c' * 40} < 7) {{", [f"if ({'a' * 50} * 3 < b", f"    && {'c' * 40} < 7) {{"]),
        (f"// f.py:1: {'word ' * 30}", [f"// f.py:1: {'word ' * 17}..."]),
    ],
)  # fmt: skip
def test_long_lines_go_on_below(text, lines):
    assert wrapped(text, "") == lines
    assert all(len(line) <= LINE_LIMIT for line in lines)

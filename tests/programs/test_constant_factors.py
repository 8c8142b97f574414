"""Products of a variable that a loop carries by a constant: exact, or OverflowError."""

import nestor as nt
import pytest

END = 1 << 63
SOURCE = "def f(n, times):\n    s = n\n    for _ in range(times):\n        s = {}\n    return s\n"


@pytest.mark.parametrize("factor", [2, 3, -1, -2, 7, 10**18, -END, END - 1, 1 << 62, -(1 << 62)])
@pytest.mark.parametrize("form", ["s * ({})", "({}) * s"])
def test_products_fit_or_raise(tmp_path, factor, form):
    names = {}
    path = tmp_path / "program.py"
    path.write_text(SOURCE.format(form.format(factor)))
    exec(compile(path.read_text(), str(path), "exec"), names)
    f = names["f"]
    compiled = nt.jit(f, dynamic=True)
    edge = END // abs(factor)
    around = [0, 1, -1, END - 1, -END, edge, edge - 1, edge + 1, -edge, -edge - 1, -edge + 1]
    for n in around:
        if not -END <= n < END:
            continue
        want = f(n, 1)
        if -END <= want < END:
            assert compiled(n, 1) == want
            continue
        with pytest.raises(OverflowError, match="does not fit in 64 bits"):
            compiled(n, 1)

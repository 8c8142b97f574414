"""Random programs whose arrays have lengths that depend on elements, as Python source."""

from __future__ import annotations

import importlib.util
import random

import numpy as np

_MASKS = [
    "{v} > 0",
    "{v} < 0.5",
    "np.abs({v}) < 1",
    "{v} != {v}",
    "({v} > -0.5) & ({v} < 1)",
    "~({v} > 0.2)",
    "{v} > -99",
]
_SELECT = [
    "{v}[{m}]",
    "np.compress({m}, {v})",
    "np.extract({m}, {v})",
    "{v}[np.flatnonzero({m})]",
    "{v}[np.where({m})[0]]",
]
_ONE = [
    "{v} * 2", "{v} + 1", "-{v}", "np.abs({v})", "np.maximum({v}, 0.25)", "{v}[::2]", "{v}[::-1]", "{v}[1:]", "{v}[:3]",
    "np.sort({v})", "np.cumsum({v})", "np.unique({v})", "np.where({v} > 0, {v}, 0.5)", "{v}.copy()", "np.round({v})",
    "np.concatenate([{v}, {v}])", "np.repeat({v}, 2)", "np.repeat({v}, np.arange(len({v})) % 3)", "{v} - {v}.sum()",
    "np.zeros(len({v}))", "np.arange(len({v})) * 0.5", "np.append({v}, 1.0)", "{v}.reshape(-1)", "np.diff({v})",
]  # fmt: skip
_TWO = [
    "{v} + {w}", "np.concatenate([{v}, {w}])", "np.union1d({v}, {w})", "np.setdiff1d({v}, {w})", "np.intersect1d({v}, {w})",
    "{v}[:2] * {w}[:2]",
]  # fmt: skip
_NUMBERS = [
    "{v}.sum()", "len({v})", "{v}.size", "{v}.shape[0]", "({v} * {v}).sum()", "np.count_nonzero({v})", "{v}.max()",
    "np.flatnonzero({v}).sum()", "({v} > 0).any()", "{v}[0]",
]  # fmt: skip
_STATEMENTS = [
    "{v}[:2] = 7", "{v} += 1", "{v}[{m}] = 0.5", "{v}[{m}] *= 2", "{v}[{m}] = {v}[{m}][::-1]",
    "for i in range(len({v})):\n        {v}[i] = {v}[i] + i",
    "s = np.float64(0)\n    for e in {v}:\n        s += e * e\n    {v}[:1] = s",
    "ys = []\n    for e in {v}:\n        if e > 0:\n            ys.append(e * 2)\n    {v} = np.array(ys)",
]  # fmt: skip


def program(seed: int) -> str:
    """The source of `program_SEED(x)`, which returns arrays and numbers."""
    rng = random.Random(seed)
    names = ["x"]
    lines: list[str] = []

    def text(form: str) -> str:
        v, w = rng.choice(names), rng.choice(names)
        return form.format(v=v, w=w, m=rng.choice(_MASKS).format(v=v))

    for k in range(rng.randint(2, 5)):
        kind = rng.random()
        forms = (
            _SELECT if kind < 0.4 or k == 0 else _ONE if kind < 0.75 else _TWO if kind < 0.85 else _STATEMENTS
        )
        if forms is _STATEMENTS:
            lines.append(text(rng.choice([f for f in forms])) if names != ["x"] else "pass")
            continue
        lines.append(f"v{k} = {text(rng.choice(forms))}")
        names.append(f"v{k}")
    results = [rng.choice(names[1:]) for _ in range(rng.randint(1, 2))]
    results += [text(rng.choice(_NUMBERS)) for _ in range(rng.randint(0, 2))]
    body = "\n".join(f"    {line}" for line in lines)
    return f"def program_{seed}(x):\n{body}\n    return {', '.join(results)},\n"


def functions(path, seeds) -> list:
    """The programs of `seeds`, from a file that is written for them."""
    sources = "\n\n".join(program(seed) for seed in seeds)
    path.write_text(f"import numpy as np\n\n\n{sources}")
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return [getattr(module, f"program_{seed}") for seed in seeds]


def arrays(seed: int) -> list[np.ndarray]:
    """Arguments: with several lengths, of one element, of none, strided."""
    rng = np.random.default_rng(seed)
    x = np.round(rng.standard_normal(9), 2)
    return [x, -np.abs(x), x[::-2], rng.standard_normal(5), x[:1], x[:0], np.abs(rng.standard_normal(70))]

"""A 3 x 3 box blur in two stages, the example of the Halide paper: one algorithm, three schedules in examples/schedules/.

python examples/blur.py
"""

import nestor as nt
import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.floating]


@nt.jit
def blur(x: Array) -> Array:
    rows = (x[:, :-2] + x[:, 1:-1] + x[:, 2:]) / 3
    return (rows[:-2] + rows[1:-1] + rows[2:]) / 3


SCHEDULES = ("blur-breadth-first", "blur-inlined", "blur-sliding")

if __name__ == "__main__":
    from pathlib import Path

    image = np.random.default_rng(0).random((258, 322), dtype=np.float32)
    lowered = blur.lower(image)
    for name in SCHEDULES:
        scheduled = lowered.compile(schedule=Path(__file__).parent / "schedules" / f"{name}.mlir")
        assert np.array_equal(scheduled(image), blur(image))
        print(f"{name}: the same to the bit")

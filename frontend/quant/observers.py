"""Observers: what is kept of the arrays of a calibration, and the scales and zero points that follow.

    observer = nt.quant.MinMax()
    for x in batches: observer.observe(x)
    observer.parameters("uint8")            # Parameters(scale=(0.0392...,), zero_point=(128,), dtype="uint8")

With `axis` there are a scale and a zero point for each index of it.
"""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np

from ..interface.calibrations import Parameters

__all__ = ["MinMax", "MovingAverage", "Observer", "Percentile"]


class Observer(Protocol):
    """What `nt.quant.calibrate` makes and asks."""

    def observe(self, x: np.ndarray) -> None:
        """Look at an array."""
        ...

    def parameters(self, dtype: str = "int8", symmetric: bool = False) -> Parameters:
        """The scales and zero points for what was seen. Raises ValueError where nothing was."""
        ...


class _Range:
    """Shared: the least and the largest number that are to be represented, for each index of `axis`."""

    def __init__(self, axis: int | None = None):
        self.axis = axis
        self._low: np.ndarray | None = None
        self._high: np.ndarray | None = None

    def observe(self, x: Any) -> None:
        """Look at an array; one without elements says nothing. Raises ValueError for NaN and infinities."""
        x = np.asarray(x)
        if not x.size:
            return
        if not np.isfinite(x).all():
            raise ValueError("nt.quant: what was observed is not finite")
        rows = (
            x.reshape(1, -1)
            if self.axis is None
            else np.moveaxis(x, self.axis, 0).reshape(x.shape[self.axis], -1)
        )
        low, high = self._bounds(rows)
        if self._low is None or self._high is None:
            self._low, self._high = low, high
        elif len(low) != len(self._low):
            raise ValueError(f"nt.quant: {len(low)} channels were observed after {len(self._low)}")
        else:
            self._low, self._high = self._joined(self._low, low), self._joined(self._high, high, True)

    def _bounds(self, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return rows.min(1), rows.max(1)

    def _joined(self, old: np.ndarray, new: np.ndarray, is_high: bool = False) -> np.ndarray:
        """What is kept of what was seen before and of a new array."""
        raise NotImplementedError

    def parameters(self, dtype: str = "int8", symmetric: bool = False) -> Parameters:
        """The scales and zero points that take the range to the integers of `dtype`, int8 or uint8; 0 is exact.

        `symmetric`: the zero point is 0 (128 of uint8), and the largest magnitude becomes 127. A range of no width has the
        scale 1. Raises ValueError where nothing was observed.
        """
        if self._low is None or self._high is None:
            raise ValueError("nt.quant: nothing was observed")
        info = np.iinfo(dtype)
        low = np.minimum(self._low.astype(np.float64), 0)
        high = np.maximum(self._high.astype(np.float64), 0)
        middle = 0 if info.min < 0 else 128
        if symmetric:
            scale = np.maximum(-low, high) / 127
        else:
            scale = (high - low) / (info.max - info.min)
        scale = scale.astype(np.float32)
        scale[scale == 0] = 1
        if symmetric:
            zero = np.full(len(scale), middle)
        else:
            zero = np.clip(np.rint(info.min - low / scale), info.min, info.max).astype(int)
        return Parameters(tuple(scale.tolist()), tuple(zero.tolist()), np.dtype(dtype).name, self.axis)


class MinMax(_Range):
    """The least and the largest element that were seen."""

    def _joined(self, old: np.ndarray, new: np.ndarray, is_high: bool = False) -> np.ndarray:
        return np.maximum(old, new) if is_high else np.minimum(old, new)


class MovingAverage(_Range):
    """The averages of the least and of the largest element of an array, the last ones counting most.

    A new array counts `share`, what was before it 1 - share.
    """

    def __init__(self, axis: int | None = None, share: float = 0.1):
        super().__init__(axis)
        if not 0 < share <= 1:
            raise ValueError("nt.quant.MovingAverage: share is more than 0, and at most 1")
        self.share = share

    def _joined(self, old: np.ndarray, new: np.ndarray, is_high: bool = False) -> np.ndarray:
        return old + self.share * (new.astype(np.float64) - old)


class Percentile(_Range):
    """Percentiles of an array from both ends, averaged over the arrays: what few elements are beyond is cut off."""

    def __init__(self, axis: int | None = None, percent: float = 99.9):
        super().__init__(axis)
        if not 50 < percent <= 100:
            raise ValueError("nt.quant.Percentile: percent is more than 50, and at most 100")
        self.percent = percent
        self._count = 0

    def _bounds(self, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        self._count += 1
        low, high = np.percentile(rows.astype(np.float64), [100 - self.percent, self.percent], axis=1)
        return low, high

    def _joined(self, old: np.ndarray, new: np.ndarray, is_high: bool = False) -> np.ndarray:
        return old + (new - old) / self._count

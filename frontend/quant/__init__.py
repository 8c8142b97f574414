"""`nt.quant`: numbers as integers of 8 bits with a scale, in plain NumPy, and what finds the scales.

The functions run as they are outside of compiled code; inside it they are inlined as any Python function is.
`nt-quantise` and `nt-fuse-quantised` know `quantise`, `dequantise` and `fake_quantise` by their names.
"""

from ..interface.calibrations import Calibration, Parameters, Site
from .calibrating import calibrate
from .observers import MinMax, MovingAverage, Observer, Percentile
from .rounding import dequantise, fake_quantise, quantise

__all__ = [
    "Calibration",
    "MinMax",
    "MovingAverage",
    "Observer",
    "Parameters",
    "Percentile",
    "Site",
    "calibrate",
    "dequantise",
    "fake_quantise",
    "quantise",
]

"""`nt.quant`: numbers as integers of 8 bits with a scale, in plain NumPy, and what finds the scales.

The functions run as they are outside of compiled code; inside it they are inlined as any Python function is.
`nt-quantise` and `nt-fuse-quantised` know `quantise`, `dequantise` and `fake_quantise` by their names.
"""

from .rounding import dequantise, fake_quantise, quantise

__all__ = ["dequantise", "fake_quantise", "quantise"]

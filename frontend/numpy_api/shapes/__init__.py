"""NumPy functions that make, join, rearrange and repeat arrays."""

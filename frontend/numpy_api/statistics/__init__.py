"""NumPy functions that reduce, count, sort, or compute running results."""

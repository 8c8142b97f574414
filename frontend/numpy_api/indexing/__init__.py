"""NumPy functions that pick elements by other arrays, and tables of indices."""

"""Jitted functions on arrays in chunks (Dask): which programs compute a chunk, and the graph of their calls."""

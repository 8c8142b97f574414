"""Jitted functions on arrays in chunks (Dask), and with labels (xarray): programs of chunks, and graphs of their calls."""

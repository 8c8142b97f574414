"""Subscripts: views, gathers, scatters and masks. In terms of values; knows no function of NumPy."""

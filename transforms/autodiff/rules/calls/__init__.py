"""Derivatives of calls of NumPy in compiled code (`nt.custom_call`), by the name of the function (`table.py`)."""

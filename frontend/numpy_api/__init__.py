"""NumPy's functions, array methods and attributes, and the Python builtins, in terms of nt operations.

`registry.py` holds the tables, `families.py` lists the modules that fill them, a family each; `invoke.py` binds the
arguments of a call. Ufuncs need no entry: they follow from the table of elementwise operations.
"""

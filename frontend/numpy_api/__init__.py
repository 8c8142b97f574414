"""NumPy's functions, array methods and attributes, and the Python builtins, in terms of nt operations.

`registry.py` holds the tables; each other module fills them for one family. Ufuncs need no entry: they follow
from the table of elementwise operations.
"""

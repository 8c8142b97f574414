"""NumPy functions of single elements, Python's builtins and its math module, questions about types."""

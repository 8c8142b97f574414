"""Python source to values: statements, expressions, calls, functions, and traced functions."""

"""What a Python expression is worth while it is compiled, operations on such values, and islands, where elements are
written one by one. Their errors, too."""

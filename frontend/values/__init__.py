"""What a Python expression is worth while it is compiled, and operations on such values. Their errors, too."""

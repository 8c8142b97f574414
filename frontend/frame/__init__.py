"""A function during compilation: its variables, its objects, and what it reads outside. Who compiles what is in a table."""

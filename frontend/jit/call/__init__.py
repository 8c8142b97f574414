"""How a compiled program is called: arguments laid out, results made, errors of the kernel raised. Needs no compiler."""

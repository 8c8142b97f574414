"""From Python functions to the nt dialect, and `@nt.jit`.

A room imports only rooms after it: pytorch, testing, quant, nn, functional, jit/driver, jit/explain, jit/chunked,
jit/export, jit/specialise, jit/disk, jit/native_call, jit/call, script, operations, derivatives, control, numpy_api, frame,
indexing, values, interface. What is in each other (statements, expressions, calls, the loops between them) is compiled
through a table that the graph holds: `values/language.py`.
"""

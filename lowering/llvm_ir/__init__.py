"""The LLVM IR emitter: a module of the llvm dialect as text. Reads IR, changes none."""

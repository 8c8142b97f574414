"""convert-to-llvm: upstream dialects become functions of the llvm dialect."""

"""The CPU engine: LLVM IR text to machine code, threads, and calls without Python."""

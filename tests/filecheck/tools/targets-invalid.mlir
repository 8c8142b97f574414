// A target that needs a lower level says which pipeline leads there.
// RUN: not opt-tool %s -t llvm-ir 2>&1 | filecheck %s --check-prefix=LLVM
// RUN: not opt-tool %s -t cuda 2>&1 | filecheck %s --check-prefix=CUDA

// LLVM: :9:1: error: target 'llvm-ir' needs a module of the llvm dialect, this is 'func.func'
// LLVM: help: lower it first: -p cpu
// CUDA: error: target 'cuda' needs a gpu.module, and there is none
// CUDA: help: lower it first: -p cuda
func.func private @f()

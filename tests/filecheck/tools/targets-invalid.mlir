// A target that needs a lower level says which pipeline leads there.
// RUN: not opt-tool %s -t llvm-ir 2>&1 | filecheck %s --check-prefix=LLVM
// RUN: not opt-tool %s -t cuda 2>&1 | filecheck %s --check-prefix=CUDA
// RUN: not opt-tool %s -t cuda-sim-report 2>&1 | filecheck %s --check-prefix=REPORT

// LLVM: :11:1: error: target 'llvm-ir' needs a module of the llvm dialect, this is 'func.func'
// LLVM: help: lower it first: -p cpu
// CUDA: error: target 'cuda' needs a gpu.module, and there is none
// CUDA: help: lower it first: -p cuda
// REPORT: error: target 'cuda-sim-report' needs a gpu.module, and there is none
func.func private @f()

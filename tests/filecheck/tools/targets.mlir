// `-t llvm-ir` and `-t cuda` print what the emitters make of a module at their level.
// RUN: opt-tool %s --split-input-file --verify-diagnostics -t llvm-ir | filecheck %s --check-prefix=LLVM
// RUN: not opt-tool %s --split-input-file -t cuda 2>/dev/null | filecheck %s --check-prefix=CUDA

// LLVM: define i64 @f(i64 %a)
// CUDA: __global__ void g(
llvm.func @f(%a: i64) -> i64 {
  %b = llvm.add %a, %a : i64
  llvm.return %b : i64
}

// -----

// expected-error @below {{target 'llvm-ir' needs a module of the llvm dialect, this is 'gpu.module'}}
gpu.module @kernels {
  gpu.func @g(%x: memref<8xf32>) kernel {
    gpu.return
  }
}

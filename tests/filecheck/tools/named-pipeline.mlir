// A named pipeline stands for its passes, alone or among others; it takes no options.
// RUN: opt-tool %s -p cse,cpu-to-llvm --dump-pass-pipeline -t llvm-ir 2>&1 | filecheck %s
// RUN: not opt-tool %s -p 'cpu-to-llvm{fast}' 2>&1 | filecheck %s --check-prefix=OPTIONS

// CHECK: Pass pipeline: builtin.module(cse,cut-long-loops,expand-division,expand-math,convert-to-llvm)
// CHECK: define {{.*}} @f

// OPTIONS: <pipeline>:1:13: error: 'cpu-to-llvm' is a named pipeline, which takes no options
func.func @f(%x: memref<8xf32>) {
  func.return
}

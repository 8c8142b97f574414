// A failing pass leaves a file with the IR before it and the pass alone, which replays the failure.
// RUN: not opt-tool %s --load-pass-plugin=%S/Inputs/test_passes.py -p 'cse,func.func(test-fail{message="no \"*\""})' --crash-reproducer=%t.mlir 2>&1 | filecheck %s
// RUN: filecheck %s --check-prefix=FILE --input-file=%t.mlir
// RUN: not opt-tool --run-reproducer %t.mlir --load-pass-plugin=%S/Inputs/test_passes.py --dump-pass-pipeline 2>&1 | filecheck %s --check-prefix=REPLAY

// CHECK: reproducer written to '{{.*}}': pass 'test-fail' fails on it
// CHECK: error: no "*"

// FILE:        // Replay: opt-tool --run-reproducer
// FILE-COUNT-1:  "arith.addi"
// FILE:        mlir_reproducer: {
// FILE:          pipeline: "builtin.module(func.func(test-fail{message=\"no \\\"*\\\"\"}))"

// REPLAY: crash-reproducer.mlir:18:8: error: no "*"
func.func @f(%x: i32) -> i32 {
  %a = arith.addi %x, %x : i32
  %b = arith.addi %x, %x : i32
  %c = arith.muli %a, %b : i32
  func.return %c : i32
}

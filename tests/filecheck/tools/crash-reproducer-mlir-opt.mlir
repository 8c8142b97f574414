// REQUIRES: mlir-opt
// mlir-opt runs our reproducers, and we run its.
// RUN: not opt-tool %s --load-pass-plugin=%S/Inputs/test_passes.py -p test-fail --crash-reproducer=%t.mlir
// RUN: sed -e 's/test-fail/cse/' %t.mlir | mlir-opt --run-reproducer | filecheck %s
// RUN: mlir-opt %s --mlir-generate-reproducer=%t2.mlir --pass-pipeline='builtin.module(func.func(cse))' -o /dev/null
// RUN: opt-tool --run-reproducer %t2.mlir | filecheck %s

// CHECK: %[[A:.*]] = arith.addi
// CHECK-NEXT: arith.muli %[[A]], %[[A]]
func.func @f(%x: i32) -> i32 {
  %a = arith.addi %x, %x : i32
  %b = arith.addi %x, %x : i32
  %c = arith.muli %a, %b : i32
  func.return %c : i32
}

// Errors show the place, the line and a caret; notes point at the other end; the exit code is 1.
// RUN: not opt-tool %s --load-pass-plugin=%S/Inputs/test_passes.py -p test-fail 2>&1 | filecheck %s --strict-whitespace --match-full-lines

func.func @f(%x: i32) -> i32 {
  %a = arith.addi %x, %x : i32
  %b = arith.muli %a, %x : i32
//      CHECK:{{.*}}diagnostics.mlir:6:8: error: cannot multiply
// CHECK-NEXT:  %b = arith.muli %a, %x : i32
// CHECK-NEXT:       ^
// CHECK-NEXT:  help: add instead
// CHECK-NEXT:{{.*}}diagnostics.mlir:5:8: note: this operand
// CHECK-NEXT:  %a = arith.addi %x, %x : i32
// CHECK-NEXT:       ^
  func.return %b : i32
}

// `-p` runs passes in the order given.
// RUN: opt-tool %s -p canonicalize,cse | filecheck %s

// CHECK-LABEL: func.func @f
// CHECK-NEXT:    %[[A:.*]] = arith.addi
// CHECK-NEXT:    arith.muli %[[A]], %[[A]]
func.func @f(%x: i32) -> i32 {
  %a = arith.addi %x, %x : i32
  %b = arith.addi %x, %x : i32
  %c = arith.muli %a, %b : i32
  func.return %c : i32
}

// Elementwise operations print the operands' type once; comparisons give bools; select takes a bool first.
// RUN: opt-tool %s --verify-roundtrip | filecheck %s

// CHECK-LABEL: func.func @elementwise
// CHECK-NEXT:    %a = nt.add %x, %y : tensor<4x?xf32>
// CHECK-NEXT:    %p = nt.less %a, %y : tensor<4x?xf32>
// CHECK-NEXT:    %q = nt.logical_not %p : tensor<4x?xi1>
// CHECK-NEXT:    %s = nt.select %q, %a, %x : tensor<4x?xf32>
// CHECK-NEXT:    %c = nt.clamp %s, %x, %y {note = "kept"} : tensor<4x?xf32>
// CHECK-NEXT:    %u = nt.floor_divide %k, %k : tensor<ui8>
func.func @elementwise(%x: tensor<4x?xf32>, %y: tensor<4x?xf32>, %k: tensor<ui8>) -> tensor<4x?xf32> {
  %a = nt.add %x, %y : tensor<4x?xf32>
  %p = nt.less %a, %y : tensor<4x?xf32>
  %q = nt.logical_not %p : tensor<4x?xi1>
  %s = nt.select %q, %a, %x : tensor<4x?xf32>
  %c = nt.clamp %s, %x, %y {note = "kept"} : tensor<4x?xf32>
  %u = nt.floor_divide %k, %k : tensor<ui8>
  func.return %c : tensor<4x?xf32>
}

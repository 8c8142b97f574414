// Running results along an axis, by any operation on two operands of the element type.
// RUN: opt-tool %s --verify-roundtrip | filecheck %s

// CHECK-LABEL: func.func @scans
func.func @scans(%x: tensor<?x4xf32>, %b: tensor<3xi1>) {
  // CHECK: nt.scan add %x along 0 : tensor<?x4xf32>
  %0 = nt.scan add %x along 0 : tensor<?x4xf32>
  // CHECK: nt.scan maximum %x along 1 {note = 1 : i64} : tensor<?x4xf32>
  %1 = nt.scan maximum %x along 1 {note = 1 : i64} : tensor<?x4xf32>
  // CHECK: nt.scan logical_and %b along 0 : tensor<3xi1>
  %2 = nt.scan logical_and %b along 0 : tensor<3xi1>
  func.return
}

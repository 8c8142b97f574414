// Slices of derivatives and derivatives of slices: nt-differentiate puts both in place, innermost first.
// RUN: opt-tool %s -p nt-differentiate,nt-batch,canonicalize,cse --split-input-file | filecheck %s

// The gradient of each slice.
func.func private @loss(%x: tensor<4xf64>) -> tensor<f64> {
  %0 = nt.multiply %x, %x : tensor<4xf64>
  %1 = nt.reduce add %0 over [0] : tensor<4xf64> -> tensor<f64>
  func.return %1 : tensor<f64>
}
func.func private @gradient(%x: tensor<4xf64>, %one: tensor<f64>) -> tensor<4xf64> {
  %g = nt.vjp replay @loss(%x : tensor<4xf64>) cotangents(%one : tensor<f64>) wrt [0] of [0] -> (tensor<4xf64>)
  func.return %g : tensor<4xf64>
}
func.func @each_gradient(%x: tensor<8x4xf64>, %one: tensor<f64>) -> tensor<8x4xf64> {
  %g = nt.batch @gradient(%x, %one : tensor<8x4xf64>, tensor<f64>) along [0, -1] -> (tensor<8x4xf64>)
  func.return %g : tensor<8x4xf64>
}
// CHECK-NOT: func.func private
// CHECK: func.func @each_gradient
// CHECK: nt.multiply {{.*}} : tensor<8x4xf64>
// CHECK-NOT: nt.vjp
// CHECK-NOT: nt.batch

// -----

// The gradient of a function that works on slices: that of what is not sliced is a sum over them.
func.func private @row(%x: tensor<4xf64>, %w: tensor<4xf64>) -> tensor<f64> {
  %0 = nt.multiply %x, %w : tensor<4xf64>
  %1 = nt.reduce add %0 over [0] : tensor<4xf64> -> tensor<f64>
  func.return %1 : tensor<f64>
}
func.func private @rows(%x: tensor<8x4xf64>, %w: tensor<4xf64>) -> tensor<8xf64> {
  %0 = nt.batch @row(%x, %w : tensor<8x4xf64>, tensor<4xf64>) along [0, -1] -> (tensor<8xf64>)
  func.return %0 : tensor<8xf64>
}
func.func @of_slices(%x: tensor<8x4xf64>, %w: tensor<4xf64>, %c: tensor<8xf64>) -> tensor<4xf64> {
  %g = nt.vjp replay @rows(%x, %w : tensor<8x4xf64>, tensor<4xf64>) cotangents(%c : tensor<8xf64>) wrt [1] of [0] -> (tensor<4xf64>)
  func.return %g : tensor<4xf64>
}
// CHECK-NOT: func.func private
// CHECK: func.func @of_slices
// CHECK: nt.reduce add {{.*}} over [0] : tensor<8x4xf64> -> tensor<4xf64>
// CHECK-NOT: nt.vjp
// CHECK-NOT: nt.batch

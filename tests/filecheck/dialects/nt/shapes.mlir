// Casts, views and extents; an unknown extent of a result is an affine expression of index values.
// RUN: opt-tool %s --verify-roundtrip | filecheck %s

// CHECK-LABEL: func.func @shapes
// CHECK-NEXT:    %n = nt.dim %x[0] : tensor<?x4xf32>
// CHECK-NEXT:    nt.cast %x : tensor<?x4xf32> -> tensor<?x4xbf16>
// CHECK-NEXT:    nt.broadcast %w along [1] sizes(%n) : tensor<4xf32> -> tensor<?x4xf32>
// CHECK-NEXT:    nt.reshape %x sizes(2 * %n) : tensor<?x4xf32> -> tensor<?x2xf32>
// CHECK-NEXT:    nt.transpose %x perm [1, 0] : tensor<?x4xf32> -> tensor<4x?xf32>
// CHECK-NEXT:    nt.slice %x[%n - 1, 1] strides [-1, 2] sizes(%n) : tensor<?x4xf32> -> tensor<?x2xf32>
// CHECK-NEXT:    nt.slice %x[0, 0] strides [1, 1] sizes(%n - 1) {note} : tensor<?x4xf32> -> tensor<?x4xf32>
// CHECK-NEXT:    %[[T:.*]] = nt.from_scalar %s : f32 -> tensor<f32>
// CHECK-NEXT:    nt.to_scalar %[[T]] : tensor<f32> -> f32
func.func @shapes(%x: tensor<?x4xf32>, %w: tensor<4xf32>, %s: f32) {
  %n = nt.dim %x[0] : tensor<?x4xf32>
  %0 = nt.cast %x : tensor<?x4xf32> -> tensor<?x4xbf16>
  %1 = nt.broadcast %w along [1] sizes(%n) : tensor<4xf32> -> tensor<?x4xf32>
  %2 = nt.reshape %x sizes(%n * 2) : tensor<?x4xf32> -> tensor<?x2xf32>
  %3 = nt.transpose %x perm [1, 0] : tensor<?x4xf32> -> tensor<4x?xf32>
  %4 = nt.slice %x[%n - 1, 1] strides [-1, 2] sizes(%n) : tensor<?x4xf32> -> tensor<?x2xf32>
  %5 = nt.slice %x[0, 0] strides [1, 1] sizes(%n - 1) {note} : tensor<?x4xf32> -> tensor<?x4xf32>
  %6 = nt.from_scalar %s : f32 -> tensor<f32>
  %7 = nt.to_scalar %6 : tensor<f32> -> f32
  func.return
}

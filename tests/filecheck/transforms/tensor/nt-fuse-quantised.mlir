// nt-fuse-quantised: products of what was integers of 8 bits are computed with the integers.
// RUN: opt-tool %s -p 'nt-fuse-quantised,canonicalize,cse' | filecheck %s

// One operand was rounded for the product, the other was integers that were seen through a transpose.
// CHECK-LABEL: func.func @both
// CHECK:         %[[Q:.*]] = nt.composite "quantise"(%x, %s, %z : tensor<8x4xf32>, tensor<f32>, tensor<ui8>) -> tensor<8x4xui8>
// CHECK:         %[[S:.*]] = nt.optimization_barrier %[[Q]] : tensor<8x4xui8>
// CHECK:         %[[T:.*]] = nt.transpose %p perm [1, 0] : tensor<5x4xi8> -> tensor<4x5xi8>
// CHECK:         %[[D:.*]] = nt.dot %[[S]], %[[T]] contract [1] x [0] : tensor<8x4xui8>, tensor<4x5xi8> -> tensor<8x5xi32>
// CHECK:         %[[B:.*]] = nt.cast %[[T]] : tensor<4x5xi8> -> tensor<4x5xi32>
// CHECK:         %[[SUM:.*]] = nt.reduce add %[[B]] over [0] : tensor<4x5xi32> -> tensor<5xi32>
// CHECK:         nt.multiply %[[SUM]]
// CHECK:         %[[C:.*]] = nt.subtract %[[D]]
// CHECK:         nt.multiply %t
// CHECK:         %[[F:.*]] = nt.cast %[[C]] : tensor<8x5xi32> -> tensor<8x5xf32>
// CHECK:         %[[R:.*]] = nt.multiply %[[F]]
// CHECK:         func.return %[[R]]
func.func @both(%x: tensor<8x4xf32>, %s: tensor<f32>, %z: tensor<ui8>, %p: tensor<5x4xi8>, %t: tensor<5xf32>) -> tensor<8x5xf32> {
  %f = nt.composite "fake_quantise"(%x, %s, %z : tensor<8x4xf32>, tensor<f32>, tensor<ui8>) -> tensor<8x4xf32> {
  ^bb0(%a: tensor<8x4xf32>, %b: tensor<f32>, %c: tensor<ui8>):
    %0 = nt.broadcast %b along [] : tensor<f32> -> tensor<8x4xf32>
    %1 = nt.divide %a, %0 : tensor<8x4xf32>
    %2 = nt.cast %c : tensor<ui8> -> tensor<f32>
    %3 = nt.constant dense<-0.49> : tensor<f32>
    %4 = nt.subtract %3, %2 : tensor<f32>
    %5 = nt.broadcast %4 along [] : tensor<f32> -> tensor<8x4xf32>
    %6 = nt.constant dense<255.49> : tensor<f32>
    %7 = nt.subtract %6, %2 : tensor<f32>
    %8 = nt.broadcast %7 along [] : tensor<f32> -> tensor<8x4xf32>
    %9 = nt.clamp %1, %5, %8 : tensor<8x4xf32>
    %10 = nt.rint %9 : tensor<8x4xf32>
    %11 = nt.subtract %10, %9 : tensor<8x4xf32>
    %12 = nt.add %9, %11 : tensor<8x4xf32>
    %13 = nt.multiply %12, %0 : tensor<8x4xf32>
    nt.yield %13 : tensor<8x4xf32>
  }
  %g = nt.composite "dequantise"(%p, %t : tensor<5x4xi8>, tensor<5xf32>) {axis = 0 : i64} -> tensor<5x4xf32> {
  ^bb0(%a: tensor<5x4xi8>, %b: tensor<5xf32>):
    %0 = nt.cast %a : tensor<5x4xi8> -> tensor<5x4xi32>
    %1 = nt.constant dense<0> : tensor<i32>
    %2 = nt.broadcast %1 along [] : tensor<i32> -> tensor<5x4xi32>
    %3 = nt.subtract %0, %2 : tensor<5x4xi32>
    %4 = nt.cast %3 : tensor<5x4xi32> -> tensor<5x4xf32>
    %5 = nt.broadcast %b along [0] : tensor<5xf32> -> tensor<5x1xf32>
    %6 = nt.broadcast %5 along [0, 1] : tensor<5x1xf32> -> tensor<5x4xf32>
    %7 = nt.multiply %4, %6 : tensor<5x4xf32>
    nt.yield %7 : tensor<5x4xf32>
  }
  %w = nt.transpose %g perm [1, 0] : tensor<5x4xf32> -> tensor<4x5xf32>
  %r = nt.dot %f, %w contract [1] x [0] : tensor<8x4xf32>, tensor<4x5xf32> -> tensor<8x5xf32>
  func.return %r : tensor<8x5xf32>
}

// A maximum with 0 is one with the zero point; rounding again with the same scale gives the integers.
// CHECK-LABEL: func.func @kept
// CHECK:         %[[M:.*]] = nt.maximum %q, %{{.*}} : tensor<8x4xi8>
// CHECK:         %[[R:.*]] = nt.reduce maximum %[[M]] over [1] : tensor<8x4xi8> -> tensor<8xi8>
// CHECK-NEXT:    func.return %[[R]]
func.func @kept(%q: tensor<8x4xi8>) -> tensor<8xi8> {
  %s = nt.constant dense<0.5> : tensor<f32>
  %z = nt.constant dense<3> : tensor<i8>
  %x = nt.composite "dequantise"(%q, %s, %z : tensor<8x4xi8>, tensor<f32>, tensor<i8>) -> tensor<8x4xf32> {
  ^bb0(%a: tensor<8x4xi8>, %b: tensor<f32>, %c: tensor<i8>):
    %0 = nt.cast %a : tensor<8x4xi8> -> tensor<8x4xi32>
    %1 = nt.cast %c : tensor<i8> -> tensor<i32>
    %2 = nt.broadcast %1 along [] : tensor<i32> -> tensor<8x4xi32>
    %3 = nt.subtract %0, %2 : tensor<8x4xi32>
    %4 = nt.cast %3 : tensor<8x4xi32> -> tensor<8x4xf32>
    %5 = nt.broadcast %b along [] : tensor<f32> -> tensor<8x4xf32>
    %6 = nt.multiply %4, %5 : tensor<8x4xf32>
    nt.yield %6 : tensor<8x4xf32>
  }
  %zero = nt.constant dense<0.0> : tensor<f32>
  %zeros = nt.broadcast %zero along [] : tensor<f32> -> tensor<8x4xf32>
  %m = nt.maximum %x, %zeros : tensor<8x4xf32>
  %l = nt.reduce maximum %m over [1] : tensor<8x4xf32> -> tensor<8xf32>
  %y = nt.composite "quantise"(%l, %s, %z : tensor<8xf32>, tensor<f32>, tensor<i8>) -> tensor<8xi8> {
  ^bb0(%a: tensor<8xf32>, %b: tensor<f32>, %c: tensor<i8>):
    %0 = nt.broadcast %b along [] : tensor<f32> -> tensor<8xf32>
    %1 = nt.divide %a, %0 : tensor<8xf32>
    %2 = nt.rint %1 : tensor<8xf32>
    %3 = nt.cast %c : tensor<i8> -> tensor<f32>
    %4 = nt.broadcast %3 along [] : tensor<f32> -> tensor<8xf32>
    %5 = nt.add %2, %4 : tensor<8xf32>
    %6 = nt.constant dense<-128.0> : tensor<f32>
    %7 = nt.broadcast %6 along [] : tensor<f32> -> tensor<8xf32>
    %8 = nt.fmax %5, %7 : tensor<8xf32>
    %9 = nt.constant dense<127.0> : tensor<f32>
    %10 = nt.broadcast %9 along [] : tensor<f32> -> tensor<8xf32>
    %11 = nt.fmin %8, %10 : tensor<8xf32>
    %12 = nt.cast %11 : tensor<8xf32> -> tensor<8xi8>
    nt.yield %12 : tensor<8xi8>
  }
  func.return %y : tensor<8xi8>
}

// A scale that changes along a sum is no factor of it; with one operand of integers there is nothing to fuse.
// CHECK-LABEL: func.func @left
// CHECK:         %[[W:.*]] = nt.composite "dequantise"
// CHECK:         nt.dot %x, %[[W]] {{.*}} : tensor<8x5xf32>, tensor<5x4xf32> -> tensor<8x4xf32>
// CHECK:         nt.dot %[[W]], %[[W]] contract [0] x [0] : tensor<5x4xf32>, tensor<5x4xf32> -> tensor<4x4xf32>
func.func @left(%x: tensor<8x5xf32>, %p: tensor<5x4xi8>, %t: tensor<5xf32>) -> (tensor<8x4xf32>, tensor<4x4xf32>) {
  %g = nt.composite "dequantise"(%p, %t : tensor<5x4xi8>, tensor<5xf32>) {axis = 0 : i64} -> tensor<5x4xf32> {
  ^bb0(%a: tensor<5x4xi8>, %b: tensor<5xf32>):
    %0 = nt.cast %a : tensor<5x4xi8> -> tensor<5x4xi32>
    %1 = nt.constant dense<0> : tensor<i32>
    %2 = nt.broadcast %1 along [] : tensor<i32> -> tensor<5x4xi32>
    %3 = nt.subtract %0, %2 : tensor<5x4xi32>
    %4 = nt.cast %3 : tensor<5x4xi32> -> tensor<5x4xf32>
    %5 = nt.broadcast %b along [0] : tensor<5xf32> -> tensor<5x4xf32>
    %6 = nt.multiply %4, %5 : tensor<5x4xf32>
    nt.yield %6 : tensor<5x4xf32>
  }
  %0 = nt.dot %x, %g contract [1] x [0] : tensor<8x5xf32>, tensor<5x4xf32> -> tensor<8x4xf32>
  %1 = nt.dot %g, %g contract [0] x [0] : tensor<5x4xf32>, tensor<5x4xf32> -> tensor<4x4xf32>
  func.return %0, %1 : tensor<8x4xf32>, tensor<4x4xf32>
}

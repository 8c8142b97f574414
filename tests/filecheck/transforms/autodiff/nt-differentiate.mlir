// Derivatives become operations: forward and reverse mode, one in the other, checks and prints once.
// RUN: opt-tool %s -p nt-differentiate,canonicalize,cse | filecheck %s

func.func private @loss(%x: tensor<8xf32>, %w: tensor<8xf32>) -> tensor<f32> {
  %0 = nt.multiply %x, %w : tensor<8xf32>
  %1 = nt.tanh %0 : tensor<8xf32>
  %2 = nt.reduce add %1 over [0] : tensor<8xf32> -> tensor<f32>
  func.return %2 : tensor<f32>
}

// Nothing refers to the function any more.
// CHECK-NOT: @loss

// CHECK-LABEL: func.func @reverse
// CHECK: [[P:%\S+]] = nt.multiply %x, %w
// CHECK-NEXT: [[T:%\S+]] = nt.tanh [[P]]
// CHECK-NEXT: %y = nt.reduce add [[T]] over [0]
// CHECK: [[S:%\S+]] = nt.multiply [[T]], [[T]]
// CHECK: [[D:%\S+]] = nt.subtract {{.*}}, [[S]]
// CHECK: %gx = nt.multiply {{.*}}, %w
// CHECK-NOT: nt.reduce
// CHECK: func.return %y, %gx
func.func @reverse(%x: tensor<8xf32>, %w: tensor<8xf32>, %c: tensor<f32>) -> (tensor<f32>, tensor<8xf32>) {
  %y, %gx = nt.vjp @loss(%x, %w : tensor<8xf32>, tensor<8xf32>) cotangents(%c : tensor<f32>) wrt [0] of [0] -> (tensor<f32>, tensor<8xf32>)
  func.return %y, %gx : tensor<f32>, tensor<8xf32>
}

// CHECK-LABEL: func.func @forward
// CHECK: %t = nt.reduce add
// CHECK-NEXT: func.return %t
func.func @forward(%x: tensor<8xf32>, %w: tensor<8xf32>) -> tensor<f32> {
  %t = nt.jvp replay @loss(%x, %w : tensor<8xf32>, tensor<8xf32>) tangents(%w : tensor<8xf32>) wrt [0] of [0] -> (tensor<f32>)
  func.return %t : tensor<f32>
}

// A square: its gradient is 2 x, of which the derivative in a direction is twice the direction.
func.func private @square(%x: tensor<8xf32>) -> tensor<8xf32> {
  %0 = nt.square %x : tensor<8xf32>
  func.return %0 : tensor<8xf32>
}
func.func private @gradient(%x: tensor<8xf32>, %c: tensor<8xf32>) -> tensor<8xf32> {
  %g = nt.vjp replay @square(%x : tensor<8xf32>) cotangents(%c : tensor<8xf32>) wrt [0] of [0] -> (tensor<8xf32>)
  func.return %g : tensor<8xf32>
}
// CHECK-LABEL: func.func @hessian
// CHECK-NEXT: [[A:%\S+]] = nt.add %d, %d
// CHECK-NEXT: %h = nt.multiply [[A]], %c
// CHECK-NEXT: func.return %h
func.func @hessian(%x: tensor<8xf32>, %d: tensor<8xf32>, %c: tensor<8xf32>) -> tensor<8xf32> {
  %h = nt.jvp replay @gradient(%x, %c : tensor<8xf32>, tensor<8xf32>) tangents(%d : tensor<8xf32>) wrt [0] of [0] -> (tensor<8xf32>)
  func.return %h : tensor<8xf32>
}

// What does not depend on the argument has no part in it, whatever it is; what stops it gives zeros.
func.func private @constant(%x: tensor<8xf32>, %n: tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>) {
  %0 = nt.nextafter %n, %n : tensor<8xf32>
  %1 = nt.stop_gradient %x : tensor<8xf32>
  %2 = nt.multiply %1, %0 : tensor<8xf32>
  func.return %2, %0 : tensor<8xf32>, tensor<8xf32>
}
// CHECK-LABEL: func.func @zeros
// CHECK-NEXT: [[Z:%\S+]] = nt.constant dense<0.000000e+00>
// CHECK-NEXT: %g = nt.broadcast [[Z]]
// CHECK-NEXT: func.return %g
func.func @zeros(%x: tensor<8xf32>, %n: tensor<8xf32>) -> tensor<8xf32> {
  %g = nt.vjp replay @constant(%x, %n : tensor<8xf32>, tensor<8xf32>) cotangents(%x, %n : tensor<8xf32>, tensor<8xf32>) wrt [0] of [0, 1] -> (tensor<8xf32>)
  func.return %g : tensor<8xf32>
}

// Slices that are all of an array side by side: their cotangents are stored, not added to zeros.
func.func private @halves(%x: tensor<8xf32>) -> tensor<4xf32> {
  %0 = nt.slice %x[0] strides [1] : tensor<8xf32> -> tensor<4xf32>
  %1 = nt.slice %x[4] strides [1] : tensor<8xf32> -> tensor<4xf32>
  %2 = nt.multiply %0, %1 : tensor<4xf32>
  func.return %2 : tensor<4xf32>
}
// CHECK-LABEL: func.func @slices
// CHECK: nt.empty
// CHECK: nt.loops
// CHECK: nest.store {{.*}} + 4]
// CHECK-NOT: nest.accumulate
// CHECK: func.return
func.func @slices(%x: tensor<8xf32>, %c: tensor<4xf32>) -> tensor<8xf32> {
  %g = nt.vjp replay @halves(%x : tensor<8xf32>) cotangents(%c : tensor<4xf32>) wrt [0] of [0] -> (tensor<8xf32>)
  func.return %g : tensor<8xf32>
}

// A check is made once, where the function is called; a replay leaves it out.
func.func private @checked(%x: tensor<f32>) -> tensor<f32> {
  %0 = nt.isnan %x : tensor<f32>
  %1 = nt.to_scalar %0 : tensor<i1> -> i1
  cf.assert %1, "no number"
  %2 = nt.exp %x : tensor<f32>
  func.return %2 : tensor<f32>
}
// CHECK-LABEL: func.func @once
// CHECK: cf.assert
// CHECK-NOT: cf.assert
func.func @once(%x: tensor<f32>, %c: tensor<f32>) -> tensor<f32> {
  %y, %g = nt.vjp @checked(%x : tensor<f32>) cotangents(%c : tensor<f32>) wrt [0] of [0] -> (tensor<f32>, tensor<f32>)
  %h = nt.vjp replay @checked(%x : tensor<f32>) cotangents(%g : tensor<f32>) wrt [0] of [0] -> (tensor<f32>)
  func.return %h : tensor<f32>
}

// A composite with a rule of the user's: the rule is put in place of the derivative of what the composite stands for.
// RUN: opt-tool %s -p nt-differentiate,canonicalize,cse --split-input-file | filecheck %s

// The rule of reverse mode says 3 * cotangent, which the region does not.
// CHECK-LABEL: func.func @by_vjp(
// CHECK-SAME: %c: tensor<4xf64>
// CHECK: nt.composite "f"
// CHECK: %[[THREE:.*]] = nt.constant dense<3.000000e+00>
// CHECK: nt.multiply %c,
// CHECK-NOT: nt.cos
func.func private @f.vjp(%x: tensor<4xf64>, %c: tensor<4xf64>) -> tensor<4xf64> {
  %3 = nt.constant dense<3.0> : tensor<f64>
  %0 = nt.broadcast %3 along [] : tensor<f64> -> tensor<4xf64>
  %1 = nt.multiply %c, %0 : tensor<4xf64>
  func.return %1 : tensor<4xf64>
}
func.func private @g(%x: tensor<4xf64>) -> tensor<4xf64> {
  %y = nt.composite "f"(%x : tensor<4xf64>) attributes {nt.vjp_rule = @f.vjp} -> tensor<4xf64> {
  ^bb0(%a: tensor<4xf64>):
    %s = nt.sin %a : tensor<4xf64>
    nt.yield %s : tensor<4xf64>
  }
  func.return %y : tensor<4xf64>
}
func.func @by_vjp(%x: tensor<4xf64>, %c: tensor<4xf64>) -> (tensor<4xf64>, tensor<4xf64>) {
  %y, %g = nt.vjp @g(%x : tensor<4xf64>) cotangents(%c : tensor<4xf64>) wrt [0] of [0] -> (tensor<4xf64>, tensor<4xf64>)
  func.return %y, %g : tensor<4xf64>, tensor<4xf64>
}

// -----

// Forward mode by the rule, and reverse mode by its transpose: the tangent of %x is multiplied by 5 * %w.
// CHECK-LABEL: func.func @by_jvp(
// CHECK-SAME: %{{.*}}: tensor<4xf64>, %[[W:.*]]: tensor<4xf64>, %[[T:.*]]: tensor<4xf64>)
// CHECK: nt.multiply %[[T]], %[[W]]
// CHECK-LABEL: func.func @transposed(
// CHECK-SAME: %{{.*}}: tensor<4xf64>, %[[W:.*]]: tensor<4xf64>, %[[C:.*]]: tensor<4xf64>)
// CHECK: %[[P:.*]] = nt.multiply %[[C]], %{{.*}} : tensor<4xf64>
// CHECK: nt.multiply %[[P]], %[[W]]
// CHECK-NOT: nt.sin
func.func private @f.jvp(%x: tensor<4xf64>, %w: tensor<4xf64>, %tx: tensor<4xf64>, %tw: tensor<4xf64>)
    -> (tensor<4xf64>, tensor<4xf64>) {
  %5 = nt.constant dense<5.0> : tensor<f64>
  %0 = nt.broadcast %5 along [] : tensor<f64> -> tensor<4xf64>
  %1 = nt.multiply %tx, %w : tensor<4xf64>
  %2 = nt.multiply %1, %0 : tensor<4xf64>
  func.return %x, %2 : tensor<4xf64>, tensor<4xf64>
}
func.func private @g(%x: tensor<4xf64>, %w: tensor<4xf64>) -> tensor<4xf64> {
  %y = nt.composite "f"(%x, %w : tensor<4xf64>, tensor<4xf64>) attributes {nt.jvp_rule = @f.jvp} -> tensor<4xf64> {
  ^bb0(%a: tensor<4xf64>, %b: tensor<4xf64>):
    %s = nt.sin %a : tensor<4xf64>
    nt.yield %s : tensor<4xf64>
  }
  func.return %y : tensor<4xf64>
}
func.func @by_jvp(%x: tensor<4xf64>, %w: tensor<4xf64>, %t: tensor<4xf64>) -> (tensor<4xf64>) {
  %g = nt.jvp replay @g(%x, %w : tensor<4xf64>, tensor<4xf64>) tangents(%t : tensor<4xf64>) wrt [0] of [0]
       -> (tensor<4xf64>)
  func.return %g : tensor<4xf64>
}
func.func @transposed(%x: tensor<4xf64>, %w: tensor<4xf64>, %c: tensor<4xf64>) -> (tensor<4xf64>) {
  %g = nt.vjp replay @g(%x, %w : tensor<4xf64>, tensor<4xf64>) cotangents(%c : tensor<4xf64>) wrt [0] of [0]
       -> (tensor<4xf64>)
  func.return %g : tensor<4xf64>
}


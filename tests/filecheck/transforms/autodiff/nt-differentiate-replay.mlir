// RUN: opt-tool %s -p nt-differentiate,canonicalize --split-input-file --verify-diagnostics | filecheck %s

// A replay leaves out calls of Python whose results its derivatives do not need, with what only they need.
// CHECK-LABEL: func.func @unneeded
// CHECK-NOT: nt.custom_call
// CHECK: nt.multiply
func.func private @f(%x: tensor<4xf64>) -> tensor<4xf64> {
  %r = nt.custom_call ordered "prog.draw"(%x) {kinds = ["array"], several = false} : (tensor<4xf64>) -> tensor<4xf64>
  %s = nt.stop_gradient %r : tensor<4xf64>
  %0 = nt.multiply %x, %x : tensor<4xf64>
  %1 = nt.add %0, %s : tensor<4xf64>
  func.return %1 : tensor<4xf64>
}
func.func @unneeded(%x: tensor<4xf64>, %c: tensor<4xf64>) -> tensor<4xf64> {
  %g = nt.vjp replay @f(%x : tensor<4xf64>) cotangents(%c : tensor<4xf64>) wrt [0] of [0] -> (tensor<4xf64>)
  func.return %g : tensor<4xf64>
}

// -----

// NumPy gives the same again.
// CHECK-LABEL: func.func @again
// CHECK: nt.custom_call ordered "numpy.sort"
func.func private @f(%x: tensor<4xf64>) -> tensor<4xf64> {
  %r = nt.custom_call ordered "numpy.sort"(%x) {axis = -1 : i64} : (tensor<4xf64>) -> tensor<4xf64>
  %s = nt.stop_gradient %r : tensor<4xf64>
  %0 = nt.multiply %x, %s : tensor<4xf64>
  func.return %0 : tensor<4xf64>
}
func.func @again(%x: tensor<4xf64>, %c: tensor<4xf64>) -> tensor<4xf64> {
  %g = nt.vjp replay @f(%x : tensor<4xf64>) cotangents(%c : tensor<4xf64>) wrt [0] of [0] -> (tensor<4xf64>)
  func.return %g : tensor<4xf64>
}

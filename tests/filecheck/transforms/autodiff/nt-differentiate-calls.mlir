// Calls of NumPy: the tangents of a decomposition are transposed, and nothing of them is left.
// RUN: opt-tool %s -p nt-differentiate,canonicalize,cse --split-input-file | filecheck %s

// CHECK-LABEL: func.func @of_inv(
// CHECK-SAME: tensor<3x3xf64>, %[[C:[a-z]+]]: tensor<3x3xf64>)
// CHECK: %[[Y:.*]] = nt.custom_call ordered "numpy.linalg.inv"
// CHECK-NOT: nt.custom_call
// CHECK: %[[N:.*]] = nt.negative %[[C]]
// CHECK-COUNT-2: nt.dot
// CHECK-NOT: nt.dot
// CHECK: func.return
func.func private @inv(%x: tensor<3x3xf64>) -> tensor<3x3xf64> {
  %y = nt.custom_call ordered "numpy.linalg.inv"(%x) : (tensor<3x3xf64>) -> tensor<3x3xf64>
  func.return %y : tensor<3x3xf64>
}
func.func @of_inv(%x: tensor<3x3xf64>, %c: tensor<3x3xf64>) -> tensor<3x3xf64> {
  %g = nt.vjp replay @inv(%x : tensor<3x3xf64>) cotangents(%c : tensor<3x3xf64>) wrt [0] of [0] -> (tensor<3x3xf64>)
  func.return %g : tensor<3x3xf64>
}

// -----

// The right side alone: one solve with the transposed matrix.
// CHECK-LABEL: func.func @of_solve(
// CHECK-SAME: %[[A:[a-z]+]]: tensor<3x3xf64>, %{{[a-z]+}}: tensor<3x2xf64>, %[[C:[a-z]+]]: tensor<3x2xf64>)
// CHECK: %[[T:.*]] = nt.transpose %[[A]] perm [1, 0]
// CHECK: %[[G:.*]] = nt.custom_call ordered "numpy.linalg.solve"(%[[T]], %[[C]])
// CHECK-NEXT: func.return %[[G]]
func.func private @solve(%a: tensor<3x3xf64>, %b: tensor<3x2xf64>) -> tensor<3x2xf64> {
  %x = nt.custom_call ordered "numpy.linalg.solve"(%a, %b) : (tensor<3x3xf64>, tensor<3x2xf64>) -> tensor<3x2xf64>
  func.return %x : tensor<3x2xf64>
}
func.func @of_solve(%a: tensor<3x3xf64>, %b: tensor<3x2xf64>, %c: tensor<3x2xf64>) -> tensor<3x2xf64> {
  %g = nt.vjp replay @solve(%a, %b : tensor<3x3xf64>, tensor<3x2xf64>) cotangents(%c : tensor<3x2xf64>) wrt [1] of [0]
       -> (tensor<3x2xf64>)
  func.return %g : tensor<3x2xf64>
}

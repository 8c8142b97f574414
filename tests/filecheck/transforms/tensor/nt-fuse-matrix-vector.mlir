// A product reads each element of a matrix once where it is with a vector: what computes the matrix fuses into the sum.
// RUN: opt-tool %s -p nt-fuse | filecheck %s
// RUN: opt-tool %s -p nt-fuse --verify-roundtrip | filecheck %s

// CHECK-LABEL: func.func @scaled
// CHECK: nt.fusion "y" {
// CHECK: nt.multiply {{.*}}, %A
// CHECK: nt.multiply
// CHECK: nt.reduce add {{.*}} over [1]
// CHECK-NOT: nt.fusion
// CHECK-NOT: nt.dot
func.func @scaled(%a: f64, %A: tensor<?x?xf64> {nt.dims = ["m", "n"]}, %x: tensor<?xf64> {nt.dims = ["n"]}) -> tensor<?xf64> {
  %m = nt.dim %A[0] : tensor<?x?xf64>
  %n = nt.dim %A[1] : tensor<?x?xf64>
  %0 = nt.from_scalar %a : f64 -> tensor<f64>
  %1 = nt.broadcast %0 along [] sizes(%m, %n) : tensor<f64> -> tensor<?x?xf64>
  %2 = nt.multiply %1, %A : tensor<?x?xf64>
  %y = nt.dot %2, %x contract [1] x [0] : tensor<?x?xf64>, tensor<?xf64> -> tensor<?xf64>
  func.return %y : tensor<?xf64>
}

// Through a transpose, from the right, with a vector of extent (n, 1).
// CHECK-LABEL: func.func @turned
// CHECK: nt.fusion "y" {
// CHECK: nt.exp %A
// CHECK: nt.reduce add
// CHECK-NOT: nt.dot
func.func @turned(%A: tensor<4x5xf32>, %x: tensor<4x1xf32>) -> tensor<5x1xf32> {
  %0 = nt.exp %A : tensor<4x5xf32>
  %1 = nt.transpose %0 perm [1, 0] : tensor<4x5xf32> -> tensor<5x4xf32>
  %y = nt.dot %1, %x contract [1] x [0] : tensor<5x4xf32>, tensor<4x1xf32> -> tensor<5x1xf32>
  func.return %y : tensor<5x1xf32>
}

// One that is in memory anyway, and the factor of a product of matrices: products stay.
// CHECK-LABEL: func.func @products
// CHECK: nt.dot %A, %x
// CHECK: nt.fusion
// CHECK: nt.dot {{.*}}, %B
func.func @products(%A: tensor<4x5xf32>, %x: tensor<5xf32>, %B: tensor<5x3xf32>) -> (tensor<4xf32>, tensor<4x3xf32>) {
  %y = nt.dot %A, %x contract [1] x [0] : tensor<4x5xf32>, tensor<5xf32> -> tensor<4xf32>
  %0 = nt.exp %A : tensor<4x5xf32>
  %z = nt.dot %0, %B contract [1] x [0] : tensor<4x5xf32>, tensor<5x3xf32> -> tensor<4x3xf32>
  func.return %y, %z : tensor<4xf32>, tensor<4x3xf32>
}

// Products of tensors: matrices, a stack of them, all of two tensors, halves that are summed in f32.
// RUN: opt-tool %s --verify-roundtrip | filecheck %s

// CHECK-LABEL: func.func @products
func.func @products(%a: tensor<?x5xf32>, %b: tensor<5x?xf32>, %s: tensor<4x?x5xf32>, %t: tensor<4x5x6xf32>,
                    %h: tensor<8xf16>, %p: tensor<3x?xi1>) {
  // CHECK: nt.dot %a, %b contract [1] x [0] : tensor<?x5xf32>, tensor<5x?xf32> -> tensor<?x?xf32>
  %0 = nt.dot %a, %b contract [1] x [0] : tensor<?x5xf32>, tensor<5x?xf32> -> tensor<?x?xf32>
  // CHECK: nt.dot %s, %t batch [0] x [0] contract [2] x [1] : tensor<4x?x5xf32>, tensor<4x5x6xf32> -> tensor<4x?x6xf32>
  %1 = nt.dot %s, %t batch [0] x [0] contract [2] x [1] : tensor<4x?x5xf32>, tensor<4x5x6xf32> -> tensor<4x?x6xf32>
  // CHECK: nt.dot %t, %t contract [0, 1, 2] x [0, 1, 2] : tensor<4x5x6xf32>, tensor<4x5x6xf32> -> tensor<f32>
  %2 = nt.dot %t, %t contract [0, 1, 2] x [0, 1, 2] : tensor<4x5x6xf32>, tensor<4x5x6xf32> -> tensor<f32>
  // CHECK: nt.dot %h, %h contract [0] x [0] : tensor<8xf16>, tensor<8xf16> -> tensor<f32>
  %3 = nt.dot %h, %h contract [0] x [0] : tensor<8xf16>, tensor<8xf16> -> tensor<f32>
  // CHECK: nt.dot %p, %p contract [0] x [0] {note = 1 : i64} : tensor<3x?xi1>, tensor<3x?xi1> -> tensor<?x?xi1>
  %4 = nt.dot %p, %p contract [0] x [0] {note = 1 : i64} : tensor<3x?xi1>, tensor<3x?xi1> -> tensor<?x?xi1>
  // CHECK: nt.dot %h, %h contract [] x [] : tensor<8xf16>, tensor<8xf16> -> tensor<8x8xf32>
  %5 = nt.dot %h, %h contract [] x [] : tensor<8xf16>, tensor<8xf16> -> tensor<8x8xf32>
  func.return
}

// nt-observe: a function of Python is given the operands of each product, of windows what they are of.
// RUN: opt-tool %s -p 'nt-observe{target=seen handle=3}' | filecheck %s

// CHECK-LABEL: func.func @two
// CHECK-NEXT:    %[[A:.*]] = nt.constant dense<[3, 0, 0]> : tensor<3xi64>
// CHECK-NEXT:    nt.custom_call ordered "seen"(%x, %[[A]]) {kinds = ["array", "array"], several = false} : (tensor<8x4xf32>, tensor<3xi64>) -> ()
// CHECK-NEXT:    %[[B:.*]] = nt.constant dense<[3, 0, 1]> : tensor<3xi64>
// CHECK-NEXT:    nt.custom_call ordered "seen"(%w, %[[B]])
// CHECK-NEXT:    %[[D:.*]] = nt.dot %x, %w
// CHECK:         nt.constant dense<[3, 1, 0]> : tensor<3xi64>
// CHECK-NEXT:    nt.custom_call ordered "seen"(%s,
// CHECK:         nt.constant dense<[3, 1, 1]> : tensor<3xi64>
// CHECK-NEXT:    nt.custom_call ordered "seen"(%k,
// CHECK-NEXT:    nt.dot
func.func @two(%x: tensor<8x4xf32>, %w: tensor<4x5xf32>, %s: tensor<2x9xf32>, %k: tensor<3x2x4xf32>) -> (tensor<8x5xf32>, tensor<6x3xf32>) {
  %0 = nt.dot %x, %w contract [1] x [0] : tensor<8x4xf32>, tensor<4x5xf32> -> tensor<8x5xf32>
  %1 = nt.window %s over [1] : tensor<2x9xf32> -> tensor<2x6x4xf32>
  %2 = nt.dot %1, %k contract [0, 2] x [1, 2] : tensor<2x6x4xf32>, tensor<3x2x4xf32> -> tensor<6x3xf32>
  func.return %0, %2 : tensor<8x5xf32>, tensor<6x3xf32>
}

// What is no product of float32, and what a derivative is of, is not observed.
// CHECK-LABEL: func.func @others
// CHECK-NOT:     custom_call
func.func @others(%x: tensor<4x4xf64>) -> tensor<4x4xf64> {
  %0 = nt.dot %x, %x contract [1] x [0] : tensor<4x4xf64>, tensor<4x4xf64> -> tensor<4x4xf64>
  func.return %0 : tensor<4x4xf64>
}
func.func private @inner(%x: tensor<4x4xf32>) -> tensor<4x4xf32> {
  %0 = nt.dot %x, %x contract [1] x [0] : tensor<4x4xf32>, tensor<4x4xf32> -> tensor<4x4xf32>
  func.return %0 : tensor<4x4xf32>
}

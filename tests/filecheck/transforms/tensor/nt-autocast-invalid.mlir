// RUN: opt-tool %s -p 'nt-autocast{to=int8}' --split-input-file --verify-diagnostics

// expected-error @below {{nothing is cast to "int8"}}
func.func @f(%x: tensor<4x4xf32>) -> tensor<4x4xf32> {
  %0 = nt.dot %x, %x contract [1] x [0] : tensor<4x4xf32>, tensor<4x4xf32> -> tensor<4x4xf32>
  func.return %0 : tensor<4x4xf32>
}

// RUN: opt-tool %s -p 'nt-quantise' --split-input-file --verify-diagnostics

// expected-error @below {{nothing is quantised as "int4"}}
func.func @f(%x: tensor<4x4xf32>) -> tensor<4x4xf32> attributes {nt.quantise = "int4"} {
  %0 = nt.dot %x, %x contract [1] x [0] : tensor<4x4xf32>, tensor<4x4xf32> -> tensor<4x4xf32>
  func.return %0 : tensor<4x4xf32>
}

// -----

// A calibration of another text of the function.
func.func @f(%x: tensor<4x4xf32>) -> tensor<4x4xf32> attributes {nt.quantise = {
    "nt-quantise-invalid.mlir:17.0" = {terms = "contract [1] x [0]",
      lhs = {element = "uint8", scale = array<f32: 0.5>, zero = array<i32: 3>},
      rhs = {element = "int8", scale = array<f32: 0.5>, zero = array<i32: 0>}}}} {
  // expected-error @below {{the calibration has another product for nt-quantise-invalid.mlir:17.0: contract [1] x [0], and not contract [1] x [1]}}
  %0 = nt.dot %x, %x contract [1] x [1] : tensor<4x4xf32>, tensor<4x4xf32> -> tensor<4x4xf32>
  func.return %0 : tensor<4x4xf32>
}

// -----

// Weights of another shape.
func.func @f(%x: tensor<4x4xf32>) -> tensor<4x4xf32> attributes {nt.quantise = {
    "nt-quantise-invalid.mlir:29.0" = {terms = "contract [1] x [0]",
      lhs = {element = "uint8", scale = array<f32: 0.5>, zero = array<i32: 3>},
      rhs = {element = "int8", scale = array<f32: 0.5, 0.5>, zero = array<i32: 0, 0>, axis = 1 : i64}}}} {
  // expected-error @below {{the calibration has 2 scales for the 4 indices of axis 1}}
  %0 = nt.dot %x, %x contract [1] x [0] : tensor<4x4xf32>, tensor<4x4xf32> -> tensor<4x4xf32>
  func.return %0 : tensor<4x4xf32>
}

// One case for every rule of nt.dot.
// RUN: opt-tool %s --split-input-file --verify-diagnostics

func.func @elements(%a: tensor<4xf32>, %b: tensor<4xf64>) {
  // expected-error @below {{the element type changes from f32 to f64; use nt.cast}}
  %0 = nt.dot %a, %b contract [0] x [0] : tensor<4xf32>, tensor<4xf64> -> tensor<f32>
  func.return
}

// -----

func.func @pairs(%a: tensor<4x5xf32>) {
  // expected-error @below {{contract [0, 1] x [0] does not pair up}}
  %0 = nt.dot %a, %a contract [0, 1] x [0] : tensor<4x5xf32>, tensor<4x5xf32> -> tensor<5xf32>
  func.return
}

// -----

func.func @range(%a: tensor<4xf32>) {
  // expected-error @below {{contract [1] is not within tensor<4xf32>}}
  %0 = nt.dot %a, %a contract [0] x [1] : tensor<4xf32>, tensor<4xf32> -> tensor<f32>
  func.return
}

// -----

func.func @extents(%a: tensor<4x5xf32>) {
  // expected-error @below {{axis 1 of tensor<4x5xf32> and axis 0 of tensor<4x5xf32> differ in extent}}
  %0 = nt.dot %a, %a contract [1] x [0] : tensor<4x5xf32>, tensor<4x5xf32> -> tensor<4x5xf32>
  func.return
}

// -----

func.func @batch(%a: tensor<4x5xf32>, %b: tensor<3x5xf32>) {
  // expected-error @below {{axis 0 of tensor<4x5xf32> and axis 0 of tensor<3x5xf32> differ in extent}}
  %0 = nt.dot %a, %b batch [0] x [0] contract [1] x [1] : tensor<4x5xf32>, tensor<3x5xf32> -> tensor<4xf32>
  func.return
}

// -----

func.func @twice(%a: tensor<4x4xf32>) {
  // expected-error @below {{an axis of the left operand tensor<4x4xf32> is named twice}}
  %0 = nt.dot %a, %a batch [0] x [0] contract [0] x [1] : tensor<4x4xf32>, tensor<4x4xf32> -> tensor<4x4xf32>
  func.return
}

// -----

func.func @sums(%a: tensor<4xf16>) {
  // expected-error @below {{sums of f16 are f32, not f16}}
  %0 = nt.dot %a, %a contract [0] x [0] : tensor<4xf16>, tensor<4xf16> -> tensor<f16>
  func.return
}

// -----

func.func @result(%a: tensor<4x5xf32>, %b: tensor<5x6xf32>) {
  // expected-error @below {{the result is tensor<4x6xf32>, not tensor<6x4xf32>}}
  %0 = nt.dot %a, %b contract [1] x [0] : tensor<4x5xf32>, tensor<5x6xf32> -> tensor<6x4xf32>
  func.return
}

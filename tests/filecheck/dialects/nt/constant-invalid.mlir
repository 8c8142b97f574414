// What a constant, and a scalar made a tensor, cannot be.
// RUN: opt-tool %s --split-input-file --verify-diagnostics

// expected-error @below {{the value is tensor<4xf32>, the result tensor<5xf32>}}
%0 = "nt.constant"() <{value = dense<1.0> : tensor<4xf32>}> : () -> tensor<5xf32>

// -----

// expected-error @below {{i7 is not an element type of nt}}
%0 = nt.constant dense<1> : tensor<i7>

// -----

// expected-error @below {{expected dense<...> : tensor<...>}}
%0 = nt.constant 1.0 : f32

// -----

func.func @shape(%s: f64) {
  // expected-error @below {{f64 does not become tensor<4xf64>}}
  %0 = nt.from_scalar %s : f64 -> tensor<4xf64>
  func.return
}

// -----

func.func @element(%s: f64) {
  // expected-error @below {{f64 does not become tensor<f32>}}
  %0 = nt.from_scalar %s : f64 -> tensor<f32>
  func.return
}

// -----

func.func @element_type(%s: i7) {
  // expected-error @below {{i7 is not an element type of nt}}
  %0 = nt.from_scalar %s : i7 -> tensor<i7>
  func.return
}

// -----

func.func @to_scalar(%t: tensor<4xf64>) {
  // expected-error @below {{tensor<4xf64> does not become f64}}
  %0 = nt.to_scalar %t : tensor<4xf64> -> f64
  func.return
}

// What a constant, and a scalar made a tensor, cannot be.
// RUN: opt-tool %s --split-input-file --verify-diagnostics

// expected-error @below {{the value is tensor<4xf32>, the result tensor<5xf32>}}
%0 = "nt.constant"() <{value = dense<1.0> : tensor<4xf32>}> : () -> tensor<5xf32>

// -----

// expected-error @below {{i7 is not an element type of nt}}
%0 = nt.constant dense<1> : tensor<i7>

// -----

// expected-error @below {{an element of complex<f32> is a pair, such as (1.0, 0.0)}}
%0 = nt.constant dense<[(1.0, 2.0), 1.0]> : tensor<2xcomplex<f32>>

// -----

// expected-error @below {{an element of complex<f16> is a pair}}
%0 = nt.constant dense<0x7C00> : tensor<complex<f16>>

// -----

// expected-error @below {{a complex number, where f64 is expected}}
%0 = nt.constant dense<(1.0, 2.0)> : tensor<f64>

// -----

// expected-error @below {{a complex number has two parts}}
%0 = nt.constant dense<(1.0, 2.0, 3.0)> : tensor<complex<f64>>

// -----

// expected-error @below {{0x1FFFFFFFF has more bits than f32}}
%0 = nt.constant dense<(1.0, 0x1FFFFFFFF)> : tensor<complex<f32>>

// -----

// expected-error @below {{expected integer value}}
%0 = "test.op"() {value = dense<(1.5, 2)> : tensor<complex<i32>>} : () -> tensor<f32>

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

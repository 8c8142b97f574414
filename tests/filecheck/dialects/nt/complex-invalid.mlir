// Which operations take complex numbers, and what they give.
// RUN: opt-tool %s --split-input-file --verify-diagnostics

func.func @floor(%x: tensor<4xcomplex<f64>>) {
  // expected-error @below {{does not apply to complex<f64>; insert nt.cast}}
  %0 = nt.floor %x : tensor<4xcomplex<f64>>
  func.return
}

// -----

func.func @real(%x: tensor<4xf64>) {
  // expected-error @below {{does not apply to f64; insert nt.cast}}
  %0 = nt.real %x : tensor<4xf64>
  func.return
}

// -----

func.func @absolute(%x: tensor<4xcomplex<f64>>) {
  // expected-error @below {{gives tensor<4xf64>, not tensor<4xcomplex<f64>>}}
  %0 = "nt.absolute"(%x) : (tensor<4xcomplex<f64>>) -> tensor<4xcomplex<f64>>
  func.return
}

// -----

func.func @half(%x: tensor<4xcomplex<f16>>) {
  // expected-error @below {{complex<f16> is not an element type of nt}}
  %0 = nt.negative %x : tensor<4xcomplex<f16>>
  func.return
}

// -----

func.func @parts(%x: tensor<4xf16>) {
  // expected-error @below {{complex<f16> is not an element type of nt}}
  %0 = nt.complex %x, %x : tensor<4xf16>
  func.return
}

// -----

func.func @truth(%x: tensor<4xcomplex<f64>>) {
  // expected-error @below {{the combiner 'or' does not apply to complex<f64>}}
  %0 = nt.reduce or %x over [0] : tensor<4xcomplex<f64>> -> tensor<complex<f64>>
  func.return
}

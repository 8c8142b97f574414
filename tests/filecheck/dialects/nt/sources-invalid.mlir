// Elements of nt.empty have no value, an iota is a vector of i64, and both have a size for each unknown extent.
// RUN: opt-tool %s --split-input-file --verify-diagnostics

func.func @read() -> tensor<4xf64> {
  // expected-error @below {{nt.add reads elements that have no value}}
  %e = nt.empty : tensor<4xf64>
  %r = nt.add %e, %e : tensor<4xf64>
  func.return %r : tensor<4xf64>
}

// -----

func.func @matrix() {
  // expected-error @below {{the result is a vector of i64, not tensor<2x2xi64>}}
  %i = nt.iota : tensor<2x2xi64>
  func.return
}

// -----

func.func @floats() {
  // expected-error @below {{the result is a vector of i64, not tensor<2xf32>}}
  %i = nt.iota : tensor<2xf32>
  func.return
}

// -----

func.func @sizes() {
  // expected-error @below {{0 sizes for the 1 unknown extents of tensor<?xi64>}}
  %i = nt.iota : tensor<?xi64>
  func.return
}

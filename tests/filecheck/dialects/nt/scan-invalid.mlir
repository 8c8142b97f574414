// One case for every rule of nt.scan.
// RUN: opt-tool %s --split-input-file --verify-diagnostics

func.func @axis(%x: tensor<4xf32>) {
  // expected-error @below {{axis 1 of a tensor of rank 1}}
  %0 = nt.scan add %x along 1 : tensor<4xf32>
  func.return
}

// -----

func.func @unknown(%x: tensor<4xf32>) {
  // expected-error @below {{'plus' is not an operation on two operands}}
  %0 = nt.scan plus %x along 0 : tensor<4xf32>
  func.return
}

// -----

func.func @unary(%x: tensor<4xf32>) {
  // expected-error @below {{'exp' is not an operation on two operands}}
  %0 = nt.scan exp %x along 0 : tensor<4xf32>
  func.return
}

// -----

func.func @comparison(%x: tensor<4xf32>) {
  // expected-error @below {{'less' does not make f32 of f32}}
  %0 = nt.scan less %x along 0 : tensor<4xf32>
  func.return
}

// -----

func.func @kind(%x: tensor<4xf32>) {
  // expected-error @below {{'bitwise_and' does not make f32 of f32}}
  %0 = nt.scan bitwise_and %x along 0 : tensor<4xf32>
  func.return
}

// -----

func.func @type(%x: tensor<4xf32>) {
  // expected-error @below {{the type changes from tensor<4xf32> to tensor<4xf64>}}
  %0 = "nt.scan"(%x) {combiner = "add", axis = 0 : i64} : (tensor<4xf32>) -> tensor<4xf64>
  func.return
}

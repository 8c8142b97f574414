// What nt-batch refuses, and what it does slowly: shapes and numbers that differ from slice to slice where there is one.
// RUN: opt-tool %s -p nt-batch --split-input-file --verify-diagnostics

func.func private @f(%x: tensor<4xf32>, %k: tensor<i64>) -> tensor<?xf32> {
  %n = nt.to_scalar %k : tensor<i64> -> i64
  %m = arith.index_cast %n : i64 to index
  // expected-error@+1 {{nt.batch: the size of this array (nt.slice) depends on what is sliced: its slices have no common shape}}
  %0 = nt.slice %x[0] strides [1] sizes(%m) : tensor<4xf32> -> tensor<?xf32>
  func.return %0 : tensor<?xf32>
}
func.func @sizes(%x: tensor<8x4xf32>, %k: tensor<8xi64>) -> tensor<8x?xf32> {
  %r = nt.batch @f(%x, %k : tensor<8x4xf32>, tensor<8xi64>) along [0, 0] -> (tensor<8x?xf32>)
  func.return %r : tensor<8x?xf32>
}

// -----

func.func private @f(%x: tensor<f32>) -> tensor<f32> {
  %0 = nt.exp %x : tensor<f32>
  func.return %0 : tensor<f32>
}
func.func @whole(%x: tensor<8xf32>) -> tensor<f32> {
  // expected-error@+1 {{result 0 differs from slice to slice, and is to be given as it is}}
  %r = nt.batch @f(%x : tensor<8xf32>) along [0] whole [0] -> (tensor<f32>)
  func.return %r : tensor<f32>
}

// -----

// expected-error@+1 {{'f' needs itself: recursion is not batched}}
func.func private @f(%x: tensor<f32>) -> tensor<f32> {
  %0 = func.call @f(%x) : (tensor<f32>) -> tensor<f32>
  func.return %0 : tensor<f32>
}
func.func @recursion(%x: tensor<8xf32>) -> tensor<8xf32> {
  %r = nt.batch @f(%x : tensor<8xf32>) along [0] -> (tensor<8xf32>)
  func.return %r : tensor<8xf32>
}

// -----

func.func private @g(%x: tensor<f32>) -> tensor<f32> {
  func.return %x : tensor<f32>
}
func.func private @f(%x: tensor<f32>) -> tensor<f32> {
  // expected-note@+1 {{here}}
  %0 = nt.vjp replay @g(%x : tensor<f32>) cotangents(%x : tensor<f32>) wrt [0] of [0] -> (tensor<f32>)
  func.return %0 : tensor<f32>
}
func.func @derivative(%x: tensor<8xf32>) -> tensor<8xf32> {
  // expected-error@+1 {{the function 'f' holds nt.vjp}}
  %r = nt.batch @f(%x : tensor<8xf32>) along [0] -> (tensor<8xf32>)
  func.return %r : tensor<8xf32>
}

// -----

func.func private @f(%x: tensor<4xi64>) -> tensor<9xi64> {
  // expected-remark@+1 {{nt.custom_call "numpy.bincount" runs for one slice after the other}}
  %0 = nt.custom_call "numpy.bincount"(%x) : (tensor<4xi64>) -> tensor<9xi64>
  func.return %0 : tensor<9xi64>
}
func.func @slow(%x: tensor<8x4xi64>) -> tensor<8x9xi64> {
  %r = nt.batch @f(%x : tensor<8x4xi64>) along [0] -> (tensor<8x9xi64>)
  func.return %r : tensor<8x9xi64>
}

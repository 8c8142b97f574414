// RUN: opt-tool %s --split-input-file --verify-diagnostics

func.func @missing(%x: tensor<8xf32>) -> tensor<8xf32> {
  // expected-error@+1 {{there is no function @loss}}
  %g = nt.vjp replay @loss(%x : tensor<8xf32>) cotangents(%x : tensor<8xf32>) wrt [0] of [0] -> (tensor<8xf32>)
  func.return %g : tensor<8xf32>
}

// -----

func.func private @f(%n: tensor<8xi32>) -> tensor<8xi32> {
  func.return %n : tensor<8xi32>
}
func.func @integers(%n: tensor<8xi32>) -> tensor<8xi32> {
  // expected-error@+1 {{argument 0 is tensor<8xi32>: only tensors of floats and complex numbers have derivatives}}
  %g = nt.vjp replay @f(%n : tensor<8xi32>) cotangents() wrt [0] of [] -> (tensor<8xi32>)
  func.return %g : tensor<8xi32>
}

// -----

func.func private @f(%x: tensor<8xf32>) -> tensor<8xf32> {
  func.return %x : tensor<8xf32>
}
func.func @operands(%x: tensor<8xf32>) -> tensor<8xf32> {
  // expected-error@+1 {{@f takes (tensor<8xf32>), not (tensor<8xf32>, tensor<8xf32>)}}
  %g = nt.vjp replay @f(%x, %x : tensor<8xf32>, tensor<8xf32>) cotangents(%x : tensor<8xf32>) wrt [0] of [0] -> (tensor<8xf32>)
  func.return %g : tensor<8xf32>
}

// -----

func.func private @f(%x: tensor<8xf32>) -> tensor<8xf32> {
  func.return %x : tensor<8xf32>
}
func.func @cotangents(%x: tensor<8xf32>, %c: tensor<f32>) -> tensor<8xf32> {
  // expected-error@+1 {{cotangents are (tensor<f32>) instead of (tensor<8xf32>)}}
  %g = nt.vjp replay @f(%x : tensor<8xf32>) cotangents(%c : tensor<f32>) wrt [0] of [0] -> (tensor<8xf32>)
  func.return %g : tensor<8xf32>
}

// -----

func.func private @f(%x: tensor<8xf32>) -> tensor<8xf32> {
  func.return %x : tensor<8xf32>
}
func.func @indices(%x: tensor<8xf32>) -> tensor<8xf32> {
  // expected-error@+1 {{wrt [1] must increase within the 1 arguments}}
  %y, %t = nt.jvp @f(%x : tensor<8xf32>) tangents(%x : tensor<8xf32>) wrt [1] of [0] -> (tensor<8xf32>, tensor<8xf32>)
  func.return %t : tensor<8xf32>
}

// -----

func.func private @f(%x: tensor<8xf32>) -> tensor<8xf32> {
  func.return %x : tensor<8xf32>
}
func.func @results(%x: tensor<8xf32>) -> tensor<8xf32> {
  // expected-error@+1 {{its results are (tensor<8xf32>, tensor<8xf32>)}}
  %y = nt.jvp @f(%x : tensor<8xf32>) tangents(%x : tensor<8xf32>) wrt [0] of [0] -> (tensor<8xf32>)
  func.return %y : tensor<8xf32>
}

// -----

// An element type that nt does not have: no derivatives.
func.func private @f(%x: tensor<f32>, %y: tensor<i128>) -> (tensor<i128>, tensor<f32>) {
  func.return %y, %x : tensor<i128>, tensor<f32>
}
func.func @result(%x: tensor<f32>, %y: tensor<i128>) -> tensor<f32> {
  // expected-error@+1 {{result 0 is tensor<i128>: only tensors of floats and complex numbers have derivatives}}
  %g = nt.vjp replay @f(%x, %y : tensor<f32>, tensor<i128>) cotangents(%x : tensor<f32>) wrt [0] of [0] -> (tensor<f32>)
  func.return %g : tensor<f32>
}

// -----

func.func private @f(%x: tensor<f32>, %y: tensor<i128>) -> (tensor<i128>, tensor<f32>) {
  func.return %y, %x : tensor<i128>, tensor<f32>
}
func.func @argument(%x: tensor<f32>, %y: tensor<i128>) -> tensor<i128> {
  // expected-error@+1 {{argument 1 is tensor<i128>: only tensors of floats and complex numbers have derivatives}}
  %g = nt.vjp replay @f(%x, %y : tensor<f32>, tensor<i128>) cotangents(%x : tensor<f32>) wrt [1] of [1] -> (tensor<i128>)
  func.return %g : tensor<i128>
}

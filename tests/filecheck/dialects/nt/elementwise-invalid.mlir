// Elementwise operations refuse what needs a broadcast, a cast, or another number of operands.
// RUN: opt-tool %s --split-input-file --verify-diagnostics

func.func @arity(%x: tensor<4xf32>) {
  // expected-error @below {{nt.add takes 2 operands, not 1}}
  %0 = nt.add %x : tensor<4xf32>
  func.return
}

// -----

func.func @arity_generic(%x: tensor<4xf32>) {
  // expected-error @below {{takes 2 operands, not 1}}
  %0 = "nt.add"(%x) : (tensor<4xf32>) -> tensor<4xf32>
  func.return
}

// -----

func.func @no_tensor(%x: f32) {
  // expected-error @below {{expected a tensor type, not f32}}
  %0 = nt.exp %x : f32
  func.return
}

// -----

func.func @shapes(%x: tensor<4xf32>, %y: tensor<1xf32>) {
  // expected-error @below {{operand 0 is tensor<4xf32>, expected tensor<1xf32>; shapes and element types must agree (insert nt.broadcast or nt.cast)}}
  %0 = "nt.add"(%x, %y) : (tensor<4xf32>, tensor<1xf32>) -> tensor<1xf32>
  func.return
}

// -----

func.func @condition(%x: tensor<4xf32>) {
  // expected-error @below {{operand 0 is tensor<4xf32>, expected tensor<4xi1>}}
  %0 = "nt.select"(%x, %x, %x) : (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  func.return
}

// -----

func.func @kind(%x: tensor<4xi32>) {
  // expected-error @below {{does not apply to i32; insert nt.cast}}
  %0 = nt.exp %x : tensor<4xi32>
  func.return
}

// -----

func.func @element_type(%x: tensor<4xi7>) {
  // expected-error @below {{i7 is not an element type of nt}}
  %0 = nt.negative %x : tensor<4xi7>
  func.return
}

// -----

func.func @result(%x: tensor<4xf32>) {
  // expected-error @below {{gives tensor<4xi1>, not tensor<4xf32>}}
  %0 = "nt.less"(%x, %x) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  func.return
}

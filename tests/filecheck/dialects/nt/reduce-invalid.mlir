// One case for every rule of nt.reduce.
// RUN: opt-tool %s --split-input-file --verify-diagnostics

func.func @count(%x: tensor<4xf32>) {
  // expected-error @below {{1 operands and 2 results}}
  %0, %1 = nt.reduce add %x over [0] : tensor<4xf32> -> tensor<f32>, tensor<f32>
  func.return
}

// -----

func.func @order_of_dims(%x: tensor<4x5xf32>) {
  // expected-error @below {{over [1, 0] must increase within rank 2}}
  %0 = nt.reduce add %x over [1, 0] : tensor<4x5xf32> -> tensor<f32>
  func.return
}

// -----

func.func @range(%x: tensor<4xf32>) {
  // expected-error @below {{over [1] must increase within rank 1}}
  %0 = nt.reduce add %x over [1] : tensor<4xf32> -> tensor<4xf32>
  func.return
}

// -----

func.func @element(%x: tensor<4xf32>) {
  // expected-error @below {{the element type changes from f32 to f64; use nt.cast}}
  %0 = nt.reduce add %x over [0] : tensor<4xf32> -> tensor<f64>
  func.return
}

// -----

func.func @shapes(%x: tensor<4xf32>, %y: tensor<5xf32>) {
  // expected-error @below {{operands of different shapes reduce together}}
  %0, %1 = nt.reduce custom (%x, %y) over [0] : tensor<4xf32>, tensor<5xf32> -> tensor<f32>, tensor<f32>
  func.return
}

// -----

func.func @result(%x: tensor<4x5xf32>) {
  // expected-error @below {{over [1] of tensor<4x5xf32> does not give tensor<5xf32>}}
  %0 = nt.reduce add %x over [1] : tensor<4x5xf32> -> tensor<5xf32>
  func.return
}

// -----

func.func @order(%x: tensor<4xf32>) {
  // expected-error @below {{unknown order 'backwards'; one of any, fixed-tree, sequential}}
  %0 = nt.reduce add %x over [0] order "backwards" : tensor<4xf32> -> tensor<f32>
  func.return
}

// -----

func.func @combiner(%x: tensor<4xf32>) {
  // expected-error @below {{unknown combiner 'mean'; one of add, multiply, maximum, minimum, and, or, or custom}}
  %0 = nt.reduce mean %x over [0] : tensor<4xf32> -> tensor<f32>
  func.return
}

// -----

func.func @named(%x: tensor<4xf32>) {
  // expected-error @below {{the named combiner 'add' takes one operand and nothing else}}
  %0, %1 = nt.reduce add (%x, %x) over [0] : tensor<4xf32>, tensor<4xf32> -> tensor<f32>, tensor<f32>
  func.return
}

// -----

func.func @kind(%x: tensor<4xf32>) {
  // expected-error @below {{the combiner 'and' does not apply to f32}}
  %0 = nt.reduce and %x over [0] : tensor<4xf32> -> tensor<f32>
  func.return
}

// -----

func.func @no_region(%x: tensor<4xf32>) {
  // expected-error @below {{a custom combiner needs a region and one identity an operand}}
  %0 = nt.reduce custom %x over [0] : tensor<4xf32> -> tensor<f32>
  func.return
}

// -----

func.func @region_arguments(%x: tensor<4xf32>) {
  // expected-error @below {{the region takes the accumulators, then the elements, as scalars}}
  %0 = nt.reduce custom %x over [0] identity [0.0 : f32] {
  ^bb0(%a: f32):
    nt.yield %a : f32
  } : tensor<4xf32> -> tensor<f32>
  func.return
}

// -----

func.func @region_result(%x: tensor<4xf32>) {
  // expected-error @below {{the region ends with a nt.yield of the new accumulators}}
  %0 = nt.reduce custom %x over [0] identity [0.0 : f32] {
  ^bb0(%a: f32, %b: f32):
    nt.yield %a, %b : f32, f32
  } : tensor<4xf32> -> tensor<f32>
  func.return
}

// -----

func.func @types(%x: tensor<4xf32>) {
  // expected-error @below {{2 operands but 1 types}}
  %0 = nt.reduce custom (%x, %x) over [0] : tensor<4xf32> -> tensor<f32>
  func.return
}

// -----

func.func @element(%x: tensor<4xi128>) -> tensor<i128> {
  // expected-error @below {{i128 is not an element type of nt}}
  %s = nt.reduce add %x over [0] : tensor<4xi128> -> tensor<i128>
  func.return %s : tensor<i128>
}

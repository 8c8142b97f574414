// What cannot become loops over buffers is refused at its place.
// RUN: opt-tool %s -p convert-nt-to-nest --split-input-file --verify-diagnostics

func.func @carried_number(%n: index, %x: tensor<f64>) -> tensor<f64> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %s = nt.to_scalar %x : tensor<f64> -> f64
  // expected-error @below {{scf.for has a result of type f64, and only tensors are carried}}
  %r = scf.for %t = %c0 to %n step %c1 iter_args(%a = %s) -> (f64) {
    scf.yield %a : f64
  }
  %y = nt.from_scalar %r : f64 -> tensor<f64>
  func.return %y : tensor<f64>
}

// -----

func.func @unknown_step(%n: index, %x: tensor<4xf32>) -> tensor<4xf32> {
  %c0 = arith.constant 0 : index
  // expected-error @below {{a loop on tensors needs a constant positive step}}
  %y = scf.for %t = %c0 to %n step %n iter_args(%a = %x) -> (tensor<4xf32>) {
    scf.yield %a : tensor<4xf32>
  }
  func.return %y : tensor<4xf32>
}

// -----

func.func @reordered(%x: tensor<4xf32>, %y: tensor<4xf32>, %c: i1) -> tensor<4xf32> {
  %r, %s = scf.while (%a = %x, %b = %y) : (tensor<4xf32>, tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
    // expected-error @below {{the condition of a loop on tensors passes on its block's arguments, in order}}
    scf.condition(%c) %b, %a : tensor<4xf32>, tensor<4xf32>
  } do {
  ^bb0(%a: tensor<4xf32>, %b: tensor<4xf32>):
    scf.yield %a, %b : tensor<4xf32>, tensor<4xf32>
  }
  func.return %r : tensor<4xf32>
}

// -----

// An unknown extent that is not outermost makes the index of a reshape non-affine.
func.func @reshape(%x: tensor<4x?xf32>) -> tensor<?x4xf32> {
  %n = nt.dim %x[1] : tensor<4x?xf32>
  // expected-error @below {{the reshape from tensor<4x?xf32> to tensor<?x4xf32> is not affine}}
  %y = nt.reshape %x sizes(%n) : tensor<4x?xf32> -> tensor<?x4xf32>
  func.return %y : tensor<?x4xf32>
}

// -----

// A scalar has no place in memory.
func.func @scalar(%x: tensor<f32>) -> f32 {
  %y = nt.to_scalar %x : tensor<f32> -> f32
  // expected-error @below {{a result of type f32 has no place in memory}}
  func.return %y : f32
}

// -----

// The island writes an argument that the caller does not let it write: a copy, and a remark that says so.
func.func @copy(%a: tensor<8xf64>) -> tensor<8xf64> {
  // expected-remark @below {{a copy of 'a' remains: it is not the function's own to write}}
  %a1 = nt.loops ins() outs(%a : tensor<8xf64>) {
  ^bb0(%m: memref<8xf64>):
    %v = nest.load %m[0] : memref<8xf64>
    nest.store "a" %v, %m[1] : memref<8xf64>
  }
  func.return %a1 : tensor<8xf64>
}

// -----

// expected-error @below {{a function of tensors has one block: branches are scf.if}}
func.func @two_blocks(%x: tensor<4xf32>) -> tensor<4xf32> {
  cf.br ^bb1
^bb1:
  func.return %x : tensor<4xf32>
}

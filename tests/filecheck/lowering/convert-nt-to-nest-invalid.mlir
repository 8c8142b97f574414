// What cannot become loops over buffers is refused at its place.
// RUN: opt-tool %s -p convert-nt-to-nest --split-input-file --verify-diagnostics

func.func @branch(%c: i1, %x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @below {{convert-nt-to-nest has no translation for scf.if on tensors}}
  %y = scf.if %c -> (tensor<4xf32>) {
    scf.yield %x : tensor<4xf32>
  } else {
    %n = nt.negative %x : tensor<4xf32>
    scf.yield %n : tensor<4xf32>
  }
  func.return %y : tensor<4xf32>
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

// A prefetch has one affine index a dimension of a buffer.
// RUN: opt-tool %s --split-input-file --verify-diagnostics

func.func @rank(%x: memref<?x?xf32>, %i: index) {
  // expected-error @below {{1 indices for a buffer of rank 2}}
  nest.prefetch %x[%i] : memref<?x?xf32>
  func.return
}

// -----

func.func @product(%x: memref<?xf32>, %i: index) {
  // expected-error @below {{not an affine expression}}
  nest.prefetch %x[%i * %i] : memref<?xf32>
  func.return
}

// -----

func.func @no_buffer(%x: tensor<4xf32>, %i: index) {
  // expected-error @below {{expected a memref type}}
  nest.prefetch %x[%i] : tensor<4xf32>
  func.return
}

// A prefetch has an index a dimension, and one of four localities.
// RUN: opt-tool %s --split-input-file --verify-diagnostics

func.func @rank(%x: memref<?xf32>, %i: index) {
  // expected-error @below {{2 indices for a buffer of rank 1}}
  memref.prefetch %x[%i, %i], read, locality<3>, data : memref<?xf32>
  func.return
}

// -----

func.func @locality(%x: memref<?xf32>, %i: index) {
  // expected-error @below {{the locality is a number from 0 to 3}}
  memref.prefetch %x[%i], read, locality<4>, data : memref<?xf32>
  func.return
}

// -----

func.func @direction(%x: memref<?xf32>, %i: index) {
  // expected-error @below {{expected read or write}}
  memref.prefetch %x[%i], both, locality<3>, data : memref<?xf32>
  func.return
}

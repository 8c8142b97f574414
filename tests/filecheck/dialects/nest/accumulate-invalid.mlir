// Every rule that a reduction must keep.
// RUN: opt-tool %s --split-input-file --verify-diagnostics

func.func @rank(%x: f32, %s: memref<f32>) {
  // expected-error @below {{1 indices for a buffer of rank 0}}
  nest.accumulate add %x, %s[0] : memref<f32>
  func.return
}

// -----

func.func @pairs(%x: f32, %s: memref<f32>) {
  // expected-error @below {{2 values for 1 buffers}}
  "nest.accumulate"(%x, %x, %s) <{combiner = "add", map = affine_map<() -> ()>, operandSegmentSizes = array<i32: 2, 1, 0, 0, 0>}> : (f32, f32, memref<f32>) -> ()
  func.return
}

// -----

func.func @nothing() {
  // expected-error @below {{0 values for 0 buffers}}
  "nest.accumulate"() <{combiner = "add", map = affine_map<() -> ()>, operandSegmentSizes = array<i32: 0, 0, 0, 0, 0>}> : () -> ()
  func.return
}

// -----

func.func @types(%x: f64, %s: memref<f32>) {
  // expected-error @below {{accumulates f64 into memref<f32>}}
  "nest.accumulate"(%x, %s) <{combiner = "add", map = affine_map<() -> ()>, operandSegmentSizes = array<i32: 1, 1, 0, 0, 0>}> : (f64, memref<f32>) -> ()
  func.return
}

// -----

func.func @domain(%x: f32, %s: memref<f32>, %i: index) {
  // expected-error @below {{domain operands without a domain}}
  "nest.accumulate"(%x, %s, %i) <{combiner = "add", map = affine_map<() -> ()>, operandSegmentSizes = array<i32: 1, 1, 0, 1, 0>}> : (f32, memref<f32>, index) -> ()
  func.return
}

// -----

func.func @order(%x: f32, %s: memref<f32>) {
  // expected-error @below {{unknown order 'random'; one of any, fixed-tree, sequential, atomic}}
  nest.accumulate add %x, %s[] order(random) : memref<f32>
  func.return
}

// -----

func.func @combiner(%x: f32, %s: memref<f32>) {
  // expected-error @below {{unknown combiner 'sum'; one of add, mul, maximum, minimum, maxsi, minsi, maxui, minui, and, or, xor, or custom with a region}}
  nest.accumulate sum %x, %s[] : memref<f32>
  func.return
}

// -----

func.func @several(%x: f32, %s: memref<f32>) {
  // expected-error @below {{the named combiner 'add' takes one value and no region}}
  nest.accumulate add (%x, %x), (%s, %s)[] : memref<f32>, memref<f32>
  func.return
}

// -----

func.func @region(%x: f32, %s: memref<f32>) {
  // expected-error @below {{the named combiner 'add' takes one value and no region}}
  nest.accumulate add %x, %s[] {
  ^bb0(%old: f32, %new: f32):
    nest.yield %new : f32
  } : memref<f32>
  func.return
}

// -----

func.func @kind(%x: f32, %s: memref<f32>) {
  // expected-error @below {{the combiner 'maxsi' does not apply to f32}}
  nest.accumulate maxsi %x, %s[] : memref<f32>
  func.return
}

// -----

func.func @no_region(%x: f32, %s: memref<f32>) {
  // expected-error @below {{a custom combiner needs a region}}
  nest.accumulate custom %x, %s[] : memref<f32>
  func.return
}

// -----

func.func @arguments(%x: f32, %s: memref<f32>) {
  // expected-error @below {{the region takes the old elements, then the new values}}
  nest.accumulate custom %x, %s[] {
  ^bb0(%old: f32):
    nest.yield %old : f32
  } : memref<f32>
  func.return
}

// -----

func.func @yields(%x: f32, %s: memref<f32>) {
  // expected-error @below {{the region ends with a nest.yield of the combined elements}}
  nest.accumulate custom %x, %s[] {
  ^bb0(%old: f32, %new: f32):
    nest.yield %old, %new : f32, f32
  } : memref<f32>
  func.return
}

// -----

func.func @paired(%x: f32, %s: memref<f32>) {
  // expected-error @below {{2 values, 1 buffers and 1 types: they must pair up}}
  nest.accumulate custom (%x, %x), %s[] : memref<f32>
  func.return
}

// -----

func.func @identity(%x: f32, %s: memref<f32>) {
  // expected-error @below {{identity [1.000000e+00 : f16] for elements of f32}}
  nest.accumulate "s" custom (%x), (%s)[] identity [1.0 : f16] {
  ^bb0(%old: f32, %new: f32):
    nest.yield %new : f32
  } : memref<f32>
  func.return
}

// -----

func.func @indices(%x: index, %s: memref<index>) {
  // expected-error @below {{the combiner 'add' does not apply to index}}
  nest.accumulate "s" add %x, %s[] : memref<index>
  func.return
}

// -----

func.func @atomic_float(%v: f32, %s: memref<f32>) {
  // expected-error @below {{no atomic update 'add' of f32; add, maxsi, minsi, maxui, minui, and, or, xor of i32 and i64}}
  nest.accumulate "s" add %v, %s[] order(atomic) : memref<f32>
  func.return
}

// -----

func.func @atomic_byte(%v: i8, %s: memref<i8>) {
  // expected-error @below {{no atomic update 'or' of i8}}
  nest.accumulate "s" or %v, %s[] order(atomic) : memref<i8>
  func.return
}

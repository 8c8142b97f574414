// Buffers that cannot be folded, and why.
// RUN: opt-tool %s -p 'nest-fold-buffer{buffer=u factor=2}' --split-input-file --verify-diagnostics

// expected-error @below {{cannot fold the buffer "u": the caller made it}}
func.func @argument(%u: memref<4xf32>) {
  func.return
}

// -----

func.func @strided() {
  // expected-error @below {{cannot fold the buffer "u": it has strides of its own}}
  %u = nest.alloc "u" : memref<4xf32, strided<[2]>>
  func.return
}

// -----

func.func @view() {
  // expected-error @below {{cannot fold the buffer "u": it is not only loaded and stored}}
  %u = nest.alloc "u" : memref<2x2xf32>
  // expected-note @below {{it is used here}}
  %v = memref.collapse_shape %u [[0, 1]] : memref<2x2xf32> into memref<4xf32>
  func.return
}

// -----

func.func @some_axis(%k: index) {
  // expected-error @below {{the extent of an axis that is not constant is asked for}}
  %u = nest.alloc "u" : memref<4x2xf32>
  // expected-note @below {{here}}
  %d = memref.dim %u, %k : memref<4x2xf32>
  func.return
}

// -----

func.func @together() {
  %one = arith.constant 1 : i64
  // expected-error @below {{a reduction updates it together with another buffer, at the same indices}}
  %u = nest.alloc "u" : memref<4xi64>
  %v = nest.alloc "v" : memref<4xi64>
  // expected-note @below {{the reduction is here}}
  nest.accumulate "u" custom(%one, %one), (%u, %v)[0] identity [0 : i64, 0 : i64] {
  ^bb0(%a: i64, %b: i64, %c: i64, %d: i64):
    nest.yield %a, %b : i64, i64
  } : memref<4xi64>, memref<4xi64>
  func.return
}

// -----

func.func @scalar() {
  // expected-error @below {{cannot fold the buffer "u": it has no dimension 0}}
  %u = nest.alloc "u" : memref<f32>
  func.return
}

// -----

func.func @short() {
  // expected-error @below {{cannot fold the buffer "u": its dimension 0 has 2 elements, no more than the factor}}
  %u = nest.alloc "u" : memref<2xf32>
  func.return
}

// -----

func.func @three_are_needed(%n: index, %x: memref<?xf32>, %y: memref<?xf32>) {
  // expected-error @below {{cannot fold the buffer "u": two elements that are 2 or a multiple of it apart are needed at the same time}}
  %u = nest.alloc "u"(%n) : memref<?xf32>
  nest.for "i" %i = 2 to %n {
    %a = nest.load %x[%i] : memref<?xf32>
    // expected-note @below {{one is written here}}
    nest.store "u" %a, %u[%i] : memref<?xf32>
    // expected-note @below {{when the other one is still to be read here}}
    %b = nest.load %u[%i - 2] : memref<?xf32>
    nest.store "y" %b, %y[%i] : memref<?xf32>
  }
  func.return
}

// -----

// Nothing is read, but threads write one place at the same time.
func.func @threads(%x: memref<8xf32>) {
  // expected-error @below {{cannot fold the buffer "u": two elements that are 2 or a multiple of it apart may be written at the same time}}
  %u = nest.alloc "u" : memref<8xf32>
  nest.for "i" %i = 0 to 8 parallel {
    %a = nest.load %x[%i] : memref<8xf32>
    // expected-note @below {{one is written here}}
    // expected-note @below {{and the other one here}}
    nest.store "u" %a, %u[%i] : memref<8xf32>
  }
  func.return
}

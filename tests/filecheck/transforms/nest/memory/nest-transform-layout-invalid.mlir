// Buffers whose layout cannot change, layouts that lose elements, and texts that are no layouts.
// RUN: opt-tool %s -p 'nest-transform-layout{buffer=u layout="i j -> j i"}' --split-input-file --verify-diagnostics

// expected-error @below {{cannot transform the layout of "u": the caller made it}}
func.func @argument(%u: memref<4x4xf32>) {
  func.return
}

// -----

func.func @scalar() {
  // expected-error @below {{cannot transform the layout of "u": it is one element, without axes}}
  %u = nest.alloc "u" : memref<f32>
  func.return
}

// -----

func.func @strided() {
  // expected-error @below {{cannot transform the layout of "u": it has strides of its own}}
  %u = nest.alloc "u" : memref<4x4xf32, strided<[1, 4]>>
  func.return
}

// -----

func.func @view() {
  // expected-error @below {{it is not only loaded and stored}}
  %u = nest.alloc "u" : memref<2x2xf32>
  // expected-note @below {{it is used here}}
  %v = memref.collapse_shape %u [[0, 1]] : memref<2x2xf32> into memref<4xf32>
  func.return
}

// -----

func.func @some_extent(%k: index) {
  // expected-error @below {{the extent of an axis that is not constant is asked for}}
  %u = nest.alloc "u" : memref<2x2xf32>
  // expected-note @below {{here}}
  %v = memref.dim %u, %k : memref<2x2xf32>
  func.return
}

// -----

func.func @pair(%a: f32, %k: i64, %z: memref<2x2xi64>) {
  // expected-error @below {{a reduction updates it together with another buffer, at the same indices}}
  %u = nest.alloc "u" : memref<2x2xf32>
  // expected-note @below {{the reduction is here}}
  nest.accumulate "u" custom (%a, %k), (%u, %z)[0, 1] {
  ^bb0(%b: f32, %l: i64, %c: f32, %m: i64):
    nest.yield %c, %m : f32, i64
  } : memref<2x2xf32>, memref<2x2xi64>
  func.return
}

// -----

func.func @rank() {
  // expected-error @below {{bad layout: 2 names for the 3 axes of the buffer}}
  %u = nest.alloc "u" : memref<2x2x2xf32>
  func.return
}

// -----

func.func @rank_1() {
  // expected-error @below {{bad layout: the buffer has 1 axes}}
  %u = nest.alloc "u" : memref<2xf32>
  func.return
}

// A loop of at most the width becomes lanes; a longer one is split, and its remainder becomes lanes as well.
// RUN: opt-tool %s -p 'nest-vectorize{loop=i width=16}' --split-input-file | filecheck %s

// CHECK-LABEL: @whole
// CHECK: nest.for "i" {{%\S+}} = 0 to 16 vectorized(16) {
func.func @whole(%x: f32, %y: memref<16xf32>) {
  nest.for "i" %i = 0 to 16 {
    nest.store "y" %x, %y[%i] : memref<16xf32>
  }
  func.return
}

// -----

// CHECK-LABEL: @symbolic
// CHECK: nest.for "i.o" {{%\S+}} = 0 to %n floordiv 16 {
// CHECK-NEXT: nest.for "i.i" {{%\S+}} = 0 to 16 vectorized(16) {
// CHECK: nest.for "i.t" {{%\S+}} = 0 to %n mod 16 vectorized(16) {
func.func @symbolic(%x: f32, %y: memref<?xf32>) {
  %c0 = arith.constant 0 : index
  %n = memref.dim %y, %c0 : memref<?xf32>
  nest.for "i" %i = 0 to %n {
    nest.store "y" %x, %y[%i] : memref<?xf32>
  }
  func.return
}

// -----

// A lower bound that is not zero, and a loop that may be empty.
// CHECK-LABEL: @shifted
// CHECK: nest.for "i.o" {{%\S+}} = 0 to (%n - 3) floordiv 16 {
// CHECK: nest.for "i.t" [[T:%\S+]] = max(0, 16 * ((%n - 3) floordiv 16)) to %n - 3 vectorized(16) {
// CHECK-NEXT: nest.store "y" {{.*}}{{\[}}[[T]] + 3]
func.func @shifted(%n: index, %x: f32, %y: memref<?xf32>) {
  nest.for "i" %i = 3 to %n {
    nest.store "y" %x, %y[%i] : memref<?xf32>
  }
  func.return
}

// -----

// An extent that is known to be at most the width: lanes beyond it are masked.
// CHECK-LABEL: @clamped
// CHECK: nest.for "i" {{%\S+}} = 0 to min(16, %n - 16 * %o) vectorized(16) {
func.func @clamped(%n: index, %x: f32, %y: memref<?xf32>) {
  nest.for "o" %o = 0 to %n ceildiv 16 {
    nest.for "i" %i = 0 to min(16, %n - 16 * %o) {
      nest.store "y" %x, %y[16 * %o + %i] : memref<?xf32>
    }
  }
  func.return
}

// -----

// A reduction that all lanes share, and a loop that all lanes run equally often.
// CHECK-LABEL: @around
// CHECK: nest.for "i" {{%\S+}} = 0 to 16 vectorized(16) {
// CHECK-NEXT: nest.for "k" {{%\S+}} = 0 to %n {
func.func @around(%n: index, %x: memref<?x16xf32>, %y: memref<16xf32>, %s: memref<f32>) {
  nest.for "i" %i = 0 to 16 {
    nest.for "k" %k = 0 to %n {
      %a = nest.load %x[%k, %i] : memref<?x16xf32>
      nest.accumulate "y" add %a, %y[%i] : memref<16xf32>
      nest.accumulate "s" maximum %a, %s[] : memref<f32>
    }
  }
  func.return
}

// -----

// An extent that is no multiple of the width, from 3 on: the remainder of five is vectorized as well.
// CHECK-LABEL: @uneven
// CHECK: nest.for "i.o" [[O:%\S+]] = 0 to 2 {
// CHECK-NEXT: nest.for "i.i" [[V:%\S+]] = 0 to 16 vectorized(16) {
// CHECK-NEXT: nest.store "y" %x, %y[16 * [[O]] + [[V]] + 3]
// CHECK: nest.for "i.t" [[T:%\S+]] = 0 to 5 vectorized(16) {
// CHECK-NEXT: nest.store "y" %x, %y{{\[}}[[T]] + 35]
func.func @uneven(%x: f32, %y: memref<40xf32>) {
  nest.for "i" %i = 3 to 40 {
    nest.store "y" %x, %y[%i] : memref<40xf32>
  }
  func.return
}

// -----

// A step is normalised away.
// CHECK-LABEL: @step
// CHECK: nest.for "i" %[[I:.*]] = 0 to 16 vectorized(16) {
// CHECK-NEXT: nest.store "y" %x, %y[4 * %[[I]] + 3]
func.func @step(%x: f32, %y: memref<67xf32>) {
  nest.for "i" %i = 3 to 67 step 4 {
    nest.store "y" %x, %y[%i] : memref<67xf32>
  }
  func.return
}

// -----

// Every lane loads before the first one stores, as the iterations do.
// CHECK-LABEL: @before
// CHECK: vectorized(16)
// CHECK: vectorized(16)
func.func @before(%n: index, %a: memref<?xf32>) {
  nest.for "i" %i = 0 to %n {
    %v = nest.load %a[%i + 1] : memref<?xf32>
    nest.store "a" %v, %a[%i] : memref<?xf32>
  }
  func.return
}

// -----

// Sixteen iterations apart are two vectors, in loops inside as well.
// CHECK-LABEL: @apart
// CHECK: nest.for "i.o"
// CHECK: vectorized(16)
// CHECK: vectorized(16)
func.func @apart(%n: index, %a: memref<?x9xf32>) {
  nest.for "i" %i = 1 to %n step 2 {
    nest.for "k" %k = 0 to 8 {
      %v = nest.load %a[%i, %k + 1] : memref<?x9xf32>
      nest.store "a" %v, %a[%i + 32, %k] : memref<?x9xf32>
    }
  }
  func.return
}

// What a reduction starts from is set in a nest of its own; through loops around, for several results, from any bound.
// RUN: opt-tool %s -p 'nest-decompose-reduction{loop=i}' --split-input-file | filecheck %s

// A product of matrices: both loops around the store are copied.
// CHECK-LABEL: @matmul
// CHECK: nest.for "i.init" [[I:%\S+]] = 0 to %n {
// CHECK-NEXT: nest.for "j.init" [[J:%\S+]] = 0 to 7 {
// CHECK-NEXT: nest.store "c" %zero, %c{{\[}}[[I]], [[J]]]
// CHECK-NEXT: }
// CHECK-NEXT: }
// CHECK-NEXT: nest.for "i" [[I:%\S+]] = 0 to %n {
// CHECK-NEXT: nest.for "j" [[J:%\S+]] = 0 to 7 {
// CHECK-NEXT: nest.for "k" [[K:%\S+]] = 0 to 5 {
// CHECK: nest.accumulate "c" add {{%\S+}}, %c{{\[}}[[I]], [[J]]]
func.func @matmul(%n: index, %zero: f32, %a: memref<?x5xf32>, %b: memref<5x7xf32>, %c: memref<?x7xf32>) {
  nest.for "i" %i = 0 to %n {
    nest.for "j" %j = 0 to 7 {
      nest.store "c" %zero, %c[%i, %j] : memref<?x7xf32>
      nest.for "k" %k = 0 to 5 {
        %p = nest.load %a[%i, %k] : memref<?x5xf32>
        %q = nest.load %b[%k, %j] : memref<5x7xf32>
        %r = arith.mulf %p, %q : f32
        nest.accumulate "c" add %r, %c[%i, %j] : memref<?x7xf32>
      }
    }
  }
  func.return
}

// -----

// Two sums, which start from what is loaded; a value that both parts need is computed in both.
// CHECK-LABEL: @two
// CHECK: nest.for "i.init" [[I:%\S+]] = 2 to 33 step 3 {
// CHECK-NEXT: [[V:%\S+]] = nest.load %x{{\[}}[[I]]]
// CHECK-NEXT: nest.store "s" [[V]], %s{{\[}}[[I]]]
// CHECK-NEXT: nest.store "t" [[V]], %t{{\[}}[[I]]]
// CHECK-NEXT: }
// CHECK-NEXT: nest.for "i" [[I:%\S+]] = 2 to 33 step 3 {
// CHECK-NEXT: [[V:%\S+]] = nest.load %x{{\[}}[[I]]]
// CHECK-NEXT: nest.for "k" [[K:%\S+]] = 0 to [[I]] {
// CHECK-NEXT: nest.accumulate "s" add [[V]]
// CHECK-NEXT: nest.accumulate "t" mul [[V]]
// CHECK-NEXT: }
// CHECK-NEXT: nest.store "y" [[V]], %y{{\[}}[[I]]]
func.func @two(%x: memref<64xf32>, %s: memref<64xf32>, %t: memref<64xf32>, %y: memref<64xf32>) {
  nest.for "i" %i = 2 to 33 step 3 {
    %v = nest.load %x[%i] : memref<64xf32>
    nest.store "s" %v, %s[%i] : memref<64xf32>
    nest.store "t" %v, %t[%i] : memref<64xf32>
    nest.for "k" %k = 0 to %i {
      nest.accumulate "s" add %v, %s[%i] : memref<64xf32>
      nest.accumulate "t" mul %v, %t[%i] : memref<64xf32>
    }
    nest.store "y" %v, %y[%i] : memref<64xf32>
  }
  func.return
}

// Iterations of an outer loop stand side by side in the inner one; what they have in common is done once.
// RUN: opt-tool %s -p 'nest-unroll-and-jam{loop=i factor=2}' --split-input-file | filecheck %s

// CHECK-LABEL: @symbolic
// CHECK: nest.for "i.o" [[O:%\S+]] = 0 to %n floordiv 2 {
// CHECK-NEXT: nest.store "y" %zero, %y[2 * [[O]]]
// CHECK-NEXT: nest.store "y" %zero, %y[2 * [[O]] + 1]
// CHECK-NEXT: nest.for "k" [[K:%\S+]] = 0 to %m {
// CHECK-NEXT: [[A:%\S+]] = nest.load %x[2 * [[O]], [[K]]]
// CHECK-NEXT: [[A1:%\S+]] = nest.load %x[2 * [[O]] + 1, [[K]]]
// CHECK-NEXT: [[B:%\S+]] = nest.load %w{{\[}}[[K]]]
// CHECK-NEXT: [[C:%\S+]] = arith.mulf [[A]], [[B]]
// CHECK-NEXT: [[C1:%\S+]] = arith.mulf [[A1]], [[B]]
// CHECK-NEXT: nest.accumulate "y" add [[C]], %y[2 * [[O]]]
// CHECK-NEXT: nest.accumulate "y" add [[C1]], %y[2 * [[O]] + 1]
// CHECK-NEXT: }
// CHECK-NEXT: }
// CHECK-NEXT: nest.for "i.t"
// CHECK: nest.for "k.1"
func.func @symbolic(%n: index, %m: index, %x: memref<?x?xf32>, %w: memref<?xf32>, %y: memref<?xf32>) {
  %zero = arith.constant 0.0 : f32
  nest.for "i" %i = 0 to %n {
    nest.store "y" %zero, %y[%i] : memref<?xf32>
    nest.for "k" %k = 0 to %m {
      %a = nest.load %x[%i, %k] : memref<?x?xf32>
      %b = nest.load %w[%k] : memref<?xf32>
      %c = arith.mulf %a, %b : f32
      nest.accumulate "y" add %c, %y[%i] : memref<?xf32>
    }
  }
  func.return
}

// -----

// A lower bound, a step, an uneven extent, loops three deep (the innermost a triangle in the middle one), and a
// buffer that each iteration makes for itself: each copy has one.
// CHECK-LABEL: @deep
// CHECK: nest.for "i.o" [[O:%\S+]] = 0 to 2 {
// CHECK-NEXT: [[T:%\S+]] = nest.alloc "t"
// CHECK-NEXT: [[T1:%\S+]] = nest.alloc "t"
// CHECK-NEXT: nest.for "j" [[J:%\S+]] = 1 to 4 {
// CHECK-NEXT: nest.for "k" [[K:%\S+]] = 0 to [[J]] {
// CHECK-NEXT: nest.store "t" %x, [[T]]{{\[}}[[K]]]
// CHECK-NEXT: nest.store "t" %x, [[T1]]{{\[}}[[K]]]
// CHECK: nest.load [[T]]
// CHECK-NEXT: nest.load [[T1]]
// CHECK: nest.store "y" {{%\S+}}, %y[6 * [[O]] + 2, [[J]]]
// CHECK-NEXT: nest.store "y" {{%\S+}}, %y[6 * [[O]] + 5, [[J]]]
// CHECK: nest.for "i.t" {{%\S+}} = 0 to 1 {
func.func @deep(%x: f32, %y: memref<20x4xf32>) {
  nest.for "i" %i = 2 to 15 step 3 {
    %t = nest.alloc "t" : memref<4xf32>
    nest.for "j" %j = 1 to 4 {
      nest.for "k" %k = 0 to %j {
        nest.store "t" %x, %t[%k] : memref<4xf32>
      }
      %v = nest.load %t[0] : memref<4xf32>
      nest.store "y" %v, %y[%i, %j] : memref<20x4xf32>
    }
  }
  func.return
}

// -----

// The dependence goes two iterations back: two at a time are in no order. A branch is copied whole, its loops renamed.
// CHECK-LABEL: @far
// CHECK: nest.for "i.o"
// CHECK-NEXT: nest.for "j"
// CHECK: nest.if
// CHECK-NEXT: nest.for "k"
// CHECK: nest.if
// CHECK-NEXT: nest.for "k.2"
func.func @far(%n: index, %c: i1, %x: f32, %y: memref<?x?xf32>) {
  nest.for "i" %i = 2 to %n {
    nest.for "j" %j = 0 to %n - 1 {
      %a = nest.load %y[%i - 2, %j + 1] : memref<?x?xf32>
      nest.store "y" %a, %y[%i, %j] : memref<?x?xf32>
      nest.if %c {
        nest.for "k" %k = 0 to 2 {
          nest.accumulate "y" add %x, %y[%i, %j] : memref<?x?xf32>
        }
      }
    }
  }
  func.return
}

// -----

// Loops in copies of a branch get names that no loop has, those after the branch included.
// CHECK-LABEL: @names
// CHECK: nest.if %c {
// CHECK-NEXT: nest.for "k" %
// CHECK: nest.if %c {
// CHECK-NEXT: nest.for "k.2" %
// CHECK: nest.for "k.1" %
func.func @names(%c: i1, %x: f32, %y: memref<4x8xf32>, %z: memref<4x8xf32>) {
  nest.for "i" %i = 0 to 4 {
    nest.if %c {
      nest.for "k" %k = 0 to 8 {
        nest.store "y" %x, %y[%i, %k] : memref<4x8xf32>
      }
    }
    nest.for "k.1" %l = 0 to 8 {
      nest.store "z" %x, %z[%i, %l] : memref<4x8xf32>
    }
  }
  func.return
}

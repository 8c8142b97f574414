// Statements that no one reads go, and what is left without a use or a body; what the caller may see stays.
// RUN: opt-tool %s -p nest-eliminate-dead --split-input-file | filecheck %s

// The second buffer is read for the first only, which nothing reads; the load of x is of use elsewhere.
// CHECK-LABEL: @chain
// CHECK-NEXT: nest.for "i" [[I:%\S+]] = 3 to %n step 2 {
// CHECK-NEXT: [[A:%\S+]] = nest.load %x{{\[}}[[I]]]
// CHECK-NEXT: nest.store "y" [[A]], %y{{\[}}[[I]]]
// CHECK-NEXT: }
// CHECK-NEXT: func.return
func.func @chain(%n: index, %x: memref<?xf32>, %y: memref<?xf32>) {
  %t = nest.alloc "t"(%n) : memref<?xf32>
  %u = nest.alloc "u" : memref<33xf32>
  nest.for "i" %i = 3 to %n step 2 {
    %a = nest.load %x[%i] : memref<?xf32>
    %b = math.exp %a : f32
    nest.store "t" %b, %t[%i] where (%i < 9) : memref<?xf32>
    nest.store "y" %a, %y[%i] : memref<?xf32>
  }
  nest.for "j" %j = 0 to 33 {
    nest.for "k" %k = 0 to %j parallel {
      %c = nest.load %t[%k] : memref<?xf32>
      nest.accumulate "u" add %c, %u[%j] : memref<33xf32>
    }
  }
  func.return
}

// -----

// A sum that is read, an index that may fail, and a branch with one half.
// CHECK-LABEL: @stays
// CHECK: nest.alloc "s"
// CHECK-NEXT: nest.store "s"
// CHECK-NEXT: nest.for "i"
// CHECK-NEXT: nest.index
// CHECK-NEXT: nest.accumulate "s"
// CHECK-NEXT: nest.if %c {
// CHECK-NEXT: } else {
// CHECK-NEXT: nest.store "y"
// CHECK-NEXT: }
// CHECK-NEXT: }
// CHECK-NEXT: nest.load %s
// CHECK-NEXT: nest.store "y"
// CHECK-NEXT: func.return
func.func @stays(%n: index, %c: i1, %v: f32, %y: memref<?xf32>) {
  %s = nest.alloc "s" : memref<f32>
  %d = nest.alloc "d" : memref<8xf32>
  nest.store "s" %v, %s[] : memref<f32>
  nest.for "i" %i = 0 to %n {
    %k = nest.index %i of 8 axis 0 of "d"
    nest.store "d" %v, %d[%k] : memref<8xf32>
    nest.accumulate "s" add %v, %s[] : memref<f32>
    nest.if %c {
      nest.store "d" %v, %d[3] : memref<8xf32>
    } else {
      nest.store "y" %v, %y[%i] : memref<?xf32>
    }
    nest.if %c {
      nest.store "d" %v, %d[3] : memref<8xf32>
    }
  }
  %w = nest.load %s[] : memref<f32>
  nest.store "y" %w, %y[0] : memref<?xf32>
  func.return
}

// -----

// Of a reduction with two results one is read: both stay. A view may be read, and so may what is handed on.
// CHECK-LABEL: @shared
// CHECK: nest.alloc "best"
// CHECK: nest.alloc "at"
// CHECK: nest.accumulate "best"
// CHECK: nest.alloc "grid"
// CHECK: nest.store "grid"
// CHECK-NOT: "lost"
// CHECK: func.return
func.func @shared(%x: memref<16xf32>, %y: memref<f32>) {
  %zero = arith.constant 0.0 : f32
  %first = arith.constant 0 : i64
  %best = nest.alloc "best" : memref<f32>
  %at = nest.alloc "at" : memref<i64>
  nest.store "best" %zero, %best[] : memref<f32>
  nest.store "at" %first, %at[] : memref<i64>
  nest.for "j" %j = 0 to 16 {
    %a = nest.load %x[%j] : memref<16xf32>
    %k = arith.index_cast %j : index to i64
    nest.accumulate "best" custom (%a, %k), (%best, %at)[] {
    ^bb0(%old: f32, %old_k: i64, %new: f32, %new_k: i64):
      %c = arith.cmpf ogt, %new, %old : f32
      %v = arith.select %c, %new, %old : f32
      %w = arith.select %c, %new_k, %old_k : i64
      nest.yield %v, %w : f32, i64
    } : memref<f32>, memref<i64>
  }
  %b = nest.load %best[] : memref<f32>
  nest.store "y" %b, %y[] : memref<f32>
  %grid = nest.alloc "grid" : memref<4x4xf32>
  nest.store "grid" %b, %grid[1, 2] : memref<4x4xf32>
  %flat = memref.collapse_shape %grid [[0, 1]] : memref<4x4xf32> into memref<16xf32>
  %g = nest.load %flat[6] : memref<16xf32>
  nest.accumulate "y" add %g, %y[] : memref<f32>
  nest.for "l" %l = 0 to 4 {
    %lost = nest.alloc "lost" : memref<f32>
    nest.store "lost" %zero, %lost[] : memref<f32>
    %q = nest.load %lost[] : memref<f32>
    nest.store "lost" %q, %lost[] : memref<f32>
  }
  func.return
}

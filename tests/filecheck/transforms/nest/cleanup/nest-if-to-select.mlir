// A branch that only chooses what a variable becomes is a selection.
// RUN: opt-tool %s -p nest-if-to-select --split-input-file | filecheck %s

// The element is loaded once, and its magnitude computed once: it was so before.
// CHECK-LABEL: @largest
// CHECK: nest.load %a[%i]
// CHECK-NEXT: [[A:%\S+]] = math.absf
// CHECK-NEXT: [[C:%\S+]] = arith.cmpf ogt, [[A]], %old : f64
// CHECK-NEXT: [[B:%\S+]] = arith.select [[C]], [[A]], %old : f64
// CHECK-NEXT: nest.store "out" [[B]], %out[%i]
// CHECK-NOT: nest.alloc
func.func @largest(%a: memref<8xf64>, %out: memref<8xf64>, %old: f64) {
  nest.for "i" %i = 0 to 8 {
    %w = nest.load %a[%i] : memref<8xf64>
    %x = math.absf %w : f64
    %c = arith.cmpf ogt, %x, %old : f64
    %t = nest.alloc "best" : memref<f64>
    nest.if %c {
      %y = nest.load %a[%i] : memref<8xf64>
      %z = math.absf %y : f64
      nest.store "best" %z, %t[] : memref<f64>
    } else {
      nest.store "best" %old, %t[] : memref<f64>
    }
    %best = nest.load %t[] : memref<f64>
    nest.store "out" %best, %out[%i] : memref<8xf64>
  }
  func.return
}

// -----

// Two variables, one of which is set before as well; a branch in a branch. What is loaded is in its buffer.
// CHECK-LABEL: @nested
// CHECK-NOT: nest.if
// CHECK: [[Y:%\S+]] = nest.load %a[%i - 1]
// CHECK-NEXT: [[M:%\S+]] = arith.select %d, [[Y]], %x
// CHECK-NEXT: [[W:%\S+]] = arith.addi
// CHECK-NEXT: [[N:%\S+]] = arith.select %c, [[M]], %x
// CHECK-NEXT: [[K:%\S+]] = arith.select %c, [[W]], %x
// CHECK-NEXT: nest.store "s" [[K]], %s[]
// CHECK-NEXT: nest.store "out" [[N]], %out[%i]
func.func @nested(%a: memref<8xi64>, %out: memref<8xi64>, %c: i1, %d: i1, %x: i64) {
  %s = nest.alloc "s" : memref<i64>
  nest.store "s" %x, %s[] : memref<i64>
  nest.for "i" %i = 1 to 8 {
    %t = nest.alloc "t" : memref<i64>
    nest.if %c {
      %u = nest.alloc "u" : memref<i64>
      nest.if %d {
        %y = nest.load %a[%i - 1] : memref<8xi64>
        nest.store "u" %y, %u[] : memref<i64>
      } else {
        nest.store "u" %x, %u[] : memref<i64>
      }
      %v = nest.load %u[] : memref<i64>
      nest.store "t" %v, %t[] : memref<i64>
      %w = arith.addi %x, %x : i64
      nest.store "s" %w, %s[] : memref<i64>
    } else {
      nest.store "t" %x, %t[] : memref<i64>
      nest.store "s" %x, %s[] : memref<i64>
    }
    %z = nest.load %t[] : memref<i64>
    nest.store "out" %z, %out[%i] : memref<8xi64>
  }
  func.return
}

// -----

// An element that may be outside, a function, a division, a store to an array, one branch alone.
// CHECK-LABEL: @kept
// CHECK-COUNT-5: nest.if
// CHECK-NOT: arith.select
func.func @kept(%a: memref<8xf32>, %n: i32, %m: i32, %c: i1, %x: f32) {
  nest.for "i" %i = 0 to 8 {
    %t = nest.alloc "t" : memref<f32>
    nest.if %c {
      %y = nest.load %a[%i + 1] : memref<8xf32>
      nest.store "t" %y, %t[] : memref<f32>
    } else {
      nest.store "t" %x, %t[] : memref<f32>
    }
    nest.if %c {
      %y = math.exp %x : f32
      nest.store "t" %y, %t[] : memref<f32>
    } else {
      nest.store "t" %x, %t[] : memref<f32>
    }
    %u = nest.alloc "u" : memref<i32>
    nest.if %c {
      %y = arith.divsi %n, %m : i32
      nest.store "u" %y, %u[] : memref<i32>
    } else {
      nest.store "u" %n, %u[] : memref<i32>
    }
    nest.if %c {
      nest.store "a" %x, %a[%i] : memref<8xf32>
    } else {
      nest.store "t" %x, %t[] : memref<f32>
    }
    nest.if %c {
      nest.store "t" %x, %t[] : memref<f32>
    }
  }
  func.return
}

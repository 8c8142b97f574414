// Bounds, domains, loops, branches and divisions that say nothing are left out; what says something stays.
// RUN: opt-tool %s -p nest-simplify --split-input-file | filecheck %s

// CHECK-LABEL: @everything
// CHECK-NEXT: nest.for "o" %o = 0 to 4 {
// CHECK-NEXT: nest.for "v" %v = 0 to 8 {
// CHECK-NEXT: nest.store "y" %x, %y[%o, 3] : memref<4x8xf32>
// CHECK-NEXT: nest.store "z" %x, %y[%o, %v] : memref<4x8xf32>
// CHECK-NEXT: }
// CHECK-NEXT: }
// CHECK-NEXT: return
func.func @everything(%x: f32, %y: memref<4x8xf32>) {
  nest.for "o" %o = 0 to 4 {
    nest.for "v" %v = 0 to min(8, 32 - 8 * %o) {
      nest.for "u" %u = 3 to 4 {
        nest.store "y" %x, %y[(8 * %o + %v) floordiv 8, %u] where (%o < 4) : memref<4x8xf32>
      }
      nest.store "z" %x, %y[(%o + 8) mod 8, %v mod 8] : memref<4x8xf32>
      nest.store "w" %x, %y[%o, %v] where (%v >= 8) : memref<4x8xf32>
    }
  }
  nest.for "t" %t = 5 to 5 {
    nest.store "y" %x, %y[%t, 0] : memref<4x8xf32>
  }
  func.return
}

// -----

// An extent that is not known, uneven: nothing here is settled.
// CHECK-LABEL: @symbolic
// CHECK: nest.for "o" %o = 1 to %n ceildiv 8 {
// CHECK-NEXT: nest.for "v" %v = 0 to min(8, %n - 8 * %o) {
// CHECK-NEXT: nest.store "y" %x, %y[8 * %o + %v] where (3 * %v < %n) : memref<?xf32>
// CHECK-NEXT: nest.store "y" %x, %y[(%o + %v) floordiv 8] : memref<?xf32>
func.func @symbolic(%x: f32, %n: index, %y: memref<?xf32>) {
  nest.for "o" %o = 1 to %n ceildiv 8 {
    nest.for "v" %v = 0 to min(8, %n - 8 * %o) {
      nest.store "y" %x, %y[8 * %o + %v] where (3 * %v < %n, 8 * %o + %v < %n) : memref<?xf32>
      nest.store "y" %x, %y[(%o + %v) floordiv 8] : memref<?xf32>
    }
  }
  func.return
}

// -----

// "j" runs only where i < n: but the load before it is guarded by that constraint, which stays.
// CHECK-LABEL: @guards
// CHECK: nest.load %a[%i]
// CHECK-NEXT: nest.for "j"
// CHECK-NEXT: nest.store "y" {{.*}} where (%i < %n)
func.func @guards(%n: index, %a: memref<?xf32>, %y: memref<?xf32>) {
  nest.for "i" %i = 0 to %n + 3 {
    %v = nest.load %a[%i] : memref<?xf32>
    nest.for "j" %j = 0 to %n - %i {
      nest.store "y" %v, %y[%i + %j] where (%i < %n) : memref<?xf32>
    }
  }
  func.return
}

// -----

// The conditions of branches count: of the first the first half is taken; in the second, n is at least 8.
// CHECK-LABEL: @branches
// CHECK: nest.for "i" %i = 0 to 7 {
// CHECK-NEXT: nest.store "a"
// CHECK-NEXT: }
// CHECK: nest.if
// CHECK-NEXT: nest.for "k" %k = 2 to 8 {
// CHECK-NEXT: nest.store "c" %x, %y[%k] : memref<?xf32>
// CHECK-NEXT: }
// CHECK-NEXT: } else {
// CHECK-NEXT: nest.for "l" %l = 0 to %n {
// CHECK-NEXT: nest.store "d"
func.func @branches(%x: f32, %n: index, %y: memref<?xf32>) {
  %c8 = arith.constant 8 : index
  %big = arith.cmpi sge, %n, %c8 : index
  nest.for "i" %i = 0 to 7 {
    %in = arith.cmpi slt, %i, %c8 : index
    nest.if %in {
      nest.store "a" %x, %y[%i] : memref<?xf32>
    } else {
      nest.store "b" %x, %y[%i] : memref<?xf32>
    }
  }
  nest.if %big {
    nest.for "k" %k = 2 to min(8, %n) {
      nest.store "c" %x, %y[%k] where (%k < %n) : memref<?xf32>
    }
  } else {
    nest.for "l" %l = 0 to min(8, %n) {
      nest.store "d" %x, %y[%l] : memref<?xf32>
    }
  }
  func.return
}

// -----

// Threads stay, and so does the constant end of an unrolled loop.
// CHECK-LABEL: @marked
// CHECK: nest.for "b" %b = 0 to min(1, %n) bind "block.x" {
// CHECK-NEXT: nest.for "u" %u = 0 to min(9, %n) unrolled {
// CHECK: nest.for "p" %p = 0 to %n parallel {
func.func @marked(%x: f32, %n: index, %y: memref<?xf32>) {
  %c8 = arith.constant 8 : index
  %small = arith.cmpi sle, %n, %c8 : index
  nest.if %small {
    nest.for "b" %b = 0 to min(1, %n) bind "block.x" {
      nest.for "u" %u = 0 to min(9, %n) unrolled {
        nest.store "a" %x, %y[%u] : memref<?xf32>
      }
    }
    nest.for "p" %p = 0 to min(9, %n) parallel {
      nest.store "b" %x, %y[%p] : memref<?xf32>
    }
  }
  func.return
}

// -----

// Redundant predicates: masks that are always set, statements whose masks never are, also because of their domain.
// CHECK-LABEL: @masks
// CHECK-NEXT: arith.constant 8 : index
// CHECK-NEXT: nest.for "i" %i = 2 to 7 {
// CHECK-NEXT: nest.store "a" %x, %y[%i] : memref<?xf32>
// CHECK-NEXT: nest.accumulate "b" add %x, %y[%i] where (%i < %n) : memref<?xf32>
// CHECK-NEXT: [[AT:%\S+]] = arith.cmpi slt, %n, %c8 : index
// CHECK-NEXT: nest.store "e" %x, %y[%i] where (%n < 8) mask [[AT]] : memref<?xf32>
// CHECK-NEXT: nest.store "f" %x, %y[%i] mask %m : memref<?xf32>
// CHECK-NEXT: }
func.func @masks(%x: f32, %n: index, %m: i1, %y: memref<?xf32>) {
  %c8 = arith.constant 8 : index
  nest.for "i" %i = 2 to 7 {
    %in = arith.cmpi slt, %i, %c8 : index
    nest.store "a" %x, %y[%i] mask %in : memref<?xf32>
    nest.accumulate "b" add %x, %y[%i] where (%i < %n) mask %in : memref<?xf32>
    %out = arith.cmpi sge, %i, %c8 : index
    nest.store "c" %x, %y[%i] mask %out : memref<?xf32>
    %at = arith.cmpi slt, %n, %c8 : index
    nest.store "d" %x, %y[%i] where (%n >= 9) mask %at : memref<?xf32>
    nest.store "e" %x, %y[%i] where (%n < 8) mask %at : memref<?xf32>
    nest.store "f" %x, %y[%i] mask %m : memref<?xf32>
  }
  func.return
}

// -----

// A mask that a branch settles stays: it guards the load before the branch, too.
// CHECK-LABEL: @mask_in_a_branch
// CHECK: nest.load %x[%i]
// CHECK-NEXT: nest.if [[IN:%\S+]] {
// CHECK-NEXT: nest.store "y" {{%\S+}}, %y[%i] mask [[IN]] : memref<?xf32>
func.func @mask_in_a_branch(%n: index, %x: memref<?xf32>, %y: memref<?xf32>) {
  nest.for "i" %i = 0 to 8 {
    %in = arith.cmpi slt, %i, %n : index
    %a = nest.load %x[%i] : memref<?xf32>
    nest.if %in {
      nest.store "y" %a, %y[%i] mask %in : memref<?xf32>
    }
  }
  func.return
}

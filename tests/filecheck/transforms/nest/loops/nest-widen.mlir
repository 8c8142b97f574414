// A loop gets the same range in all iterations of one around it, and the statements in it say when they run.
// RUN: opt-tool %s -p 'nest-widen{loop=i within=d}' --split-input-file | filecheck %s

// Bounds that do not depend on the loop around stay.
// CHECK-LABEL: @diagonals
// CHECK: nest.for "d" %d = 2 to %m + %n - 3 {
// CHECK-NEXT: nest.for "i" %i = 1 to %n - 1 {
// CHECK: nest.store "a" %{{.*}}, %a[%i, %d - %i] where (%d < %i + %m - 1, %i < %d) : memref<?x?xf32>
func.func @diagonals(%a: memref<?x?xf32>) {
  %c0 = arith.constant 0 : index
  %n = memref.dim %a, %c0 : memref<?x?xf32>
  %c1 = arith.constant 1 : index
  %m = memref.dim %a, %c1 : memref<?x?xf32>
  nest.for "d" %d = 2 to %m + %n - 3 {
    nest.for "i" %i = max(1, %d - %m + 2) to min(%n - 1, %d) {
      %v = nest.load %a[%i - 1, %d - %i] : memref<?x?xf32>
      nest.store "a" %v, %a[%i, %d - %i] : memref<?x?xf32>
    }
  }
  func.return
}

// -----

// Where all bounds do, the range is the largest.
// CHECK-LABEL: @triangle
// CHECK: nest.for "i" %i = 0 to %n - 1 {
// CHECK: where (%i < %d)
func.func @triangle(%a: memref<?x?xf32>, %x: f32) {
  %c0 = arith.constant 0 : index
  %n = memref.dim %a, %c0 : memref<?x?xf32>
  nest.for "d" %d = 0 to %n {
    nest.for "i" %i = 0 to %d {
      nest.store "a" %x, %a[%d, %i] : memref<?x?xf32>
    }
  }
  func.return
}

// -----

// And the smallest first index.
// CHECK-LABEL: @upper
// CHECK: nest.for "i" %i = 3 to 11 {
// CHECK: where (%d < %i + 1)
func.func @upper(%a: memref<8x11xf32>, %x: f32) {
  nest.for "d" %d = 3 to 8 {
    nest.for "i" %i = %d to 11 {
      nest.store "a" %x, %a[%d, %i] : memref<8x11xf32>
    }
  }
  func.return
}

// -----

// Where more than statements would be done in the new iterations, the body becomes a branch.
// CHECK-LABEL: @reads
// CHECK: nest.for "i" %i = 0 to 7 {
// CHECK-NEXT: [[P:%\S+]] = arith.cmpi slt, %i, %d : index
// CHECK-NEXT: nest.if [[P]] {
// CHECK-NEXT: nest.load %n[%i]
func.func @reads(%x: f32, %n: memref<8xindex>, %y: memref<8x32xf32>) {
  nest.for "d" %d = 0 to 8 {
    nest.for "i" %i = 0 to %d {
      %end = nest.load %n[%i] : memref<8xindex>
      nest.for "j" %j = 0 to %end {
        nest.store "y" %x, %y[%i, %j] : memref<8x32xf32>
      }
    }
  }
  func.return
}

// -----

// A check does not fail in an iteration that the program has not.
// CHECK-LABEL: @checks
// CHECK: nest.for "i" %i = 0 to 7 {
// CHECK: nest.if {{%\S+}} {
// CHECK-NEXT: nest.index
func.func @checks(%x: f32, %n: index, %y: memref<8x32xf32>) {
  nest.for "d" %d = 0 to 8 {
    nest.for "i" %i = 0 to %d {
      %k = nest.index %i of %n axis 1 of "y"
      nest.store "y" %x, %y[%d, %k] : memref<8x32xf32>
    }
  }
  func.return
}

// RUN: opt-tool %s -p nest-schedule-cuda --split-input-file --verify-diagnostics | filecheck %s
// What is read along one axis and written along another goes through tiles in shared memory, so that both are contiguous.

// CHECK-LABEL: @transpose
// CHECK: nest.for "i.o" [[IO:%\S+]] = 0 to %n ceildiv 32 bind "block.x" {
// CHECK-NEXT: nest.for "j.o" [[JO:%\S+]] = 0 to %m ceildiv 32 bind "block.y" {
// CHECK-NEXT: [[T:%\S+]] = nest.alloc "x_tile" : memref<32x33xf32, 3 : i64>
// CHECK-NEXT: nest.for "row.o" [[K:%\S+]] = 0 to 4 {
// CHECK-NEXT: nest.for "row.i" [[R:%\S+]] = 0 to 8 bind "thread.y" {
// CHECK-NEXT: nest.for "column" [[C:%\S+]] = 0 to 32 bind "thread.x" {
// CHECK-NEXT: [[E:%\S+]] = nest.load %x[32 * [[JO]] + 8 * [[K]] + [[R]], 32 * [[IO]] + [[C]]]
// CHECK-NEXT: nest.store "x_tile" [[E]], [[T]][8 * [[K]] + [[R]], [[C]]] where (
// CHECK: nest.for "i.i.o" [[IK:%\S+]] = 0 to 4 {
// CHECK-NEXT: nest.for "i.i.i" [[IT:%\S+]] = 0 to 8 bind "thread.y" {
// CHECK-NEXT: nest.for "j.i" [[JT:%\S+]] = 0 to 32 bind "thread.x" {
// CHECK-NEXT: nest.load [[T]]{{\[}}[[JT]], 8 * [[IK]] + [[IT]]]
// CHECK-NEXT: nest.store "y" {{.*}}where (32 * [[IO]] + 8 * [[IK]] + [[IT]] < %n, 32 * [[JO]] + [[JT]] < %m)
func.func @transpose(%x: memref<?x?xf32> {nest.dims = ["m", "n"]}, %y: memref<?x?xf32> {nest.role = "out", nest.dims = ["n", "m"]}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %n = memref.dim %y, %c0 : memref<?x?xf32>
  %m = memref.dim %y, %c1 : memref<?x?xf32>
  nest.for "i" %i = 0 to %n {
    nest.for "j" %j = 0 to %m {
      %v = nest.load %x[%j, %i] : memref<?x?xf32>
      nest.store "y" %v, %y[%i, %j] : memref<?x?xf32>
    }
  }
  func.return
}

// -----

// In the middle of a computation; elements of two bytes, tiles of 64 columns, two of them a thread's at a time. What lies along the result, and what is the
// same in a row (loaded before the loop over columns in the source), is read where it is.
// CHECK-LABEL: @plus_transpose
// CHECK: nest.alloc "x_tile" : memref<64x65xf16, 3 : i64>
// CHECK: nest.for "row.i" {{%\S+}} = 0 to 8 bind "thread.y" {
// CHECK-NEXT: nest.for "column.o" {{%\S+}} = 0 to 32 bind "thread.x" {
// CHECK-NEXT: nest.for "column.i" {{%\S+}} = 0 to 2 vectorized(2) {
// CHECK: nest.for "j.i.o" {{%\S+}} = 0 to 32 bind "thread.x" {
// CHECK-NEXT: nest.for "j.i.i" {{%\S+}} = 0 to 2 vectorized(2) {
// CHECK-NEXT: nest.load %s[
// CHECK-NEXT: nest.load %x_tile[
// CHECK-NEXT: nest.load %w[
func.func @plus_transpose(%x: memref<100x200xf16>, %w: memref<200x100xf16>, %s: memref<200xf16>, %y: memref<200x100xf16>) {
  nest.for "i" %i = 0 to 200 {
    %a = nest.load %s[%i] : memref<200xf16>
    nest.for "j" %j = 0 to 100 {
      %v = nest.load %x[%j, %i] : memref<100x200xf16>
      %b = nest.load %w[%i, %j] : memref<200x100xf16>
      %c = arith.addf %v, %b : f16
      %d = arith.mulf %c, %a : f16
      nest.store "y" %d, %y[%i, %j] : memref<200x100xf16>
    }
  }
  func.return
}

// -----

// Five axes: two that stay neighbours are one, and two that do not are one loop over blocks.
// CHECK-LABEL: @permute
// CHECK: nest.for "i_j" [[B:%\S+]] = 0 to 6 bind "block.z" {
// CHECK-NEXT: nest.for "k_l.o" {{%\S+}} = 0 to 7 bind "block.y" {
// CHECK-NEXT: nest.for "m.o" {{%\S+}} = 0 to 2 bind "block.x" {
// CHECK-NEXT: nest.alloc "x_tile" : memref<32x33xf64, 3 : i64>
// CHECK: nest.load %x_flat{{\[}}[[B]] mod 3, [[B]] floordiv 3, 32 *
func.func @permute(%x: memref<3x2x40x4x50xf64>, %y: memref<2x3x4x50x40xf64>) {
  nest.for "i" %i = 0 to 2 {
    nest.for "j" %j = 0 to 3 {
      nest.for "k" %k = 0 to 4 {
        nest.for "l" %l = 0 to 50 {
          nest.for "m" %m = 0 to 40 {
            %v = nest.load %x[%j, %i, %m, %k, %l] : memref<3x2x40x4x50xf64>
            nest.store "y" %v, %y[%i, %j, %k, %l, %m] : memref<2x3x4x50x40xf64>
          }
        }
      }
    }
  }
  func.return
}

// -----

// A few columns are no tile: the reads of a warp are near each other anyway.
// CHECK-LABEL: @pairs
// CHECK-NOT: nest.alloc
func.func @pairs(%x: memref<2x1000xf32>, %y: memref<1000x2xf32>) {
  nest.for "i" %i = 0 to 1000 {
    nest.for "j" %j = 0 to 2 {
      %v = nest.load %x[%j, %i] : memref<2x1000xf32>
      nest.store "y" %v, %y[%i, %j] : memref<1000x2xf32>
    }
  }
  func.return
}

// -----

// A matrix plus its transpose: one of the two reads goes through the tile.
// CHECK-LABEL: @symmetric
// CHECK: [[T:%\S+]] = nest.alloc "x_tile" : memref<32x33xf32, 3 : i64>
// CHECK: nest.load %x[
// CHECK: nest.store "x_tile"
// CHECK: nest.load %x[
// CHECK-NEXT: nest.load [[T]]
func.func @symmetric(%x: memref<100x100xf32>, %y: memref<100x100xf32>) {
  nest.for "i" %i = 0 to 100 {
    nest.for "j" %j = 0 to 100 {
      %a = nest.load %x[%i, %j] : memref<100x100xf32>
      %b = nest.load %x[%j, %i] : memref<100x100xf32>
      %c = arith.addf %a, %b : f32
      nest.store "y" %c, %y[%i, %j] : memref<100x100xf32>
    }
  }
  func.return
}

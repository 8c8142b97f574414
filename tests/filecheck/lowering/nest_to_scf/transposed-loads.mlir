// Loads across the lanes of a tile are rows and rounds of shuffles; a tile at the edge reads its rows under one mask.
// RUN: opt-tool %s -p convert-nest-to-scf,canonicalize,cse | filecheck %s

// CHECK-LABEL: func.func @whole
// CHECK-COUNT-4: vector.load %x[
// CHECK-NEXT: vector.shuffle %{{.+}}, %{{.+}} [0, 4, 1, 5]
// CHECK-COUNT-7: vector.shuffle
// CHECK-NOT: vector.gather
// CHECK-COUNT-4: vector.store %{{.+}}, %y[
func.func @whole(%x: memref<4x4xf32>, %y: memref<4x4xf32>) {
  nest.for "i" %i = 0 to 4 unrolled {
    nest.for "j" %j = 0 to 4 vectorized(4) {
      %a = nest.load %x[%j, %i] : memref<4x4xf32>
      nest.store "y" %a, %y[%i, %j] : memref<4x4xf32>
    }
  }
  func.return
}

// Two blocks of eight make vectors of sixteen lanes.
// CHECK-LABEL: func.func @two_blocks
// CHECK-COUNT-16: vector.load %x[{{.+}}] : memref<16x8xf32>, vector<8xf32>
// CHECK: vector.shuffle %{{.+}}, %{{.+}} [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15]
// CHECK: vector.store %{{.+}} : memref<8x16xf32>, vector<16xf32>
func.func @two_blocks(%x: memref<16x8xf32>, %y: memref<8x16xf32>) {
  nest.for "i" %i = 0 to 8 unrolled {
    nest.for "j" %j = 0 to 16 vectorized(16) {
      %a = nest.load %x[%j, %i] : memref<16x8xf32>
      nest.store "y" %a, %y[%i, %j] : memref<8x16xf32>
    }
  }
  func.return
}

// Loops that end early: one question tells a whole tile; at the edge no row behind the last one is read.
// CHECK-LABEL: func.func @edge
// CHECK: scf.if
// CHECK-COUNT-4: vector.load %x[
// CHECK: } else {
// CHECK: [[MASK:%.+]] = vector.create_mask
// CHECK: vector.maskedload %x[%c0, %c0], [[MASK]]
// CHECK: [[LAST:%.+]] = arith.maxsi
// CHECK: [[ROW:%.+]] = arith.minsi %c3, [[LAST]]
// CHECK: vector.maskedload %x[[[ROW]], %c0], [[MASK]]
// CHECK-COUNT-8: vector.shuffle
// CHECK: vector.maskedstore
func.func @edge(%x: memref<?x?xf32>, %y: memref<?x?xf32>, %n: index, %m: index) {
  nest.for "i" %i = 0 to min(4, %n) unrolled {
    nest.for "j" %j = 0 to min(4, %m) vectorized(4) {
      %a = nest.load %x[%j, %i] : memref<?x?xf32>
      nest.store "y" %a, %y[%i, %j] : memref<?x?xf32>
    }
  }
  func.return
}

// What the tile writes may not be read ahead.
// CHECK-LABEL: func.func @in_place
// CHECK-COUNT-4: vector.gather
func.func @in_place(%x: memref<4x4xf32>) {
  nest.for "i" %i = 0 to 4 unrolled {
    nest.for "j" %j = 0 to 4 vectorized(4) {
      %a = nest.load %x[%j, %i] : memref<4x4xf32>
      nest.store "x" %a, %x[%i, %j] : memref<4x4xf32>
    }
  }
  func.return
}

// Nor what may overlap it.
// CHECK-LABEL: func.func @overlap
// CHECK-COUNT-4: vector.gather
func.func @overlap(%x: memref<4x4xf32> {nest.alias_set = 0 : i64}, %y: memref<4x4xf32> {nest.alias_set = 0 : i64}) {
  nest.for "i" %i = 0 to 4 unrolled {
    nest.for "j" %j = 0 to 4 vectorized(4) {
      %a = nest.load %x[%j, %i] : memref<4x4xf32>
      nest.store "y" %a, %y[%i, %j] : memref<4x4xf32>
    }
  }
  func.return
}

// A domain is asked about ahead as well; where it does not hold for all of the tile, its lanes are gathered.
// CHECK-LABEL: func.func @domain
// CHECK: arith.cmpi sge, %n, %c7
// CHECK-NEXT: scf.if
// CHECK-COUNT-4: vector.load %x[
// CHECK-COUNT-8: vector.shuffle
// CHECK: } else {
// CHECK-NOT: vector.shuffle
// CHECK-COUNT-4: vector.gather
func.func @domain(%x: memref<?x?xf32>, %y: memref<?x?xf32>, %n: index) {
  nest.for "i" %i = 0 to 4 unrolled {
    nest.for "j" %j = 0 to 4 vectorized(4) {
      %a = nest.load %x[%j, %i] : memref<?x?xf32>
      nest.store "y" %a, %y[%i, %j] where (%i + %j < %n) : memref<?x?xf32>
    }
  }
  func.return
}

// A mask is not.
// CHECK-LABEL: func.func @mask
// CHECK-NOT: vector.shuffle
// CHECK-COUNT-4: vector.gather
func.func @mask(%x: memref<4x4xf32>, %y: memref<4x4xf32>, %c: i1) {
  nest.for "i" %i = 0 to 4 unrolled {
    nest.for "j" %j = 0 to 4 vectorized(4) {
      %a = nest.load %x[%j, %i] : memref<4x4xf32>
      nest.store "y" %a, %y[%i, %j] mask %c : memref<4x4xf32>
    }
  }
  func.return
}

// Copies that fill what is between the elements of the lanes are put together by shuffles, and stored at once; to an argument,
// which may be what the next copy loads, they are scattered.
// RUN: opt-tool %s -p convert-nest-to-scf | filecheck %s

// CHECK-LABEL: @four
// CHECK: [[V0:%.*]] = vector.load %x[%c0, %c0]
// CHECK: [[V1:%.*]] = vector.load %x[%c1, %c0]
// CHECK: [[V2:%.*]] = vector.load %x[%c2, %c0]
// CHECK: [[V3:%.*]] = vector.load %x[%c3, %c0]
// CHECK: [[E:%.*]] = vector.shuffle [[V0]], [[V2]] [0, 4, 1, 5, 2, 6, 3, 7]
// CHECK: [[O:%.*]] = vector.shuffle [[V1]], [[V3]] [0, 4, 1, 5, 2, 6, 3, 7]
// CHECK: [[A:%.*]] = vector.shuffle [[E]], [[O]] [0, 8, 1, 9, 2, 10, 3, 11, 4, 12, 5, 13, 6, 14, 7, 15]
// CHECK: vector.store [[A]], %t[%c0] : memref<16xi8>, vector<16xi8>
func.func @four(%x: memref<4x4xi8>, %y: memref<16xi8>) {
  %t = nest.alloc "t" : memref<16xi8>
  nest.for "j" %j = 0 to 4 vectorized(4) {
    nest.for "v" %v = 0 to 4 unrolled {
      %a = nest.load %x[%v, %j] : memref<4x4xi8>
      nest.store "t" %a, %t[4 * %j + %v] : memref<16xi8>
    }
  }
  nest.for "i" %i = 0 to 16 {
    %a = nest.load %t[%i] : memref<16xi8>
    nest.store "y" %a, %y[%i] : memref<16xi8>
  }
  func.return
}

// CHECK-LABEL: @argument
// CHECK-NOT: vector.shuffle
// CHECK-COUNT-2: vector.scatter %y
func.func @argument(%x: memref<2x4xi16>, %y: memref<8xi16>) {
  nest.for "j" %j = 0 to 4 vectorized(4) {
    nest.for "v" %v = 0 to 2 unrolled {
      %a = nest.load %x[%v, %j] : memref<2x4xi16>
      nest.store "y" %a, %y[2 * %j + %v] : memref<8xi16>
    }
  }
  func.return
}

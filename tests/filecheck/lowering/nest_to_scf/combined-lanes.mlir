// Lanes of a custom reduction that states its identity are combined as a tree, half of the lanes with the other half; lanes
// that are not on hold the identity.
// RUN: opt-tool %s -p convert-nest-to-scf | filecheck %s

// CHECK-LABEL: func.func @largest(
// CHECK:       [[XS:%.*]] = vector.load %x[%c0]
// CHECK:       [[LOW:%.*]] = vector.shuffle [[XS]], [[XS]] [0, 1]
// CHECK:       [[HIGH:%.*]] = vector.shuffle [[XS]], [[XS]] [2, 3]
// CHECK:       [[MORE:%.*]] = arith.cmpf ogt, [[HIGH]], [[LOW]] : vector<2xf32>
// CHECK:       [[TWO:%.*]] = arith.select [[MORE]], [[HIGH]], [[LOW]] : vector<2xi1>, vector<2xf32>
// CHECK:       [[FIRST:%.*]] = vector.extract [[TWO]][0]
// CHECK:       [[SECOND:%.*]] = vector.extract [[TWO]][1]
// CHECK:       arith.cmpf ogt, [[SECOND]], [[FIRST]] : f32
// CHECK:       memref.load %best[]
// CHECK:       memref.store
func.func @largest(%x: memref<4xf32>, %best: memref<f32>, %where: memref<i64>) {
  nest.for "i" %i = 0 to 4 vectorized(4) {
    %a = nest.load %x[%i] : memref<4xf32>
    %p = arith.index_cast %i : index to i64
    nest.accumulate custom (%a, %p), (%best, %where)[] identity [0xff800000 : f32, 0 : i64] {
    ^bb0(%old: f32, %at: i64, %new: f32, %k: i64):
      %more = arith.cmpf ogt, %new, %old : f32
      %v = arith.select %more, %new, %old : f32
      %w = arith.select %more, %k, %at : i64
      nest.yield %v, %w : f32, i64
    } : memref<f32>, memref<i64>
  }
  func.return
}

// CHECK-LABEL: func.func @some(
// CHECK:       [[ON:%.*]] = vector.create_mask
// CHECK:       [[XS:%.*]] = vector.maskedload
// CHECK:       arith.select [[ON]], [[XS]], %{{.*}} : vector<4xi1>, vector<4xf32>
// CHECK:       vector.shuffle %{{.*}} [0, 1]
func.func @some(%n: index, %x: memref<4xf32>, %best: memref<f32>) {
  nest.for "i" %i = 0 to 4 vectorized(4) {
    %a = nest.load %x[%i] : memref<4xf32>
    nest.accumulate custom %a, %best[] where (%i < %n) identity [0xff800000 : f32] {
    ^bb0(%old: f32, %new: f32):
      %more = arith.cmpf ogt, %new, %old : f32
      %v = arith.select %more, %new, %old : f32
      nest.yield %v : f32
    } : memref<f32>
  }
  func.return
}

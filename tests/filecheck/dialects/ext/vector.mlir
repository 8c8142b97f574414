// The vector operations that xDSL lacks have MLIR's names and text: step, gather, scatter.
// RUN: opt-tool %s --verify-roundtrip | filecheck %s

func.func @f(%x: memref<?xf32>, %m: vector<4xi1>, %v: vector<4xf32>) {
  %c0 = arith.constant 0 : index
  // CHECK: [[LANES:%.*]] = vector.step : vector<4xindex>
  %0 = vector.step : vector<4xindex>
  // CHECK: [[READ:%.*]] = vector.gather %x[%c0] {{\[}}[[LANES]]], %m, %v : memref<?xf32>, vector<4xindex>, vector<4xi1>, vector<4xf32> into vector<4xf32>
  %1 = vector.gather %x[%c0] [%0], %m, %v : memref<?xf32>, vector<4xindex>, vector<4xi1>, vector<4xf32> into vector<4xf32>
  // CHECK: vector.scatter %x[%c0] {{\[}}[[LANES]]], %m, [[READ]] : memref<?xf32>, vector<4xindex>, vector<4xi1>, vector<4xf32>
  vector.scatter %x[%c0] [%0], %m, %1 : memref<?xf32>, vector<4xindex>, vector<4xi1>, vector<4xf32>
  func.return
}

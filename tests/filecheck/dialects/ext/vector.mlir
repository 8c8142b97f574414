// The vector operations that xDSL lacks have MLIR's names and text: step, gather, scatter, extract_strided_slice.
// RUN: opt-tool %s --verify-roundtrip | filecheck %s

func.func @f(%x: memref<?xf32>, %m: vector<4xi1>, %v: vector<4xf32>, %a: vector<4x2xf16>) {
  %c0 = arith.constant 0 : index
  // CHECK: [[LANES:%.*]] = vector.step : vector<4xindex>
  %0 = vector.step : vector<4xindex>
  // CHECK: [[READ:%.*]] = vector.gather %x[%c0] {{\[}}[[LANES]]], %m, %v : memref<?xf32>, vector<4xindex>, vector<4xi1>, vector<4xf32> into vector<4xf32>
  %1 = vector.gather %x[%c0] [%0], %m, %v : memref<?xf32>, vector<4xindex>, vector<4xi1>, vector<4xf32> into vector<4xf32>
  // CHECK: vector.scatter %x[%c0] {{\[}}[[LANES]]], %m, [[READ]] : memref<?xf32>, vector<4xindex>, vector<4xi1>, vector<4xf32>
  vector.scatter %x[%c0] [%0], %m, %1 : memref<?xf32>, vector<4xindex>, vector<4xi1>, vector<4xf32>
  // CHECK: vector.extract_strided_slice %a {offsets = [2 : i64], sizes = [2 : i64], strides = [1 : i64]} : vector<4x2xf16> to vector<2x2xf16>
  %2 = vector.extract_strided_slice %a {offsets = [2], sizes = [2], strides = [1]} : vector<4x2xf16> to vector<2x2xf16>
  func.return
}

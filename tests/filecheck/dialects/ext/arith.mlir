// arith operations that xDSL types as scalar only take vectors: custom and generic text read back, and mlir-opt agrees.
// RUN: opt-tool %s --verify-roundtrip | filecheck %s

func.func @f(%a: vector<4xi32>, %b: vector<4xi32>, %x: vector<4xf32>, %c: i1, %k: vector<4xindex>) {
  // CHECK: [[LESS:%.*]] = arith.cmpi slt, %a, %b : vector<4xi32>
  %0 = arith.cmpi slt, %a, %b : vector<4xi32>
  // CHECK: arith.cmpf oge, %x, %x : vector<4xf32>
  %1 = arith.cmpf oge, %x, %x : vector<4xf32>
  // CHECK: arith.select [[LESS]], %a, %b : vector<4xi1>, vector<4xi32>
  %2 = arith.select %0, %a, %b : vector<4xi1>, vector<4xi32>
  // CHECK: arith.select %c, %a, %b : vector<4xi32>
  %3 = arith.select %c, %a, %b : vector<4xi32>
  // CHECK: [[WIDE:%.*]] = arith.extsi %a : vector<4xi32> to vector<4xi64>
  %4 = arith.extsi %a : vector<4xi32> to vector<4xi64>
  // CHECK: arith.trunci [[WIDE]] : vector<4xi64> to vector<4xi8>
  %5 = arith.trunci %4 : vector<4xi64> to vector<4xi8>
  // CHECK: arith.index_cast %k : vector<4xindex> to vector<4xi64>
  %6 = arith.index_cast %k : vector<4xindex> to vector<4xi64>
  // CHECK: arith.remf %x, %x : vector<4xf32>
  %7 = arith.remf %x, %x : vector<4xf32>
  func.return
}

// A comparison of a vector with itself stays a vector when it is canonicalised; that of a scalar becomes a constant.
// RUN: opt-tool %s -p canonicalize | filecheck %s

// CHECK-LABEL: func.func @same
func.func @same(%a: vector<4xi32>, %n: i32) -> (vector<4xi1>, i1) {
  // CHECK: [[V:%.*]] = arith.cmpi eq, %a, %a : vector<4xi32>
  %0 = arith.cmpi eq, %a, %a : vector<4xi32>
  // CHECK: [[S:%.*]] = arith.constant true
  %1 = arith.cmpi eq, %n, %n : i32
  // CHECK: func.return [[V]], [[S]] : vector<4xi1>, i1
  func.return %0, %1 : vector<4xi1>, i1
}

// Comparisons, selections and integer casts take vectors as in MLIR, and refuse what MLIR refuses.
// RUN: opt-tool %s --split-input-file --verify-diagnostics

func.func @compares_two_types(%a: vector<4xi32>, %b: vector<4xi64>) {
  // expected-error @below {{compares two types: vector<4xi32> and vector<4xi64>}}
  %0 = "arith.cmpi"(%a, %b) {predicate = 0 : i64} : (vector<4xi32>, vector<4xi64>) -> vector<4xi1>
  func.return
}

// -----

func.func @result_of_comparison(%a: vector<4xi32>) {
  // expected-error @below {{result must be vector<4xi1>, got vector<8xi1>}}
  %0 = "arith.cmpi"(%a, %a) {predicate = 0 : i64} : (vector<4xi32>, vector<4xi32>) -> vector<8xi1>
  func.return
}

// -----

func.func @condition(%c: vector<8xi1>, %a: vector<4xf32>) {
  // expected-error @below {{condition must be i1 or vector<4xi1>, got vector<8xi1>}}
  %0 = "arith.select"(%c, %a, %a) : (vector<8xi1>, vector<4xf32>, vector<4xf32>) -> vector<4xf32>
  func.return
}

// -----

func.func @shape_of_cast(%a: vector<4xi8>) {
  // expected-error @below {{operand and result must have one shape: vector<4xi8> and vector<8xi32>}}
  %0 = arith.extsi %a : vector<4xi8> to vector<8xi32>
  func.return
}

// -----

func.func @widening_that_narrows(%a: vector<4xi32>) {
  // expected-error @below {{destination bit-width must be larger than the input bit-width}}
  %0 = arith.extui %a : vector<4xi32> to vector<4xi8>
  func.return
}

// -----

func.func @narrowing_that_widens(%a: vector<4xi8>) {
  // expected-error @below {{destination bit-width must be smaller than the input bit-width}}
  %0 = arith.trunci %a : vector<4xi8> to vector<4xi32>
  func.return
}

// -----

func.func @index_cast_without_index(%a: vector<4xi8>) {
  // expected-error @below {{exactly one of operand and result must be of index type}}
  %0 = arith.index_cast %a : vector<4xi8> to vector<4xi32>
  func.return
}

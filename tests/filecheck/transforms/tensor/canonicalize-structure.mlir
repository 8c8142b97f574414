// Casts, views and extents: what changes nothing goes, chains become one, extents come from arguments.
// RUN: opt-tool %s -p canonicalize | filecheck %s

// CHECK-LABEL: func.func @casts
// CHECK-NEXT:    %[[A:.*]] = nt.cast %k : tensor<4xi8> -> tensor<4xf32>
// CHECK-NEXT:    %[[B:.*]] = nt.cast %x : tensor<4xf32> -> tensor<4xf16>
// CHECK-NEXT:    %[[C:.*]] = nt.cast %[[B]] : tensor<4xf16> -> tensor<4xf32>
// CHECK-NEXT:    func.return %[[A]], %x, %[[C]]
func.func @casts(%k: tensor<4xi8>, %x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) {
  %0 = nt.cast %k : tensor<4xi8> -> tensor<4xi32>
  %1 = nt.cast %0 : tensor<4xi32> -> tensor<4xf32>
  %2 = nt.cast %x : tensor<4xf32> -> tensor<4xf64>
  %3 = nt.cast %2 : tensor<4xf64> -> tensor<4xf32>
  %4 = nt.cast %x : tensor<4xf32> -> tensor<4xf16>
  %5 = nt.cast %4 : tensor<4xf16> -> tensor<4xf32>
  func.return %1, %3, %5 : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
}

// An unsigned number may be none of the signed type of its width, so that both casts stay; it is one of a wider type.
// CHECK-LABEL: func.func @signs
// CHECK-NEXT:    %[[A:.*]] = nt.cast %x : tensor<4xui32> -> tensor<4xi32>
// CHECK-NEXT:    %[[B:.*]] = nt.cast %[[A]] : tensor<4xi32> -> tensor<4xi64>
// CHECK-NEXT:    %[[C:.*]] = nt.cast %x : tensor<4xui32> -> tensor<4xf64>
// CHECK-NEXT:    func.return %[[B]], %[[C]]
func.func @signs(%x: tensor<4xui32>) -> (tensor<4xi64>, tensor<4xf64>) {
  %0 = nt.cast %x : tensor<4xui32> -> tensor<4xi32>
  %1 = nt.cast %0 : tensor<4xi32> -> tensor<4xi64>
  %2 = nt.cast %x : tensor<4xui32> -> tensor<4xi64>
  %3 = nt.cast %2 : tensor<4xi64> -> tensor<4xf64>
  func.return %1, %3 : tensor<4xi64>, tensor<4xf64>
}

// CHECK-LABEL: func.func @views
// CHECK-NEXT:    %[[B:.*]] = nt.broadcast %x along [1] : tensor<6xf32> -> tensor<2x6x3xf32>
// CHECK-NEXT:    %[[S:.*]] = nt.slice %x[5] strides [-2] : tensor<6xf32> -> tensor<2xf32>
// CHECK-NEXT:    %[[R:.*]] = nt.reshape %x : tensor<6xf32> -> tensor<3x2xf32>
// CHECK-NEXT:    func.return %[[B]], %[[S]], %[[R]], %y
func.func @views(%x: tensor<6xf32>, %y: tensor<4x5xf32>) -> (tensor<2x6x3xf32>, tensor<2xf32>, tensor<3x2xf32>, tensor<4x5xf32>) {
  %0 = nt.broadcast %x along [0] : tensor<6xf32> -> tensor<6x3xf32>
  %1 = nt.broadcast %0 along [1, 2] : tensor<6x3xf32> -> tensor<2x6x3xf32>
  %2 = nt.slice %x[5] strides [-1] : tensor<6xf32> -> tensor<6xf32>
  %3 = nt.slice %2[0] strides [2] : tensor<6xf32> -> tensor<2xf32>
  %4 = nt.reshape %x : tensor<6xf32> -> tensor<2x3xf32>
  %5 = nt.reshape %4 : tensor<2x3xf32> -> tensor<3x2xf32>
  %6 = nt.transpose %y perm [1, 0] : tensor<4x5xf32> -> tensor<5x4xf32>
  %7 = nt.transpose %6 perm [1, 0] : tensor<5x4xf32> -> tensor<4x5xf32>
  %8 = nt.slice %7[0, 0] strides [1, 1] : tensor<4x5xf32> -> tensor<4x5xf32>
  func.return %1, %3, %5, %8 : tensor<2x6x3xf32>, tensor<2xf32>, tensor<3x2xf32>, tensor<4x5xf32>
}

// CHECK-LABEL: func.func @extents
// CHECK-NEXT:    %[[M:.*]] = nt.dim %x[1] : tensor<4x?xf32>
// CHECK-NEXT:    %[[C:.*]] = arith.constant 4 : index
// CHECK-NEXT:    func.return %[[M]], %[[C]]
func.func @extents(%x: tensor<4x?xf32>) -> (index, index) {
  %0 = nt.exp %x : tensor<4x?xf32>
  %1 = nt.transpose %0 perm [1, 0] : tensor<4x?xf32> -> tensor<?x4xf32>
  %2 = nt.reduce add %1 over [1] : tensor<?x4xf32> -> tensor<?xf32>
  %m = nt.dim %2[0] : tensor<?xf32>
  %n = nt.dim %1[1] : tensor<?x4xf32>
  func.return %m, %n : index, index
}

// CHECK-LABEL: func.func @scalars
// CHECK-NEXT:    func.return %s
func.func @scalars(%s: f64) -> f64 {
  %0 = nt.from_scalar %s : f64 -> tensor<f64>
  %1 = nt.to_scalar %0 : tensor<f64> -> f64
  func.return %1 : f64
}

// CHECK-LABEL: func.func @constant_scalars
// CHECK-NEXT:    %[[C:.*]] = nt.constant dense<255> : tensor<ui8>
// CHECK-NEXT:    %[[T:.*]] = arith.constant true
// CHECK-NEXT:    %[[B:.*]] = arith.constant -1 : i8
// CHECK-NEXT:    func.return %[[C]], %[[T]], %[[B]]
func.func @constant_scalars() -> (tensor<ui8>, i1, i8) {
  %c = arith.constant -1 : i8
  %0 = nt.from_scalar %c : i8 -> tensor<ui8>
  %1 = nt.constant dense<true> : tensor<i1>
  %2 = nt.to_scalar %1 : tensor<i1> -> i1
  %3 = nt.constant dense<255> : tensor<ui8>
  %4 = nt.to_scalar %3 : tensor<ui8> -> i8
  func.return %0, %2, %4 : tensor<ui8>, i1, i8
}

// A maximum over extents of 1 is a reshape; a sum of floats is not, for it turns -0.0 into 0.0.
// CHECK-LABEL: func.func @unit_reductions
// CHECK-NEXT:    nt.reshape %x
// CHECK-NEXT:    nt.reduce add
func.func @unit_reductions(%x: tensor<4x1xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %0 = nt.reduce maximum %x over [1] : tensor<4x1xf32> -> tensor<4xf32>
  %1 = nt.reduce add %x over [1] : tensor<4x1xf32> -> tensor<4xf32>
  func.return %0, %1 : tensor<4xf32>, tensor<4xf32>
}

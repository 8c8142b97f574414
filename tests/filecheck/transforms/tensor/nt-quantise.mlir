// nt-quantise: operands of products are rounded as integers of 8 bits would have them, by a calibration or by themselves.
// RUN: opt-tool %s -p 'nt-quantise' | filecheck %s
// RUN: opt-tool %s -p 'nt-quantise{to=dynamic}' | filecheck %s --check-prefix=ALL

// A calibration has scales by the lines of the products; a view of a value is that of what was rounded, where one scale is for
// all. What the calibration has not seen stays.
// CHECK-LABEL: func.func @calibrated
// CHECK:         nt.constant dense<[5.000000e-01, 2.500000e-01, 5.000000e-01, 2.500000e-01, 5.000000e-01]> : tensor<5xf32>
// CHECK:         nt.constant dense<0> : tensor<5xi8>
// CHECK:         %[[W:.*]] = nt.composite "fake_quantise"(%w, {{.*}} : tensor<4x5xf32>, tensor<5xf32>, tensor<5xi8>) -> tensor<4x5xf32> {
// CHECK-DAG:     %[[S:.*]] = nt.constant dense<5.000000e-01> : tensor<f32>
// CHECK-DAG:     %[[Z:.*]] = nt.constant dense<3> : tensor<ui8>
// CHECK:         %[[X:.*]] = nt.composite "fake_quantise"(%x, %[[S]], %[[Z]] : tensor<4x8xf32>, tensor<f32>, tensor<ui8>) -> tensor<4x8xf32> {
// CHECK:           nt.divide
// CHECK:           nt.clamp
// CHECK:           nt.rint
// CHECK:           nt.stop_gradient
// CHECK:           nt.multiply
// CHECK:         %[[T:.*]] = nt.transpose %[[X]] perm [1, 0] : tensor<4x8xf32> -> tensor<8x4xf32>
// CHECK-NEXT:    nt.dot %[[T]], %[[W]] contract [1] x [0]
// CHECK-NEXT:    nt.dot %x, %x
func.func @calibrated(%x: tensor<4x8xf32>, %w: tensor<4x5xf32>) -> (tensor<8x5xf32>, tensor<8x8xf32>) attributes {nt.quantise = {
    "nt-quantise.mlir:27.0" = {terms = "contract [1] x [0]",
      lhs = {element = "uint8", scale = array<f32: 0.5>, zero = array<i32: 3>},
      rhs = {element = "int8", scale = array<f32: 0.5, 0.25, 0.5, 0.25, 0.5>, zero = array<i32: 0, 0, 0, 0, 0>, axis = 1 : i64}}}} {
  %t = nt.transpose %x perm [1, 0] : tensor<4x8xf32> -> tensor<8x4xf32>
  %0 = nt.dot %t, %w contract [1] x [0] : tensor<8x4xf32>, tensor<4x5xf32> -> tensor<8x5xf32>
  %1 = nt.dot %x, %x contract [0] x [0] : tensor<4x8xf32>, tensor<4x8xf32> -> tensor<8x8xf32>
  func.return %0, %1 : tensor<8x5xf32>, tensor<8x8xf32>
}

// By itself: a scale for each row of the left operand, and each column of the right one, once for two products and in front
// of the loop that does not change them.
// ALL-LABEL:   func.func @computed
// ALL:           %[[A:.*]] = nt.absolute %w : tensor<4x4xf32>
// ALL-NEXT:      %[[M:.*]] = nt.reduce maximum %[[A]] over [0] : tensor<4x4xf32> -> tensor<4xf32>
// ALL:           %[[E:.*]] = nt.equal %[[M]]
// ALL:           %[[D:.*]] = nt.divide %[[M]]
// ALL-NEXT:      %[[C:.*]] = nt.select %[[E]], %{{.*}}, %[[D]]
// ALL-NEXT:      %[[S:.*]] = nt.stop_gradient %[[C]]
// ALL-NEXT:      %[[Z:.*]] = nt.constant dense<0> : tensor<i8>
// ALL-NEXT:      %[[W:.*]] = nt.composite "fake_quantise"(%w, %[[S]], %[[Z]] : tensor<4x4xf32>, tensor<4xf32>, tensor<i8>)
// ALL:           scf.for
// ALL:             nt.reduce maximum %{{.*}} over [1] : tensor<2x4xf32> -> tensor<2xf32>
// ALL:             %[[H:.*]] = nt.composite "fake_quantise"(%h
// ALL:             nt.dot %[[H]], %[[W]]
// CHECK-LABEL: func.func @computed
// CHECK-NOT:     nt.composite
// CHECK:         func.return
func.func @computed(%x: tensor<2x4xf32>, %w: tensor<4x4xf32>) -> tensor<2x4xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %r = scf.for %t = %c0 to %c3 step %c1 iter_args(%h = %x) -> (tensor<2x4xf32>) {
    %0 = nt.dot %h, %w contract [1] x [0] : tensor<2x4xf32>, tensor<4x4xf32> -> tensor<2x4xf32>
    scf.yield %0 : tensor<2x4xf32>
  }
  func.return %r : tensor<2x4xf32>
}

// Windows have one scale, of what they are windows of.
// ALL-LABEL:   func.func @convolved
// ALL:           nt.reduce maximum %{{.*}} over [1, 2] : tensor<3x2x4xf32> -> tensor<3xf32>
// ALL:           %[[K:.*]] = nt.composite "fake_quantise"(%k, %{{.*}}, %{{.*}} : tensor<3x2x4xf32>, tensor<3xf32>, tensor<i8>)
// ALL:           nt.absolute %x : tensor<2x9xf32>
// ALL:           nt.reduce maximum %{{.*}} over [0, 1] : tensor<2x9xf32> -> tensor<f32>
// ALL:           %[[X:.*]] = nt.composite "fake_quantise"(%x, %{{.*}}, %{{.*}} : tensor<2x9xf32>, tensor<f32>, tensor<i8>)
// ALL:           %[[V:.*]] = nt.window %[[X]] over [1]
// ALL:           nt.dot %[[V]], %[[K]]
func.func @convolved(%x: tensor<2x9xf32>, %k: tensor<3x2x4xf32>) -> tensor<6x3xf32> attributes {nt.quantise = "dynamic"} {
  %0 = nt.window %x over [1] : tensor<2x9xf32> -> tensor<2x6x4xf32>
  %1 = nt.dot %0, %k contract [0, 2] x [1, 2] : tensor<2x6x4xf32>, tensor<3x2x4xf32> -> tensor<6x3xf32>
  func.return %1 : tensor<6x3xf32>
}

// Sums that 32 bits may not hold stay; so do other types.
// ALL-LABEL:   func.func @left
// ALL-NOT:       nt.composite
// ALL:           func.return
func.func @left(%x: tensor<4x40000xf32>, %y: tensor<4x?xf32>, %z: tensor<4x4xf64>, %e: tensor<4x0xf32>) -> (tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xf64>, tensor<4x4xf32>) {
  %0 = nt.dot %x, %x contract [1] x [1] : tensor<4x40000xf32>, tensor<4x40000xf32> -> tensor<4x4xf32>
  %1 = nt.dot %y, %y contract [1] x [1] : tensor<4x?xf32>, tensor<4x?xf32> -> tensor<4x4xf32>
  %2 = nt.dot %z, %z contract [1] x [1] : tensor<4x4xf64>, tensor<4x4xf64> -> tensor<4x4xf64>
  %3 = nt.dot %e, %e contract [1] x [1] : tensor<4x0xf32>, tensor<4x0xf32> -> tensor<4x4xf32>
  func.return %0, %1, %2, %3 : tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xf64>, tensor<4x4xf32>
}

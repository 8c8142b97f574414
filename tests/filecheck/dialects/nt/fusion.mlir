// A fusion uses outer values directly and yields its results; attributes are kept.
// RUN: opt-tool %s --verify-roundtrip | filecheck %s

// CHECK-LABEL: func.func @fusion
// CHECK-NEXT:    %a, %s = nt.fusion "a" attributes {note} {
// CHECK-NEXT:      %[[E:.*]] = nt.exp %x : tensor<4xf32>
// CHECK-NEXT:      %[[S:.*]] = nt.reduce add %[[E]] over [0] : tensor<4xf32> -> tensor<f32>
// CHECK-NEXT:      nt.yield %[[E]], %[[S]] : tensor<4xf32>, tensor<f32>
// CHECK-NEXT:    } : tensor<4xf32>, tensor<f32>
func.func @fusion(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<f32>) {
  %a, %s = nt.fusion "a" attributes {note} {
    %0 = nt.exp %x : tensor<4xf32>
    %1 = nt.reduce add %0 over [0] : tensor<4xf32> -> tensor<f32>
    nt.yield %0, %1 : tensor<4xf32>, tensor<f32>
  } : tensor<4xf32>, tensor<f32>
  func.return %a, %s : tensor<4xf32>, tensor<f32>
}

// Barriers go, in regions too; what read their results reads their operands.
// RUN: opt-tool %s -p nt-drop-barriers | filecheck %s

func.func @f(%w: tensor<4xf32>, %c: tensor<8xf32>, %p: i1) -> (tensor<4xf32>, tensor<8xf32>) {
  %w1, %c1 = nt.optimization_barrier %w, %c : tensor<4xf32>, tensor<8xf32>
  %y = nt.exp %w1 : tensor<4xf32>
  %z = scf.if %p -> (tensor<8xf32>) {
    %c2 = nt.optimization_barrier %c1 : tensor<8xf32>
    scf.yield %c2 : tensor<8xf32>
  } else {
    scf.yield %c1 : tensor<8xf32>
  }
  func.return %y, %z : tensor<4xf32>, tensor<8xf32>
}
// CHECK-LABEL: @f
// CHECK-NEXT: %y = nt.exp %w : tensor<4xf32>
// CHECK-NEXT: scf.if
// CHECK-NEXT: scf.yield %c : tensor<8xf32>
// CHECK-NEXT: } else {
// CHECK-NEXT: scf.yield %c : tensor<8xf32>
// CHECK-NOT: nt.optimization_barrier

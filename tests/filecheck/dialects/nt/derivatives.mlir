// RUN: opt-tool %s | filecheck %s
// RUN: opt-tool %s | opt-tool | filecheck %s

func.func private @loss(%x: tensor<8xf32>, %w: tensor<8xf32>, %n: index) -> tensor<f32> {
  %0 = nt.multiply %x, %w : tensor<8xf32>
  %1 = nt.stop_gradient %0 : tensor<8xf32>
  %2 = nt.reduce add %1 over [0] : tensor<8xf32> -> tensor<f32>
  func.return %2 : tensor<f32>
}
// CHECK: nt.stop_gradient %{{.*}} : tensor<8xf32>

func.func @derivatives(%x: tensor<8xf32>, %w: tensor<8xf32>, %n: index, %one: tensor<f32>) -> tensor<8xf32> {
  %y, %gx = nt.vjp @loss(%x, %w, %n : tensor<8xf32>, tensor<8xf32>, index) cotangents(%one : tensor<f32>) wrt [0] of [0] -> (tensor<f32>, tensor<8xf32>)
  %gw = nt.vjp replay @loss(%x, %w, %n : tensor<8xf32>, tensor<8xf32>, index) cotangents(%one : tensor<f32>) wrt [1] of [0] -> (tensor<8xf32>)
  %y1, %t = nt.jvp @loss(%x, %w, %n : tensor<8xf32>, tensor<8xf32>, index) tangents(%x, %w : tensor<8xf32>, tensor<8xf32>) wrt [0, 1] of [0] -> (tensor<f32>, tensor<f32>)
  func.return %gx : tensor<8xf32>
}
// CHECK: %y, %gx = nt.vjp @loss(%x, %w, %n : tensor<8xf32>, tensor<8xf32>, index) cotangents(%one : tensor<f32>) wrt [0] of [0] -> (tensor<f32>, tensor<8xf32>)
// CHECK: %gw = nt.vjp replay @loss(
// CHECK: nt.jvp @loss({{.*}}) tangents(%x, %w : tensor<8xf32>, tensor<8xf32>) wrt [0, 1] of [0]

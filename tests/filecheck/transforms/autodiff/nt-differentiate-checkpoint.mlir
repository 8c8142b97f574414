// What nt.checkpoint computes is computed again behind a barrier, or kept, as its policy says.
// RUN: opt-tool %s -p nt-differentiate,canonicalize,cse | filecheck %s

func.func private @nothing(%x: tensor<8x4xf32>, %w: tensor<4x4xf32>) -> tensor<8x4xf32> {
  %y = nt.checkpoint "save-nothing"(%x, %w : tensor<8x4xf32>, tensor<4x4xf32>) -> (tensor<8x4xf32>) {
  ^bb0(%a: tensor<8x4xf32>, %b: tensor<4x4xf32>):
    %0 = nt.dot %a, %b contract [1] x [0] : tensor<8x4xf32>, tensor<4x4xf32> -> tensor<8x4xf32>
    %1 = nt.tanh %0 : tensor<8x4xf32>
    nt.yield %1 : tensor<8x4xf32>
  }
  func.return %y : tensor<8x4xf32>
}
func.func @save_nothing(%x: tensor<8x4xf32>, %w: tensor<4x4xf32>, %c: tensor<8x4xf32>) -> (tensor<8x4xf32>, tensor<4x4xf32>) {
  %y, %g = nt.vjp @nothing(%x, %w : tensor<8x4xf32>, tensor<4x4xf32>) cotangents(%c : tensor<8x4xf32>) wrt [1] of [0] -> (tensor<8x4xf32>, tensor<4x4xf32>)
  func.return %y, %g : tensor<8x4xf32>, tensor<4x4xf32>
}
// CHECK-LABEL: @save_nothing
// CHECK-NEXT: %[[D:.*]] = nt.dot %x, %w
// CHECK-NEXT: %[[Y:.*]] = nt.tanh %[[D]]
// CHECK-NEXT: %[[X:.*]], %[[W:.*]], %[[C:.*]] = nt.optimization_barrier %x, %w, %c
// CHECK-NEXT: %[[AGAIN:.*]] = nt.dot %[[X]], %[[W]]
// CHECK-NEXT: %[[T:.*]] = nt.tanh %[[AGAIN]]
// CHECK: nt.multiply %[[C]], %{{.*}}
// CHECK: func.return %[[Y]]

func.func private @products(%x: tensor<8x4xf32>, %w: tensor<4x4xf32>) -> tensor<8x4xf32> {
  %y = nt.checkpoint "save-products"(%x, %w : tensor<8x4xf32>, tensor<4x4xf32>) -> (tensor<8x4xf32>) {
  ^bb0(%a: tensor<8x4xf32>, %b: tensor<4x4xf32>):
    %0 = nt.dot %a, %b contract [1] x [0] : tensor<8x4xf32>, tensor<4x4xf32> -> tensor<8x4xf32>
    %1 = nt.sin %0 : tensor<8x4xf32>
    nt.yield %1 : tensor<8x4xf32>
  }
  func.return %y : tensor<8x4xf32>
}
func.func @save_products(%x: tensor<8x4xf32>, %w: tensor<4x4xf32>, %c: tensor<8x4xf32>) -> tensor<4x4xf32> {
  %y, %g = nt.vjp @products(%x, %w : tensor<8x4xf32>, tensor<4x4xf32>) cotangents(%c : tensor<8x4xf32>) wrt [1] of [0] -> (tensor<8x4xf32>, tensor<4x4xf32>)
  func.return %g : tensor<4x4xf32>
}
// CHECK-LABEL: @save_products
// CHECK-NEXT: %[[D:.*]] = nt.dot %x, %w
// CHECK-NOT: nt.optimization_barrier
// CHECK: nt.cos %[[D]]
// CHECK: nt.dot %x, %{{.*}} contract [0] x [0]

// Without a derivative nothing is left of it.
func.func @forward(%x: tensor<8xf32>) -> tensor<8xf32> {
  %y = nt.checkpoint "save-nothing"(%x : tensor<8xf32>) -> (tensor<8xf32>) {
  ^bb0(%a: tensor<8xf32>):
    %0 = nt.exp %a : tensor<8xf32>
    nt.yield %0 : tensor<8xf32>
  }
  func.return %y : tensor<8xf32>
}
// CHECK-LABEL: @forward
// CHECK-NEXT: nt.exp %x
// CHECK-NEXT: func.return

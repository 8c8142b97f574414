// nt.checkpoint has a region of its own with a policy; nt.optimization_barrier hands values on.
// RUN: opt-tool %s | filecheck %s
// RUN: opt-tool %s | opt-tool | filecheck %s

func.func @f(%x: tensor<8xf32>, %n: index) -> (tensor<8xf32>, index) {
  %y, %m = nt.checkpoint "save-products"(%x, %n : tensor<8xf32>, index) attributes {a = 1 : i64} -> (tensor<8xf32>, index) {
  ^bb0(%a: tensor<8xf32>, %k: index):
    %0 = nt.exp %a : tensor<8xf32>
    nt.yield %0, %k : tensor<8xf32>, index
  }
  nt.checkpoint "save-all"() -> () {
    nt.yield :
  }
  %b:2 = nt.optimization_barrier %y, %m : tensor<8xf32>, index
  func.return %b#0, %b#1 : tensor<8xf32>, index
}
// CHECK: %y, %m = nt.checkpoint "save-products"(%x, %n : tensor<8xf32>, index) attributes {a = 1 : i64} -> (tensor<8xf32>, index) {
// CHECK: nt.yield %{{.*}}, %k : tensor<8xf32>, index
// CHECK: nt.checkpoint "save-all"() -> () {
// CHECK: %b, %{{.*}} = nt.optimization_barrier %y, %m : tensor<8xf32>, index

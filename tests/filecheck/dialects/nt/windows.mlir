// Windows and composites: parsed, printed, and parsed again.
// RUN: opt-tool %s | opt-tool | filecheck %s

// CHECK-LABEL: @windows
// CHECK: nt.window %x over [1] : tensor<4x9xf32> -> tensor<4x7x3xf32>
// CHECK: nt.window %y over [1, 0] sizes(%n - 1) : tensor<?x5xf32> -> tensor<?x4x2x2xf32>
// CHECK: nt.window %z over [0] : tensor<2xf32> -> tensor<0x3xf32>
func.func @windows(%x: tensor<4x9xf32>, %y: tensor<?x5xf32>, %z: tensor<2xf32>) {
  %n = nt.dim %y[0] : tensor<?x5xf32>
  %0 = nt.window %x over [1] : tensor<4x9xf32> -> tensor<4x7x3xf32>
  %1 = nt.window %y over [1, 0] sizes(%n - 1) : tensor<?x5xf32> -> tensor<?x4x2x2xf32>
  %2 = nt.window %z over [0] : tensor<2xf32> -> tensor<0x3xf32>
  func.return
}

// CHECK-LABEL: @composites
// CHECK: nt.composite "twice"(%x : tensor<?xf32>) {times = 2 : i64} attributes {kept} -> tensor<?xf32> {
// CHECK-NEXT: ^bb{{.*}}([[A:%\S+]]: tensor<?xf32>):
// CHECK-NEXT: nt.add [[A]], [[A]]
// CHECK: nt.composite "seven"() -> tensor<f32> {
func.func @composites(%x: tensor<?xf32>) -> (tensor<?xf32>, tensor<f32>) {
  %r = nt.composite "twice"(%x : tensor<?xf32>) {times = 2 : i64} attributes {kept} -> tensor<?xf32> {
  ^bb0(%a: tensor<?xf32>):
    %0 = nt.add %a, %a : tensor<?xf32>
    nt.yield %0 : tensor<?xf32>
  }
  %s = nt.composite "seven"() -> tensor<f32> {
    %1 = nt.constant dense<7.0> : tensor<f32>
    nt.yield %1 : tensor<f32>
  }
  func.return %r, %s : tensor<?xf32>, tensor<f32>
}

// Windows are indices: a convolution is one nest, and no window is in memory.
// RUN: opt-tool %s -p canonicalize,nt-fuse,convert-nt-to-nest | filecheck %s

// CHECK-LABEL: @convolved
// CHECK-NOT: memref<7x3xf32>
// CHECK: nest.load %x{{\[}}[[I:%\S+]] + [[J:%\S+]]]
// CHECK-NOT: memref<7x3xf32>
// CHECK: nest.accumulate
func.func @convolved(%x: tensor<9xf32>, %w: tensor<3xf32>) -> tensor<7xf32> {
  %0 = nt.window %x over [0] : tensor<9xf32> -> tensor<7x3xf32>
  %1 = nt.broadcast %w along [1] : tensor<3xf32> -> tensor<7x3xf32>
  %2 = nt.multiply %0, %1 : tensor<7x3xf32>
  %3 = nt.reduce add %2 over [1] : tensor<7x3xf32> -> tensor<7xf32>
  func.return %3 : tensor<7xf32>
}

// What the windows are of is in memory before they are taken.
// CHECK-LABEL: @of_computed
// CHECK: [[E:%\S+]] = nest.alloc
// CHECK: math.exp
// CHECK: nest.store {{.*}}[[E]][
// CHECK: nest.load [[E]]{{\[}}2 * %{{\S+}} + %{{\S+}}]
func.func @of_computed(%x: tensor<9xf32>) -> tensor<4x3xf32> {
  %e = nt.exp %x : tensor<9xf32>
  %0 = nt.window %e over [0] : tensor<9xf32> -> tensor<7x3xf32>
  %1 = nt.slice %0[0, 0] strides [2, 1] : tensor<7x3xf32> -> tensor<4x3xf32>
  %2 = nt.negative %1 : tensor<4x3xf32>
  func.return %2 : tensor<4x3xf32>
}

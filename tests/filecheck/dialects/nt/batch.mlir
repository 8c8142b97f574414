// RUN: opt-tool %s | filecheck %s
// RUN: opt-tool %s | opt-tool | filecheck %s

func.func private @f(%x: tensor<4xf32>, %w: tensor<4xf32>, %n: index) -> (tensor<f32>, tensor<4xf32>) {
  %0 = nt.multiply %x, %w : tensor<4xf32>
  %1 = nt.reduce add %0 over [0] : tensor<4xf32> -> tensor<f32>
  func.return %1, %w : tensor<f32>, tensor<4xf32>
}

func.func @each_row(%x: tensor<8x4xf32>, %w: tensor<4xf32>, %n: index) -> (tensor<8xf32>, tensor<8x4xf32>) {
  %r, %s = nt.batch @f(%x, %w, %n : tensor<8x4xf32>, tensor<4xf32>, index) along [0, -1, -1] -> (tensor<8xf32>, tensor<8x4xf32>)
  func.return %r, %s : tensor<8xf32>, tensor<8x4xf32>
}
// CHECK: %r, %s = nt.batch @f(%x, %w, %n : tensor<8x4xf32>, tensor<4xf32>, index) along [0, -1, -1] -> (tensor<8xf32>, tensor<8x4xf32>)

// The number of slices is the extent of the axes; one that is known is known of the results.
func.func @columns(%x: tensor<4x?xf32>, %w: tensor<?x4xf32>, %v: tensor<6x4xf32>, %n: index) -> tensor<?xf32> {
  %r, %s = nt.batch @f(%x, %w, %n : tensor<4x?xf32>, tensor<?x4xf32>, index) along [1, 0, -1] -> (tensor<?xf32>, tensor<?x4xf32>)
  %t, %u = nt.batch @f(%x, %v, %n : tensor<4x?xf32>, tensor<6x4xf32>, index) along [1, 0, -1] -> (tensor<6xf32>, tensor<6x4xf32>)
  func.return %r : tensor<?xf32>
}
// CHECK: nt.batch @f({{.*}}) along [1, 0, -1] -> (tensor<?xf32>, tensor<?x4xf32>)
// CHECK: nt.batch @f({{.*}}) along [1, 0, -1] -> (tensor<6xf32>, tensor<6x4xf32>)

// What does not depend on slices can be had as it is.
func.func @whole(%x: tensor<8x4xf32>, %w: tensor<4xf32>, %n: index) -> tensor<4xf32> {
  %r, %s = nt.batch @f(%x, %w, %n : tensor<8x4xf32>, tensor<4xf32>, index) along [0, -1, -1] whole [1] -> (tensor<8xf32>, tensor<4xf32>)
  func.return %s : tensor<4xf32>
}
// CHECK: along [0, -1, -1] whole [1] -> (tensor<8xf32>, tensor<4xf32>)

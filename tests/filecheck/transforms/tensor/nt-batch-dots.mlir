// Products of parts of one tensor become one product: in front of a loop, and in front of the first of those of a block.
// RUN: opt-tool %s -p 'nt-batch-dots{l2-kib=8192}' --split-input-file | filecheck %s
// RUN: opt-tool %s -p 'nt-batch-dots{l2-kib=1}' --split-input-file | filecheck %s --check-prefix=SMALL

// All steps of a recurrence multiply their input with the same matrix; what depends on the step before stays. With a cache that
// has no room for the results nothing is joined.
// CHECK-LABEL: func.func @steps
// CHECK:         %[[D:.*]] = nt.dot %xs, %w contract [2] x [0] : tensor<50x8x64xf32>, tensor<64x512xf32> -> tensor<50x8x512xf32>
// CHECK-NEXT:    scf.for %t
// CHECK-NEXT:      %[[S:.*]] = nt.slice %[[D]][%t, 0, 0] strides [1, 1, 1] : tensor<50x8x512xf32> -> tensor<1x8x512xf32>
// CHECK-NEXT:      %a = nt.reshape %[[S]] : tensor<1x8x512xf32> -> tensor<8x512xf32>
// CHECK-NEXT:      %b = nt.dot %h_1, %u
// CHECK-NEXT:      nt.add %a, %b
// SMALL-LABEL: func.func @steps
// SMALL:         scf.for
// SMALL:           nt.dot %{{.*}}, %w
func.func @steps(%xs: tensor<50x8x64xf32>, %h: tensor<8x512xf32>, %w: tensor<64x512xf32>, %u: tensor<512x512xf32>) -> tensor<8x512xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c50 = arith.constant 50 : index
  %r = scf.for %t = %c0 to %c50 step %c1 iter_args(%h_1 = %h) -> (tensor<8x512xf32>) {
    %0 = nt.slice %xs[%t, 0, 0] strides [1, 1, 1] : tensor<50x8x64xf32> -> tensor<1x8x64xf32>
    %x = nt.reshape %0 : tensor<1x8x64xf32> -> tensor<8x64xf32>
    %a = nt.dot %x, %w contract [1] x [0] : tensor<8x64xf32>, tensor<64x512xf32> -> tensor<8x512xf32>
    %b = nt.dot %h_1, %u contract [1] x [0] : tensor<8x512xf32>, tensor<512x512xf32> -> tensor<8x512xf32>
    %c = nt.add %a, %b : tensor<8x512xf32>
    scf.yield %c : tensor<8x512xf32>
  }
  func.return %r : tensor<8x512xf32>
}

// -----

// Some of the places, from the last one on, of two tensors: a stack of products of these places.
// CHECK-LABEL: func.func @backwards
// CHECK:         %[[X:.*]] = nt.slice %xs[2, 0, 0] strides [1, 1, 1] : tensor<9x4x8xf32> -> tensor<5x4x8xf32>
// CHECK-NEXT:    %[[W:.*]] = nt.slice %ws[0, 3, 0] strides [1, 1, 1] : tensor<8x9x8xf32> -> tensor<8x5x8xf32>
// CHECK-NEXT:    %[[D:.*]] = nt.dot %[[X]], %[[W]] batch [0] x [1] contract [2] x [0]
// CHECK-SAME:      -> tensor<5x4x8xf32>
// CHECK:           nt.slice %[[D]][4 - %t, 0, 0] strides [1, 1, 1] : tensor<5x4x8xf32> -> tensor<1x4x8xf32>
func.func @backwards(%xs: tensor<9x4x8xf32>, %ws: tensor<8x9x8xf32>, %s: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c5 = arith.constant 5 : index
  %r = scf.for %t = %c0 to %c5 step %c1 iter_args(%s_1 = %s) -> (tensor<4x8xf32>) {
    %0 = nt.slice %xs[6 - %t, 0, 0] strides [1, 1, 1] : tensor<9x4x8xf32> -> tensor<1x4x8xf32>
    %x = nt.reshape %0 : tensor<1x4x8xf32> -> tensor<4x8xf32>
    %1 = nt.slice %ws[0, 7 - %t, 0] strides [1, 1, 1] : tensor<8x9x8xf32> -> tensor<8x1x8xf32>
    %w = nt.reshape %1 : tensor<8x1x8xf32> -> tensor<8x8xf32>
    %a = nt.dot %x, %w contract [1] x [0] : tensor<4x8xf32>, tensor<8x8xf32> -> tensor<4x8xf32>
    %c = nt.maximum %a, %s_1 : tensor<4x8xf32>
    scf.yield %c : tensor<4x8xf32>
  }
  func.return %r : tensor<4x8xf32>
}

// -----

// As many steps as the run says: joined where the loop is known to visit all places, and not where it may visit some of them.
// CHECK-LABEL: func.func @unknown
// CHECK:         nt.dot %xs, %w contract [2] x [0] : tensor<?x4x8xf32>, tensor<8x8xf32> -> tensor<?x4x8xf32>
// CHECK:         scf.for
// CHECK-NOT:       nt.dot
// CHECK:         scf.for
// CHECK:           nt.dot
func.func @unknown(%xs: tensor<?x4x8xf32>, %w: tensor<8x8xf32>, %s: tensor<4x8xf32>, %m: index) -> (tensor<4x8xf32>, tensor<4x8xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %n = nt.dim %xs[0] : tensor<?x4x8xf32>
  %r = scf.for %t = %c0 to %n step %c1 iter_args(%s_1 = %s) -> (tensor<4x8xf32>) {
    %0 = nt.slice %xs[%t, 0, 0] strides [1, 1, 1] : tensor<?x4x8xf32> -> tensor<1x4x8xf32>
    %x = nt.reshape %0 : tensor<1x4x8xf32> -> tensor<4x8xf32>
    %a = nt.dot %x, %w contract [1] x [0] : tensor<4x8xf32>, tensor<8x8xf32> -> tensor<4x8xf32>
    %c = nt.maximum %a, %s_1 : tensor<4x8xf32>
    scf.yield %c : tensor<4x8xf32>
  }
  %q = scf.for %t = %c0 to %m step %c1 iter_args(%s_1 = %s) -> (tensor<4x8xf32>) {
    %0 = nt.slice %xs[%t, 0, 0] strides [1, 1, 1] : tensor<?x4x8xf32> -> tensor<1x4x8xf32>
    %x = nt.reshape %0 : tensor<1x4x8xf32> -> tensor<4x8xf32>
    %a = nt.dot %x, %w contract [1] x [0] : tensor<4x8xf32>, tensor<8x8xf32> -> tensor<4x8xf32>
    %c = nt.maximum %a, %s_1 : tensor<4x8xf32>
    scf.yield %c : tensor<4x8xf32>
  }
  func.return %r, %q : tensor<4x8xf32>, tensor<4x8xf32>
}

// -----

// One after the other: the matrices of a stack, with the same rows. A matrix that is not beside the others keeps all apart.
// CHECK-LABEL: func.func @neighbours
// CHECK-NEXT:    %[[W:.*]] = nt.slice %w[1, 0, 0] strides [1, 1, 1] : tensor<6x8x5xf32> -> tensor<2x8x5xf32>
// CHECK-NEXT:    %[[D:.*]] = nt.dot %x, %[[W]] contract [1] x [1] : tensor<4x8xf32>, tensor<2x8x5xf32> -> tensor<4x2x5xf32>
// CHECK-NEXT:    %[[B:.*]] = nt.slice %[[D]][0, 1, 0] strides [1, 1, 1] : tensor<4x2x5xf32> -> tensor<4x1x5xf32>
// CHECK-NEXT:    %b = nt.reshape %[[B]] : tensor<4x1x5xf32> -> tensor<4x5xf32>
// CHECK:         %[[A:.*]] = nt.slice %[[D]][0, 0, 0] strides [1, 1, 1] : tensor<4x2x5xf32> -> tensor<4x1x5xf32>
// CHECK-NEXT:    %a = nt.reshape %[[A]] : tensor<4x1x5xf32> -> tensor<4x5xf32>
// CHECK:         nt.dot %y
// CHECK:         nt.dot %y
// CHECK:         func.return %a, %b
func.func @neighbours(%x: tensor<4x8xf32>, %y: tensor<4x8xf32>, %w: tensor<6x8x5xf32>) -> (tensor<4x5xf32>, tensor<4x5xf32>, tensor<4x5xf32>, tensor<4x5xf32>) {
  %0 = nt.slice %w[2, 0, 0] strides [1, 1, 1] : tensor<6x8x5xf32> -> tensor<1x8x5xf32>
  %1 = nt.reshape %0 : tensor<1x8x5xf32> -> tensor<8x5xf32>
  %b = nt.dot %x, %1 contract [1] x [0] : tensor<4x8xf32>, tensor<8x5xf32> -> tensor<4x5xf32>
  %2 = nt.slice %w[1, 0, 0] strides [1, 1, 1] : tensor<6x8x5xf32> -> tensor<1x8x5xf32>
  %3 = nt.reshape %2 : tensor<1x8x5xf32> -> tensor<8x5xf32>
  %a = nt.dot %x, %3 contract [1] x [0] : tensor<4x8xf32>, tensor<8x5xf32> -> tensor<4x5xf32>
  %4 = nt.slice %w[5, 0, 0] strides [1, 1, 1] : tensor<6x8x5xf32> -> tensor<1x8x5xf32>
  %5 = nt.reshape %4 : tensor<1x8x5xf32> -> tensor<8x5xf32>
  %c = nt.dot %y, %3 contract [1] x [0] : tensor<4x8xf32>, tensor<8x5xf32> -> tensor<4x5xf32>
  %d = nt.dot %y, %5 contract [1] x [0] : tensor<4x8xf32>, tensor<8x5xf32> -> tensor<4x5xf32>
  func.return %a, %b, %c, %d : tensor<4x5xf32>, tensor<4x5xf32>, tensor<4x5xf32>, tensor<4x5xf32>
}

// Products compute no row twice, and are made in the order in which their elements are read.
// RUN: opt-tool %s -p canonicalize | filecheck %s

// The rows of %a are equal, so are those of the product.
// CHECK-LABEL: func.func @equal_rows
// CHECK-NEXT:    %[[D:.*]] = nt.dot %v, %w contract [0] x [0] : tensor<5xf32>, tensor<5x6xf32> -> tensor<6xf32>
// CHECK-NEXT:    %[[R:.*]] = nt.broadcast %[[D]] along [1] : tensor<6xf32> -> tensor<4x6xf32>
// CHECK-NEXT:    func.return %[[R]]
func.func @equal_rows(%v: tensor<5xf32>, %w: tensor<5x6xf32>) -> tensor<4x6xf32> {
  %a = nt.broadcast %v along [1] : tensor<5xf32> -> tensor<4x5xf32>
  %0 = nt.dot %a, %w contract [1] x [0] : tensor<4x5xf32>, tensor<5x6xf32> -> tensor<4x6xf32>
  func.return %0 : tensor<4x6xf32>
}

// So are columns; the axis that is summed over stays, and unknown extents are those of the operands.
// CHECK-LABEL: func.func @equal_columns
// CHECK:         %[[O:.*]] = nt.broadcast %{{.*}} along [] sizes(%n) : tensor<f32> -> tensor<?xf32>
// CHECK:         %[[D:.*]] = nt.dot %x, %[[O]] contract [1] x [0] : tensor<?x?xf32>, tensor<?xf32> -> tensor<?xf32>
// CHECK:         %[[M:.*]] = nt.dim %x[0]
// CHECK:         nt.broadcast %[[D]] along [0] sizes(%[[M]], %k) : tensor<?xf32> -> tensor<?x?xf32>
func.func @equal_columns(%x: tensor<?x?xf32>, %n: index, %k: index) -> tensor<?x?xf32> {
  %one = nt.constant dense<1.0> : tensor<f32>
  %b = nt.broadcast %one along [] sizes(%n, %k) : tensor<f32> -> tensor<?x?xf32>
  %0 = nt.dot %x, %b contract [1] x [0] : tensor<?x?xf32>, tensor<?x?xf32> -> tensor<?x?xf32>
  func.return %0 : tensor<?x?xf32>
}

// Of both operands, with batches, which stay even where they are repeated.
// CHECK-LABEL: func.func @batches
// CHECK:         nt.dot %{{.*}}, %{{.*}} batch [0] x [0] contract [1] x [1] : tensor<3x5xf16>, tensor<3x5xf16> -> tensor<3xf32>
// CHECK-NEXT:    nt.broadcast %{{.*}} along [0] : tensor<3xf32> -> tensor<3x4x6xf32>
func.func @batches(%v: tensor<5xf16>, %w: tensor<3x5xf16>) -> tensor<3x4x6xf32> {
  %a = nt.broadcast %v along [2] : tensor<5xf16> -> tensor<3x4x5xf16>
  %b = nt.broadcast %w along [0, 1] : tensor<3x5xf16> -> tensor<3x5x6xf16>
  %0 = nt.dot %a, %b batch [0] x [0] contract [2] x [1] : tensor<3x4x5xf16>, tensor<3x5x6xf16> -> tensor<3x4x6xf32>
  func.return %0 : tensor<3x4x6xf32>
}

// Repeated along the axis that is summed over: every term counts.
// CHECK-LABEL: func.func @equal_terms
// CHECK-NEXT:    nt.broadcast %v along [0]
// CHECK-NEXT:    nt.dot %{{.*}}, %w contract [1] x [0] : tensor<4x5xf32>, tensor<5x6xf32> -> tensor<4x6xf32>
// CHECK-NEXT:    func.return
func.func @equal_terms(%v: tensor<4xf32>, %w: tensor<5x6xf32>) -> tensor<4x6xf32> {
  %a = nt.broadcast %v along [0] : tensor<4xf32> -> tensor<4x5xf32>
  %0 = nt.dot %a, %w contract [1] x [0] : tensor<4x5xf32>, tensor<5x6xf32> -> tensor<4x6xf32>
  func.return %0 : tensor<4x6xf32>
}

// What another product reads along its columns, with axes joined, is made with the operands exchanged.
// CHECK-LABEL: func.func @exchanged
// CHECK-NEXT:    %[[A:.*]] = nt.dot %y, %x batch [0] x [0] contract [1] x [2] : tensor<2x5x6xf32>, tensor<2x4x5xf32> -> tensor<2x6x4xf32>
// CHECK-NEXT:    %[[T:.*]] = nt.transpose %[[A]] perm [1, 0, 2] : tensor<2x6x4xf32> -> tensor<6x2x4xf32>
// CHECK-NEXT:    %[[R:.*]] = nt.reshape %[[T]] : tensor<6x2x4xf32> -> tensor<6x8xf32>
// CHECK-NEXT:    nt.dot %[[R]], %w contract [1] x [0]
func.func @exchanged(%x: tensor<2x4x5xf32>, %y: tensor<2x5x6xf32>, %w: tensor<8x3xf32>) -> tensor<6x3xf32> {
  %0 = nt.dot %x, %y batch [0] x [0] contract [2] x [1] : tensor<2x4x5xf32>, tensor<2x5x6xf32> -> tensor<2x4x6xf32>
  %1 = nt.transpose %0 perm [2, 0, 1] : tensor<2x4x6xf32> -> tensor<6x2x4xf32>
  %2 = nt.reshape %1 : tensor<6x2x4xf32> -> tensor<6x8xf32>
  %3 = nt.dot %2, %w contract [1] x [0] : tensor<6x8xf32>, tensor<8x3xf32> -> tensor<6x3xf32>
  func.return %3 : tensor<6x3xf32>
}

// Not where its last axis stays the last, where it is read in its own order as well, or by no product behind a reshape.
// CHECK-LABEL: func.func @as_it_is
// CHECK-NEXT:    nt.dot %x, %y batch
// CHECK-NEXT:    nt.transpose %{{.*}} perm [1, 0, 2]
// CHECK:         nt.dot %x, %y batch
// CHECK-NEXT:    nt.transpose %{{.*}} perm [2, 0, 1]
// CHECK:         nt.dot %x, %x batch
// CHECK-NEXT:    nt.transpose %{{.*}} perm [0, 2, 1]
func.func @as_it_is(%x: tensor<2x4x5xf32>, %y: tensor<2x5x6xf32>, %w: tensor<12x3xf32>, %u: tensor<8x3xf32>)
    -> (tensor<4x3xf32>, tensor<6x3xf32>, tensor<2x4x6xf32>, tensor<2x4x4xf32>) {
  %0 = nt.dot %x, %y batch [0] x [0] contract [2] x [1] : tensor<2x4x5xf32>, tensor<2x5x6xf32> -> tensor<2x4x6xf32>
  %1 = nt.transpose %0 perm [1, 0, 2] : tensor<2x4x6xf32> -> tensor<4x2x6xf32>
  %2 = nt.reshape %1 : tensor<4x2x6xf32> -> tensor<4x12xf32>
  %3 = nt.dot %2, %w contract [1] x [0] : tensor<4x12xf32>, tensor<12x3xf32> -> tensor<4x3xf32>
  %4 = nt.dot %x, %y batch [0] x [0] contract [2] x [1] : tensor<2x4x5xf32>, tensor<2x5x6xf32> -> tensor<2x4x6xf32>
  %5 = nt.transpose %4 perm [2, 0, 1] : tensor<2x4x6xf32> -> tensor<6x2x4xf32>
  %6 = nt.reshape %5 : tensor<6x2x4xf32> -> tensor<6x8xf32>
  %7 = nt.dot %6, %u contract [1] x [0] : tensor<6x8xf32>, tensor<8x3xf32> -> tensor<6x3xf32>
  %8 = nt.dot %x, %x batch [0] x [0] contract [2] x [2] : tensor<2x4x5xf32>, tensor<2x4x5xf32> -> tensor<2x4x4xf32>
  %9 = nt.transpose %8 perm [0, 2, 1] : tensor<2x4x4xf32> -> tensor<2x4x4xf32>
  func.return %3, %7, %4, %9 : tensor<4x3xf32>, tensor<6x3xf32>, tensor<2x4x6xf32>, tensor<2x4x4xf32>
}

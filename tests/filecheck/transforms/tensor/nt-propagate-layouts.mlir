// Intermediates take the memory order that products leave them in; the caller's order, and that of what needs rows, stays.
// RUN: opt-tool %s -p nt-propagate-layouts --split-input-file | filecheck %s
// RUN: opt-tool %s -p nt-propagate-layouts --split-input-file --verify-diagnostics

// Between two convolutions: a scale for each channel, a border, a pool and a sum over places run with channels last, and so do
// the loops of the border; a product reads through a view. The result is in the caller's order.
// CHECK-LABEL: func.func @chain
// CHECK:         %[[C:.*]] = nt.dot
// CHECK-SAME:      -> tensor<2x14x14x32xf32>
// CHECK-NEXT:    %[[S:.*]] = nt.broadcast %scale along [3] : tensor<32xf32> -> tensor<2x14x14x32xf32>
// CHECK-NEXT:    %[[Y:.*]] = nt.multiply %[[C]], %[[S]] : tensor<2x14x14x32xf32>
// CHECK-NEXT:    %[[E:.*]] = nt.empty : tensor<2x16x16x32xf32>
// CHECK-NEXT:    %[[P:.*]] = nt.loops ins(%[[Y]] : tensor<2x14x14x32xf32>) outs(%[[E]] : tensor<2x16x16x32xf32>) {
// CHECK:           nest.for "i"
// CHECK-NEXT:        nest.for "k"
// CHECK-NEXT:          nest.for "l"
// CHECK-NEXT:            nest.for "j"
// CHECK:                   nest.load %{{.*}}[%i, %k - 1, %l - 1, %j]
// CHECK-NEXT:              nest.store %{{.*}}, %{{.*}}[%i, %k, %l, %j] where (%k >= 1, %k < 15, %l >= 1, %l < 15)
// CHECK:         nt.window %[[P]] over [1, 2] : tensor<2x16x16x32xf32> -> tensor<2x14x14x32x3x3xf32>
// CHECK:         nt.slice %{{.*}}[0, 0, 0, 0, 0, 0] strides [1, 2, 2, 1, 1, 1]
// CHECK-SAME:      -> tensor<2x7x7x32x3x3xf32>
// CHECK:         %[[M:.*]] = nt.reduce maximum %{{.*}} over [4, 5] : tensor<2x7x7x32x3x3xf32> -> tensor<2x7x7x32xf32>
// CHECK:         %[[W:.*]] = nt.window %[[M]] over [1, 2] : tensor<2x7x7x32xf32> -> tensor<2x5x5x32x3x3xf32>
// CHECK-NEXT:    %[[V:.*]] = nt.transpose %[[W]] perm [0, 3, 1, 2, 4, 5]
// CHECK-NEXT:    nt.dot %[[V]], %v contract [1, 4, 5] x [1, 2, 3]
// CHECK-NEXT:    nt.reduce add %[[M]] over [1, 2] : tensor<2x7x7x32xf32> -> tensor<2x32xf32>
// CHECK:         func.return
func.func @chain(%x: tensor<2x3x16x16xf32>, %w: tensor<32x3x3x3xf32>, %v: tensor<32x32x3x3xf32>, %scale: tensor<32xf32>) -> (tensor<2x5x5x32xf32>, tensor<2x32xf32>) {
  %0 = nt.window %x over [2, 3] : tensor<2x3x16x16xf32> -> tensor<2x3x14x14x3x3xf32>
  %1 = nt.dot %0, %w contract [1, 4, 5] x [1, 2, 3] : tensor<2x3x14x14x3x3xf32>, tensor<32x3x3x3xf32> -> tensor<2x14x14x32xf32>
  %2 = nt.transpose %1 perm [0, 3, 1, 2] : tensor<2x14x14x32xf32> -> tensor<2x32x14x14xf32>
  %3 = nt.broadcast %scale along [1] : tensor<32xf32> -> tensor<2x32x14x14xf32>
  %y = nt.multiply %2, %3 : tensor<2x32x14x14xf32>
  %4 = nt.empty : tensor<2x32x16x16xf32>
  %p = nt.loops ins(%y : tensor<2x32x14x14xf32>) outs(%4 : tensor<2x32x16x16xf32>) {
  ^bb0(%5: memref<2x32x14x14xf32>, %6: memref<2x32x16x16xf32>):
    %7 = arith.constant 0.0 : f32
    nest.for "i" %i = 0 to 2 {
      nest.for "j" %j = 0 to 32 {
        nest.for "k" %k = 0 to 16 {
          nest.for "l" %l = 0 to 16 {
            nest.store %7, %6[%i, %j, %k, %l] : memref<2x32x16x16xf32>
            %8 = nest.load %5[%i, %j, %k - 1, %l - 1] : memref<2x32x14x14xf32>
            nest.store %8, %6[%i, %j, %k, %l] where (%k >= 1, %k < 15, %l >= 1, %l < 15) : memref<2x32x16x16xf32>
          }
        }
      }
    }
  }
  %9 = nt.window %p over [2, 3] : tensor<2x32x16x16xf32> -> tensor<2x32x14x14x3x3xf32>
  %10 = nt.slice %9[0, 0, 0, 0, 0, 0] strides [1, 1, 2, 2, 1, 1] : tensor<2x32x14x14x3x3xf32> -> tensor<2x32x7x7x3x3xf32>
  %m = nt.reduce maximum %10 over [4, 5] : tensor<2x32x7x7x3x3xf32> -> tensor<2x32x7x7xf32>
  %11 = nt.window %m over [2, 3] : tensor<2x32x7x7xf32> -> tensor<2x32x5x5x3x3xf32>
  %12 = nt.dot %11, %v contract [1, 4, 5] x [1, 2, 3] : tensor<2x32x5x5x3x3xf32>, tensor<32x32x3x3xf32> -> tensor<2x5x5x32xf32>
  %s = nt.reduce add %m over [2, 3] : tensor<2x32x7x7xf32> -> tensor<2x32xf32>
  func.return %12, %s : tensor<2x5x5x32xf32>, tensor<2x32xf32>
}

// -----

// One conversion, wherever it is: the program stays as it is written, and a remark says what is read across memory.
// CHECK-LABEL: func.func @one
// CHECK:         nt.dot
// CHECK-NEXT:    nt.transpose
// CHECK-NEXT:    %y = nt.exp %{{.*}} : tensor<2x32x14x14xf32>
// CHECK-NEXT:    func.return %y
func.func @one(%x: tensor<2x14x14x3xf32>, %w: tensor<3x32xf32>) -> tensor<2x32x14x14xf32> {
  %d = nt.dot %x, %w contract [3] x [0] : tensor<2x14x14x3xf32>, tensor<3x32xf32> -> tensor<2x14x14x32xf32>
  // expected-remark @+1 {{%d is read across memory: no order is better for all that is beside it}}
  %t = nt.transpose %d perm [0, 3, 1, 2] : tensor<2x14x14x32xf32> -> tensor<2x32x14x14xf32>
  %y = nt.exp %t : tensor<2x32x14x14xf32>
  func.return %y : tensor<2x32x14x14xf32>
}

// -----

// Two products and what the caller passes in rows are added: the products have more bytes. What the caller gets keeps its order.
// CHECK-LABEL: func.func @added
// CHECK:         %[[R:.*]] = nt.transpose %r perm [0, 2, 1] : tensor<2x32x64xf32> -> tensor<2x64x32xf32>
// CHECK-NEXT:    %[[A:.*]] = nt.add %{{.*}}, %[[R]] : tensor<2x64x32xf32>
// CHECK-NEXT:    %[[B:.*]] = nt.add %[[A]], %{{.*}} : tensor<2x64x32xf32>
// CHECK-NEXT:    %[[S:.*]] = nt.reduce add %[[B]] over [1] : tensor<2x64x32xf32> -> tensor<2x32xf32>
// CHECK-NEXT:    func.return %[[S]]
func.func @added(%x: tensor<2x64x3xf32>, %w: tensor<3x32xf32>, %r: tensor<2x32x64xf32>) -> tensor<2x32xf32> {
  %d = nt.dot %x, %w contract [2] x [0] : tensor<2x64x3xf32>, tensor<3x32xf32> -> tensor<2x64x32xf32>
  %t = nt.transpose %d perm [0, 2, 1] : tensor<2x64x32xf32> -> tensor<2x32x64xf32>
  %e = nt.dot %x, %w contract [2] x [0] : tensor<2x64x3xf32>, tensor<3x32xf32> -> tensor<2x64x32xf32>
  %u = nt.transpose %e perm [0, 2, 1] : tensor<2x64x32xf32> -> tensor<2x32x64xf32>
  // expected-remark @+1 {{%r is read or written across memory: it keeps the caller's order}}
  %a = nt.add %t, %r : tensor<2x32x64xf32>
  %b = nt.add %a, %u : tensor<2x32x64xf32>
  %s = nt.reduce add %b over [2] : tensor<2x32x64xf32> -> tensor<2x32xf32>
  func.return %s : tensor<2x32xf32>
}

// -----

// Extents that only the run knows go with their axes; so do those of a part.
// CHECK-LABEL: func.func @unknown
// CHECK:         nt.broadcast %b along [2] sizes(%n, %m) : tensor<32xf32> -> tensor<?x?x32xf32>
// CHECK:         nt.slice %{{.*}}[1, %m - 2, 0] strides [1, 1, 2] sizes(%n - 1, 2) : tensor<?x?x32xf32> -> tensor<?x?x16xf32>
// CHECK:         nt.reduce add %{{.*}} over [1] : tensor<?x?x16xf32> -> tensor<?x16xf32>
func.func @unknown(%x: tensor<?x?x3xf32>, %w: tensor<3x32xf32>, %b: tensor<32xf32>) -> tensor<?x16xf32> {
  %n = nt.dim %x[0] : tensor<?x?x3xf32>
  %m = nt.dim %x[1] : tensor<?x?x3xf32>
  %d = nt.dot %x, %w contract [2] x [0] : tensor<?x?x3xf32>, tensor<3x32xf32> -> tensor<?x?x32xf32>
  %t = nt.transpose %d perm [0, 2, 1] : tensor<?x?x32xf32> -> tensor<?x32x?xf32>
  %c = nt.broadcast %b along [1] sizes(%n, %m) : tensor<32xf32> -> tensor<?x32x?xf32>
  %y = nt.add %t, %c : tensor<?x32x?xf32>
  %p = nt.slice %y[1, 0, %m - 2] strides [1, 2, 1] sizes(%n - 1, 2) : tensor<?x32x?xf32> -> tensor<?x16x?xf32>
  %s = nt.reduce add %p over [2] : tensor<?x16x?xf32> -> tensor<?x16xf32>
  func.return %s : tensor<?x16xf32>
}

// -----

// What stays in rows: operands of stacks of products, what is reshaped, a reduction that is not free in its order, an island that
// reads what it writes, and a value whose axes are one (a square added to its transpose).
// CHECK-LABEL: func.func @rows
// CHECK:         %y = nt.exp %t : tensor<4x6x8xf32>
// CHECK:         %z = nt.exp %t : tensor<4x6x8xf32>
// CHECK:         %a = nt.add %d, %t.1 : tensor<4x8x8xf32>
func.func @rows(%x: tensor<4x8x3xf32>, %w: tensor<3x6xf32>, %v: tensor<4x8x5xf32>, %q: tensor<3x8xf32>) -> (tensor<4x6x5xf32>, tensor<192xf32>, tensor<4xf32>) {
  %0 = nt.dot %x, %w contract [2] x [0] : tensor<4x8x3xf32>, tensor<3x6xf32> -> tensor<4x8x6xf32>
  // expected-remark @+1 {{a tensor is read across memory: no order is better for all that is beside it}}
  %t = nt.transpose %0 perm [0, 2, 1] : tensor<4x8x6xf32> -> tensor<4x6x8xf32>
  %y = nt.exp %t : tensor<4x6x8xf32>
  %1 = nt.dot %y, %v batch [0] x [0] contract [2] x [1] : tensor<4x6x8xf32>, tensor<4x8x5xf32> -> tensor<4x6x5xf32>
  %z = nt.exp %t : tensor<4x6x8xf32>
  %2 = nt.reshape %z : tensor<4x6x8xf32> -> tensor<192xf32>
  %d = nt.dot %x, %q contract [2] x [0] : tensor<4x8x3xf32>, tensor<3x8xf32> -> tensor<4x8x8xf32>
  // expected-remark @+1 {{%d is read across memory}}
  %t.1 = nt.transpose %d perm [0, 2, 1] : tensor<4x8x8xf32> -> tensor<4x8x8xf32>
  %a = nt.add %d, %t.1 : tensor<4x8x8xf32>
  %s = nt.reduce add %a over [1, 2] : tensor<4x8x8xf32> -> tensor<4xf32>
  func.return %1, %2, %s : tensor<4x6x5xf32>, tensor<192xf32>, tensor<4xf32>
}

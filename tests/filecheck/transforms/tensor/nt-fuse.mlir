// A chain of elementwise operations is one fusion; softmax with its two reductions is one as well.
// RUN: opt-tool %s -p nt-fuse | filecheck %s

// CHECK-LABEL: func.func @ratio
// CHECK-NEXT:    %[[R:.*]] = nt.fusion "ratio" {
// CHECK-NEXT:      nt.maximum %x, %y
// CHECK-NEXT:      %[[U:.*]] = nt.add %x, %y
// CHECK-NEXT:      nt.constant
// CHECK-NEXT:      %[[E:.*]] = nt.broadcast
// CHECK-NEXT:      %[[D:.*]] = nt.add %[[U]], %[[E]]
// CHECK-NEXT:      %[[Q:.*]] = nt.divide %{{.*}}, %[[D]]
// CHECK-NEXT:      nt.yield %[[Q]] : tensor<4x5xf32>
// CHECK-NEXT:    } : tensor<4x5xf32>
// CHECK-NEXT:    func.return %[[R]]
func.func @ratio(%x: tensor<4x5xf32>, %y: tensor<4x5xf32>) -> tensor<4x5xf32> {
  %c = nt.constant dense<1.0e-05> : tensor<f32>
  %eps = nt.broadcast %c along [] : tensor<f32> -> tensor<4x5xf32>
  %inter = nt.maximum %x, %y : tensor<4x5xf32>
  %union = nt.add %x, %y : tensor<4x5xf32>
  %0 = nt.add %union, %eps : tensor<4x5xf32>
  %ratio = nt.divide %inter, %0 : tensor<4x5xf32>
  func.return %ratio : tensor<4x5xf32>
}

// CHECK-LABEL: func.func @softmax
// CHECK:         nt.fusion "r" {
// CHECK-NEXT:      nt.reduce maximum %x over [1]
// CHECK-NEXT:      nt.broadcast
// CHECK-NEXT:      nt.subtract
// CHECK-NEXT:      nt.exp
// CHECK-NEXT:      nt.reduce add
// CHECK-NEXT:      nt.broadcast
// CHECK-NEXT:      nt.divide
// CHECK-NEXT:      nt.yield
// CHECK-NOT:     nt.fusion
func.func @softmax(%x: tensor<?x?xf32> {nt.dims = ["n", "m"]}) -> tensor<?x?xf32> {
  %n = nt.dim %x[0] : tensor<?x?xf32>
  %k = nt.dim %x[1] : tensor<?x?xf32>
  %m = nt.reduce maximum %x over [1] : tensor<?x?xf32> -> tensor<?xf32>
  %0 = nt.broadcast %m along [0] sizes(%n, %k) : tensor<?xf32> -> tensor<?x?xf32>
  %1 = nt.subtract %x, %0 : tensor<?x?xf32>
  %e = nt.exp %1 : tensor<?x?xf32>
  %s = nt.reduce add %e over [1] : tensor<?x?xf32> -> tensor<?xf32>
  %2 = nt.broadcast %s along [0] sizes(%n, %k) : tensor<?xf32> -> tensor<?x?xf32>
  %r = nt.divide %e, %2 : tensor<?x?xf32>
  func.return %r : tensor<?x?xf32>
}

// A value used outside is a result as well; what only shares an operand joins in.
// CHECK-LABEL: func.func @results
// CHECK:         %a, %b, %c = nt.fusion "a" {
// CHECK:           nt.yield %{{.*}}, %{{.*}}, %{{.*}} : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
func.func @results(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) {
  %a = nt.exp %x : tensor<4xf32>
  %b = nt.negative %a : tensor<4xf32>
  %c = nt.sqrt %x : tensor<4xf32>
  func.return %a, %b, %c : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
}

// The mean of rows: a scalar from outside, a division over the rows, an axis of extent 1.
// CHECK-LABEL: func.func @centered
// CHECK:         nt.fusion "d" {
// CHECK-NEXT:      nt.reduce add
// CHECK-NEXT:      nt.from_scalar
// CHECK-NEXT:      nt.broadcast
// CHECK-NEXT:      %mean = nt.divide
// CHECK:           nt.subtract
// CHECK-NEXT:      nt.yield
// CHECK-NOT:     nt.fusion
func.func @centered(%x: tensor<?x?xf32> {nt.dims = ["n", "m"]}) -> tensor<?x?xf32> {
  %n = nt.dim %x[0] : tensor<?x?xf32>
  %m = nt.dim %x[1] : tensor<?x?xf32>
  %s = nt.reduce add %x over [1] : tensor<?x?xf32> -> tensor<?xf32>
  %i = arith.index_cast %m : index to i64
  %f = arith.sitofp %i : i64 to f32
  %t = nt.from_scalar %f : f32 -> tensor<f32>
  %0 = nt.broadcast %t along [] sizes(%n) : tensor<f32> -> tensor<?xf32>
  %mean = nt.divide %s, %0 : tensor<?xf32>
  %k = nt.broadcast %mean along [0] sizes(%n) : tensor<?xf32> -> tensor<?x1xf32>
  %1 = nt.broadcast %k along [0, 1] sizes(%n, %m) : tensor<?x1xf32> -> tensor<?x?xf32>
  %d = nt.subtract %x, %1 : tensor<?x?xf32>
  func.return %d : tensor<?x?xf32>
}

// A constant that several fusions use is copied into each.
// CHECK-LABEL: func.func @copies
// CHECK:         nt.fusion "a" {
// CHECK-NEXT:      nt.constant
// CHECK:         nt.fusion "b" {
// CHECK-NEXT:      nt.constant
func.func @copies(%x: tensor<4xf32>, %y: tensor<5xf32>) -> (tensor<4xf32>, tensor<5xf32>) {
  %c = nt.constant dense<2.0> : tensor<f32>
  %0 = nt.broadcast %c along [] : tensor<f32> -> tensor<4xf32>
  %a = nt.multiply %x, %0 : tensor<4xf32>
  %1 = nt.broadcast %c along [] : tensor<f32> -> tensor<5xf32>
  %b = nt.multiply %y, %1 : tensor<5xf32>
  func.return %a, %b : tensor<4xf32>, tensor<5xf32>
}

// A cheap value over fewer dimensions that several operations read is computed in their one fusion.
// CHECK-LABEL: func.func @shared_column
// CHECK:         %{{.*}}, %{{.*}} = nt.fusion "y" {
// CHECK-NEXT:      nt.add
// CHECK-NEXT:      nt.broadcast
// CHECK-NEXT:      nt.add
// CHECK-NEXT:      nt.multiply
// CHECK-NEXT:      nt.yield
// CHECK-NOT:     nt.fusion
func.func @shared_column(%x: tensor<4xf32>, %z: tensor<4xf32>, %m: tensor<3x4xf32>, %n: tensor<3x4xf32>) -> (tensor<3x4xf32>, tensor<3x4xf32>) {
  %s = nt.add %x, %z : tensor<4xf32>
  %b = nt.broadcast %s along [1] : tensor<4xf32> -> tensor<3x4xf32>
  %y = nt.add %b, %m : tensor<3x4xf32>
  %w = nt.multiply %b, %n : tensor<3x4xf32>
  func.return %y, %w : tensor<3x4xf32>, tensor<3x4xf32>
}

// Unless it is not cheap: an exponential is stored and loaded.
// CHECK-LABEL: func.func @shared_exponential
// CHECK:         nt.fusion "s" {
// CHECK:         nt.fusion "y" {
func.func @shared_exponential(%x: tensor<4xf32>, %m: tensor<3x4xf32>, %n: tensor<3x4xf32>) -> (tensor<3x4xf32>, tensor<3x4xf32>) {
  %s = nt.exp %x : tensor<4xf32>
  %b = nt.broadcast %s along [1] : tensor<4xf32> -> tensor<3x4xf32>
  %y = nt.add %b, %m : tensor<3x4xf32>
  %w = nt.multiply %b, %n : tensor<3x4xf32>
  func.return %y, %w : tensor<3x4xf32>, tensor<3x4xf32>
}

// The small sum is computed once: a value over the leading dimensions is outside the inner loop.
// CHECK-LABEL: func.func @leading
// CHECK:         nt.fusion "y" {
// CHECK-NEXT:      nt.add
// CHECK-NEXT:      nt.broadcast
// CHECK-NEXT:      nt.add
// CHECK-NEXT:      nt.yield
func.func @leading(%x: tensor<3xf32>, %z: tensor<3xf32>, %m: tensor<3x1000xf32>) -> tensor<3x1000xf32> {
  %s = nt.add %x, %z : tensor<3xf32>
  %b = nt.broadcast %s along [0] : tensor<3xf32> -> tensor<3x1000xf32>
  %y = nt.add %b, %m : tensor<3x1000xf32>
  func.return %y : tensor<3x1000xf32>
}

// Each body of control flow reads through its own copy of a view; nothing is left before the loop.
// CHECK-LABEL: func.func @views_in_branches
// CHECK-NOT:     nt.fusion
// CHECK:         scf.for
// CHECK:           scf.if
// CHECK-NEXT:        nt.fusion "y" {
// CHECK-NEXT:          nt.slice %x
// CHECK-NEXT:          nt.broadcast
// CHECK-NEXT:          nt.add
// CHECK:           } else {
// CHECK-NEXT:        nt.fusion "z" {
// CHECK-NEXT:          nt.slice %x
// CHECK-NEXT:          nt.broadcast
// CHECK-NEXT:          nt.multiply
func.func @views_in_branches(%x: tensor<8xf32>, %m: tensor<4x5xf32>, %c: i1, %n: index) -> tensor<4x5xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %a = nt.slice %x[4] strides [1] : tensor<8xf32> -> tensor<4xf32>
  %b = nt.broadcast %a along [0] : tensor<4xf32> -> tensor<4x5xf32>
  %r = scf.for %t = %c0 to %n step %c1 iter_args(%h = %m) -> (tensor<4x5xf32>) {
    %s = scf.if %c -> (tensor<4x5xf32>) {
      %y = nt.add %h, %b : tensor<4x5xf32>
      scf.yield %y : tensor<4x5xf32>
    } else {
      %z = nt.multiply %h, %b : tensor<4x5xf32>
      scf.yield %z : tensor<4x5xf32>
    }
    scf.yield %s : tensor<4x5xf32>
  }
  func.return %r : tensor<4x5xf32>
}

// A view of what the loop updates in place is an array of its own: the loop would overwrite what it reads.
// CHECK-LABEL: func.func @view_of_updated
// CHECK:         nt.fusion "b" {
// CHECK:         scf.for
// CHECK-NOT:       nt.broadcast
func.func @view_of_updated(%x: tensor<4x4xf32>, %n: index) -> tensor<4x4xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %b = nt.transpose %x perm [1, 0] : tensor<4x4xf32> -> tensor<4x4xf32>
  %r = scf.for %t = %c0 to %n step %c1 iter_args(%h = %x) -> (tensor<4x4xf32>) {
    %s = nt.add %h, %b : tensor<4x4xf32>
    scf.yield %s : tensor<4x4xf32>
  }
  func.return %r : tensor<4x4xf32>
}

// Sums of different results of one fusion over the same axes are one fusion: it reads what these are made of once, and
// nt-recompute may put that in their place. Over other axes they stay apart.
// CHECK-LABEL: @column_sums
// CHECK: %c, %d = nt.fusion "c" {
// CHECK: nt.reduce add %x over [1]
// CHECK: %s, %t = nt.fusion "s" {
// CHECK: nt.reduce add %c over [0]
// CHECK: nt.reduce add %d over [0]
func.func @column_sums(%x: tensor<64x32xf32>) -> (tensor<32xf32>, tensor<32xf32>) {
  %m = nt.reduce add %x over [1] : tensor<64x32xf32> -> tensor<64xf32>
  %b = nt.broadcast %m along [0] : tensor<64xf32> -> tensor<64x32xf32>
  %c = nt.subtract %x, %b : tensor<64x32xf32>
  %d = nt.multiply %c, %b : tensor<64x32xf32>
  %s = nt.reduce add %c over [0] : tensor<64x32xf32> -> tensor<32xf32>
  %t = nt.reduce add %d over [0] : tensor<64x32xf32> -> tensor<32xf32>
  func.return %s, %t : tensor<32xf32>, tensor<32xf32>
}

// CHECK-LABEL: @other_axes
// CHECK: nt.fusion "c"
// CHECK: nt.fusion "s"
// CHECK: nt.fusion "t"
func.func @other_axes(%x: tensor<8x64x32xf32>) -> (tensor<64x32xf32>, tensor<8x32xf32>) {
  %m = nt.reduce add %x over [2] : tensor<8x64x32xf32> -> tensor<8x64xf32>
  %b = nt.broadcast %m along [0, 1] : tensor<8x64xf32> -> tensor<8x64x32xf32>
  %c = nt.subtract %x, %b : tensor<8x64x32xf32>
  %d = nt.multiply %c, %b : tensor<8x64x32xf32>
  %s = nt.reduce add %c over [0] : tensor<8x64x32xf32> -> tensor<64x32xf32>
  %t = nt.reduce add %d over [1] : tensor<8x64x32xf32> -> tensor<8x32xf32>
  func.return %s, %t : tensor<64x32xf32>, tensor<8x32xf32>
}

// One axis of what is computed is two of what reads it: each element would be computed once for each row and column.
// CHECK-LABEL: @outer_product
// CHECK: nt.fusion "b"
// CHECK: nt.exp
// CHECK: nt.fusion "o"
// CHECK-NEXT: nt.broadcast %b along [0]
func.func @outer_product(%x: tensor<64xf32>) -> tensor<64x64xf32> {
  %a = nt.exp %x : tensor<64xf32>
  %b = nt.add %a, %x : tensor<64xf32>
  %r = nt.broadcast %b along [0] : tensor<64xf32> -> tensor<64x64xf32>
  %c = nt.broadcast %b along [1] : tensor<64xf32> -> tensor<64x64xf32>
  %o = nt.multiply %r, %c : tensor<64x64xf32>
  func.return %o : tensor<64x64xf32>
}

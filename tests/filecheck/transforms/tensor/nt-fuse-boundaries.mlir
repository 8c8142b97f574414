// Where fusing stops: misaligned axes, slices, reshapes, other reductions, costly recomputation, cycles, islands.
// RUN: opt-tool %s -p nt-fuse | filecheck %s

// One value at two points of the space: it has to be there first.
// CHECK-LABEL: func.func @plus_transpose
// CHECK:         %a = nt.fusion "a"
// CHECK:         nt.fusion "r" {
// CHECK-NEXT:      nt.transpose %a
func.func @plus_transpose(%x: tensor<8x8xf32>) -> tensor<8x8xf32> {
  %a = nt.exp %x : tensor<8x8xf32>
  %t = nt.transpose %a perm [1, 0] : tensor<8x8xf32> -> tensor<8x8xf32>
  %r = nt.add %a, %t : tensor<8x8xf32>
  func.return %r : tensor<8x8xf32>
}

// CHECK-LABEL: func.func @difference
// CHECK:         %a = nt.fusion "a"
// CHECK:         nt.fusion "r" {
// CHECK-NEXT:      nt.slice %a[1]
// CHECK-NEXT:      nt.slice %a[0]
func.func @difference(%x: tensor<10xf32>) -> tensor<9xf32> {
  %a = nt.exp %x : tensor<10xf32>
  %l = nt.slice %a[0] strides [1] : tensor<10xf32> -> tensor<9xf32>
  %h = nt.slice %a[1] strides [1] : tensor<10xf32> -> tensor<9xf32>
  %r = nt.subtract %h, %l : tensor<9xf32>
  func.return %r : tensor<9xf32>
}

// `(3)+(3)+(3x1000)` is one loop nest, so is `(1000)+(1000)+(3x1000)`.
// CHECK-LABEL: func.func @small_operands
// CHECK:         nt.fusion "r"
// CHECK-NOT:     nt.fusion
func.func @small_operands(%x: tensor<3xf32>, %u: tensor<1000xf32>, %z: tensor<3x1000xf32>) -> tensor<3x1000xf32> {
  %a = nt.add %x, %x : tensor<3xf32>
  %0 = nt.broadcast %a along [0] : tensor<3xf32> -> tensor<3x1000xf32>
  %b = nt.add %u, %u : tensor<1000xf32>
  %1 = nt.broadcast %b along [1] : tensor<1000xf32> -> tensor<3x1000xf32>
  %2 = nt.add %0, %1 : tensor<3x1000xf32>
  %r = nt.add %2, %z : tensor<3x1000xf32>
  func.return %r : tensor<3x1000xf32>
}

// The exponential over rows is computed once a row; over columns it would be computed for every element.
// CHECK-LABEL: func.func @costly
// CHECK:         %b = nt.fusion "b" {
// CHECK-NEXT:      nt.exp %u
// CHECK:         nt.fusion "r" {
// CHECK-NEXT:      nt.exp %x
func.func @costly(%x: tensor<3xf32>, %u: tensor<1000xf32>) -> tensor<3x1000xf32> {
  %a = nt.exp %x : tensor<3xf32>
  %0 = nt.broadcast %a along [0] : tensor<3xf32> -> tensor<3x1000xf32>
  %b = nt.exp %u : tensor<1000xf32>
  %1 = nt.broadcast %b along [1] : tensor<1000xf32> -> tensor<3x1000xf32>
  %r = nt.add %0, %1 : tensor<3x1000xf32>
  func.return %r : tensor<3x1000xf32>
}

// CHECK-LABEL: func.func @other_dimensions
// CHECK-COUNT-3: nt.fusion
func.func @other_dimensions(%x: tensor<4x5xf32>) -> (tensor<f32>, tensor<5xf32>) {
  %rows = nt.reduce add %x over [1] : tensor<4x5xf32> -> tensor<4xf32>
  %columns = nt.reduce add %x over [0] : tensor<4x5xf32> -> tensor<5xf32>
  %all = nt.reduce add %rows over [0] : tensor<4xf32> -> tensor<f32>
  func.return %all, %columns : tensor<f32>, tensor<5xf32>
}

// %c reads %a and what is computed from %a outside the fusion: joining them would be a cycle.
// CHECK-LABEL: func.func @cycle
// CHECK:         nt.fusion "a"
// CHECK:         nt.reshape
// CHECK:         nt.fusion "b"
// CHECK:         nt.reshape
// CHECK:         nt.fusion "c"
func.func @cycle(%x: tensor<4x5xf32>, %y: tensor<20xf32>) -> tensor<4x5xf32> {
  %a = nt.add %x, %x : tensor<4x5xf32>
  %f = nt.reshape %a : tensor<4x5xf32> -> tensor<20xf32>
  %b = nt.multiply %f, %y : tensor<20xf32>
  %g = nt.reshape %b : tensor<20xf32> -> tensor<4x5xf32>
  %c = nt.multiply %g, %a : tensor<4x5xf32>
  func.return %c : tensor<4x5xf32>
}

// What reads %a before the island stays before it, though its user comes after.
// CHECK-LABEL: func.func @island
// CHECK:         %c = nt.fusion "c" {
// CHECK-NEXT:      nt.broadcast %a
// CHECK:         nt.loops
// CHECK:         nt.fusion "d" {
// CHECK-NEXT:      nt.add %c, %c
func.func @island(%a: tensor<8xf64> {nt.mutated}) -> (tensor<8xf64>, tensor<2x8xf64>) {
  %c = nt.broadcast %a along [1] : tensor<8xf64> -> tensor<2x8xf64>
  %a1 = nt.loops ins() outs(%a : tensor<8xf64>) {
  ^bb0(%m: memref<8xf64>):
  }
  %d = nt.add %c, %c : tensor<2x8xf64>
  func.return %a1, %d : tensor<8xf64>, tensor<2x8xf64>
}

// What repeats a number is computed on both sides of an island, and not kept in memory for the other one.
// CHECK-LABEL: func.func @fill_beside_an_island
// CHECK:         nt.fusion "b" {
// CHECK-DAG:       nt.constant dense<1.000000e+00>
// CHECK-DAG:       nt.broadcast
// CHECK:         } : tensor<8xf64>
// CHECK:         nt.loops
// CHECK:         nt.fusion "d" {
// CHECK-DAG:       nt.constant dense<1.000000e+00>
// CHECK-DAG:       nt.broadcast
// CHECK:           nt.add
func.func @fill_beside_an_island(%a: tensor<8xf64> {nt.mutated}, %x: tensor<8xf64>) -> (tensor<8xf64>, tensor<8xf64>, tensor<8xf64>) {
  %one = nt.constant dense<1.0> : tensor<f64>
  %ones = nt.broadcast %one along [] : tensor<f64> -> tensor<8xf64>
  %b = nt.subtract %x, %ones : tensor<8xf64>
  %a1 = nt.loops ins() outs(%a : tensor<8xf64>) {
  ^bb0(%m: memref<8xf64>):
  }
  %d = nt.add %a1, %ones : tensor<8xf64>
  func.return %a1, %b, %d : tensor<8xf64>, tensor<8xf64>, tensor<8xf64>
}

// CHECK-LABEL: func.func @inside_control_flow
// CHECK:         scf.if
// CHECK:           nt.fusion "y"
// CHECK:         } else {
// CHECK-NEXT:      scf.yield
func.func @inside_control_flow(%p: i1, %x: tensor<4xf32>) -> tensor<4xf32> {
  %r = scf.if %p -> (tensor<4xf32>) {
    %y = nt.exp %x : tensor<4xf32>
    scf.yield %y : tensor<4xf32>
  } else {
    scf.yield %x : tensor<4xf32>
  }
  func.return %r : tensor<4xf32>
}

// A number that a loop carries, and repeats in its body, is repeated there: no array of ones is made before the loop.
// CHECK-LABEL: func.func @number_that_is_carried
// CHECK:         %[[ONE:.+]] = nt.constant dense<1.000000e+00> : tensor<f64>
// CHECK-NEXT:    scf.for {{.*}} iter_args(%{{.+}} = %x, %{{.+}} = %[[ONE]])
// CHECK-NEXT:      nt.fusion "y"
// CHECK-NEXT:        %[[OWN:.+]] = nt.constant dense<1.000000e+00> : tensor<f64>
// CHECK-NEXT:        nt.broadcast %[[OWN]]
// CHECK-NEXT:        nt.subtract
func.func @number_that_is_carried(%x: tensor<8xf64>, %n: index) -> (tensor<8xf64>, tensor<f64>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %one = nt.constant dense<1.0> : tensor<f64>
  %ones = nt.broadcast %one along [] : tensor<f64> -> tensor<8xf64>
  %r, %s = scf.for %i = %c0 to %n step %c1 iter_args(%h = %x, %t = %one) -> (tensor<8xf64>, tensor<f64>) {
    %y = nt.subtract %h, %ones : tensor<8xf64>
    %u = nt.add %t, %t : tensor<f64>
    scf.yield %y, %u : tensor<8xf64>, tensor<f64>
  }
  func.return %r, %s : tensor<8xf64>, tensor<f64>
}

// A view that is returned is a copy of its own; what nobody uses is gone.
// CHECK-LABEL: func.func @views
// CHECK-NEXT:    %t = nt.fusion "t" {
// CHECK-NEXT:      nt.transpose %x
// CHECK-NEXT:      nt.yield
// CHECK-NEXT:    } : tensor<5x4xf32>
// CHECK-NEXT:    func.return
func.func @views(%x: tensor<4x5xf32>) -> tensor<5x4xf32> {
  %dead = nt.exp %x : tensor<4x5xf32>
  %t = nt.transpose %x perm [1, 0] : tensor<4x5xf32> -> tensor<5x4xf32>
  func.return %t : tensor<5x4xf32>
}

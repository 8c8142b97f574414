// What every turn of a loop computes alike is computed before it where loading it pays.
// RUN: opt-tool %s -p nt-hoist --split-input-file | filecheck %s

// An exponential and what only depends on it, with the view that it reads; the rest of the turn stays.
// CHECK-LABEL: func.func @expensive
// CHECK:         [[B:%.*]] = nt.broadcast %x along [0]
// CHECK-NEXT:    [[E:%.*]] = nt.exp [[B]]
// CHECK-NEXT:    [[D:%.*]] = nt.add [[E]], [[E]]
// CHECK-NEXT:    scf.for
// CHECK-NEXT:      nt.add %h, [[D]]
// CHECK-NEXT:      scf.yield
func.func @expensive(%x: tensor<4xf32>, %h0: tensor<4x5xf32>, %n: index) -> tensor<4x5xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %r = scf.for %t = %c0 to %n step %c1 iter_args(%h = %h0) -> (tensor<4x5xf32>) {
    %b = nt.broadcast %x along [0] : tensor<4xf32> -> tensor<4x5xf32>
    %e = nt.exp %b : tensor<4x5xf32>
    %d = nt.add %e, %e : tensor<4x5xf32>
    %h1 = nt.add %h, %d : tensor<4x5xf32>
    scf.yield %h1 : tensor<4x5xf32>
  }
  func.return %r : tensor<4x5xf32>
}

// -----

// A cheap operation on one array would be loaded as that array is: it stays. The sum of two is one load for two.
// CHECK-LABEL: func.func @cheap
// CHECK:         [[S:%.*]] = nt.add %x, %y
// CHECK-NEXT:    scf.for
// CHECK-NEXT:      nt.negative %x
// CHECK-NEXT:      nt.add %h, [[S]]
// CHECK-NEXT:      nt.multiply
// CHECK-NEXT:      scf.yield
func.func @cheap(%x: tensor<4xf32>, %y: tensor<4xf32>, %h0: tensor<4xf32>, %n: index) -> tensor<4xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %r = scf.for %t = %c0 to %n step %c1 iter_args(%h = %h0) -> (tensor<4xf32>) {
    %m = nt.negative %x : tensor<4xf32>
    %s = nt.add %x, %y : tensor<4xf32>
    %h1 = nt.add %h, %s : tensor<4xf32>
    %h2 = nt.multiply %h1, %m : tensor<4xf32>
    scf.yield %h2 : tensor<4xf32>
  }
  func.return %r : tensor<4xf32>
}

// -----

// An outer product loads less than the array it makes.
// CHECK-LABEL: func.func @outer_product
// CHECK:         scf.for
// CHECK:           nt.broadcast %x
// CHECK:           nt.multiply
func.func @outer_product(%x: tensor<4xf32>, %y: tensor<5xf32>, %h0: tensor<4x5xf32>, %n: index) -> tensor<4x5xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %r = scf.for %t = %c0 to %n step %c1 iter_args(%h = %h0) -> (tensor<4x5xf32>) {
    %a = nt.broadcast %x along [0] : tensor<4xf32> -> tensor<4x5xf32>
    %b = nt.broadcast %y along [1] : tensor<5xf32> -> tensor<4x5xf32>
    %p = nt.multiply %a, %b : tensor<4x5xf32>
    %h1 = nt.add %h, %p : tensor<4x5xf32>
    scf.yield %h1 : tensor<4x5xf32>
  }
  func.return %r : tensor<4x5xf32>
}

// -----

// Out of both loops, and out of the condition of a while; a reduction, too, and the scalar made of it.
// CHECK-LABEL: func.func @nested
// CHECK:         [[S:%.*]] = nt.reduce add %x
// CHECK:         [[L:%.*]] = nt.multiply [[S]], [[S]]
// CHECK:         scf.for
// CHECK-NEXT:      scf.while
// CHECK-NEXT:        nt.reduce maximum
// CHECK-NEXT:        nt.less %{{.*}}, [[L]]
func.func @nested(%x: tensor<?xf32>, %h0: tensor<4xf32>, %n: index) -> tensor<4xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %r = scf.for %t = %c0 to %n step %c1 iter_args(%h = %h0) -> (tensor<4xf32>) {
    %w = scf.while (%v = %h) : (tensor<4xf32>) -> (tensor<4xf32>) {
      %s = nt.reduce add %x over [0] : tensor<?xf32> -> tensor<f32>
      %limit = nt.multiply %s, %s : tensor<f32>
      %m = nt.reduce maximum %v over [0] : tensor<4xf32> -> tensor<f32>
      %l = nt.less %m, %limit : tensor<f32>
      %c = nt.to_scalar %l : tensor<i1> -> i1
      scf.condition(%c) %v : tensor<4xf32>
    } do {
    ^bb0(%v: tensor<4xf32>):
      %v1 = nt.add %v, %v : tensor<4xf32>
      scf.yield %v1 : tensor<4xf32>
    }
    scf.yield %w : tensor<4xf32>
  }
  func.return %r : tensor<4xf32>
}

// -----

// What a branch computes may not be needed, what may fail stays where it fails, and an integer division by what may
// be zero is not run where the loop does not run.
// CHECK-LABEL: func.func @stays
// CHECK:         scf.for
// CHECK-NEXT:      nest.index
// CHECK-NEXT:      arith.floordivsi
// CHECK-NEXT:      nt.slice
// CHECK-NEXT:      scf.if
// CHECK-NEXT:        nt.exp
func.func @stays(%x: tensor<8xf32>, %h0: tensor<8xf32>, %k: index, %c: i1, %n: index) -> tensor<8xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %r = scf.for %t = %c0 to %n step %c1 iter_args(%h = %h0) -> (tensor<8xf32>) {
    %i = nest.index %k of %c8 axis 0 of "x"
    %q = arith.floordivsi %c8, %k : index
    %v = nt.slice %x[%i + %q] strides [1] : tensor<8xf32> -> tensor<2xf32>
    %u = scf.if %c -> (tensor<8xf32>) {
      %e = nt.exp %x : tensor<8xf32>
      %w = nt.reduce add %v over [0] : tensor<2xf32> -> tensor<f32>
      %b = nt.broadcast %w along [] : tensor<f32> -> tensor<8xf32>
      %s = nt.add %e, %b : tensor<8xf32>
      scf.yield %s : tensor<8xf32>
    } else {
      scf.yield %h : tensor<8xf32>
    }
    scf.yield %u : tensor<8xf32>
  }
  func.return %r : tensor<8xf32>
}

// -----

// An element that may only be there where the loop has a turn.
// CHECK-LABEL: func.func @unchecked
// CHECK:         scf.for
// CHECK-NEXT:      nt.slice %x[%k]
// CHECK-NEXT:      nt.exp
func.func @unchecked(%x: tensor<8xf32>, %h0: tensor<1xf32>, %k: index, %n: index) -> tensor<1xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %r = scf.for %t = %c0 to %n step %c1 iter_args(%h = %h0) -> (tensor<1xf32>) {
    %v = nt.slice %x[%k] strides [1] : tensor<8xf32> -> tensor<1xf32>
    %e = nt.exp %v : tensor<1xf32>
    %h1 = nt.add %h, %e : tensor<1xf32>
    scf.yield %h1 : tensor<1xf32>
  }
  func.return %r : tensor<1xf32>
}

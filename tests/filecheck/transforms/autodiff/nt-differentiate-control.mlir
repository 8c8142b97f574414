// Loops and branches: the forward run keeps what the reverse needs, and the reverse counts the other way.
// RUN: opt-tool %s -p nt-differentiate,canonicalize,cse | filecheck %s

func.func private @steps(%x: tensor<4xf64>, %w: tensor<4x4xf64>) -> tensor<4xf64> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c9 = arith.constant 9 : index
  %r = scf.for %k = %c0 to %c9 step %c1 iter_args(%h = %x) -> (tensor<4xf64>) {
    %d = nt.dot %h, %w contract [0] x [0] : tensor<4xf64>, tensor<4x4xf64> -> tensor<4xf64>
    %e = nt.tanh %d : tensor<4xf64>
    scf.yield %e : tensor<4xf64>
  }
  func.return %r : tensor<4xf64>
}

// What an iteration starts from and what it gives are kept in place, on one stack; the product is not computed again. What
// all iterations add to the gradient of %w is one product behind the loop.
// CHECK-LABEL: func.func @loop
// CHECK: nest.store {{.*}}[0, %i]
// CHECK: scf.for %k = {{.*}} iter_args(%h = %x, {{.*}}) -> (tensor<4xf64>, tensor<10x4xf64>)
// CHECK: nt.loops
// CHECK: nest.store {{.*}}[%k + 1, %i
// CHECK: nt.slice {{.*}}[0, 0] strides [1, 1] : tensor<10x4xf64> -> tensor<9x4xf64>
// CHECK: scf.for [[J:%\S+]] = {{.*}} -> (tensor<4xf64>, tensor<9x4xf64>)
// CHECK: nt.slice {{.*}}[9 - [[J]], 0] strides [1, 1] : tensor<10x4xf64>
// CHECK-NOT: nt.tanh
// CHECK: nt.dot
// CHECK: nest.store {{.*}}[8 - [[J]],
// CHECK: scf.yield
// CHECK: nt.dot {{.*}} contract [0] x [0] : tensor<9x4xf64>, tensor<9x4xf64> -> tensor<4x4xf64>
// CHECK-NOT: nt.dot
// CHECK: func.return
func.func @loop(%x: tensor<4xf64>, %w: tensor<4x4xf64>, %c: tensor<4xf64>) -> (tensor<4xf64>, tensor<4x4xf64>) {
  %gx, %gw = nt.vjp replay @steps(%x, %w : tensor<4xf64>, tensor<4x4xf64>) cotangents(%c : tensor<4xf64>) wrt [0, 1] of [0] -> (tensor<4xf64>, tensor<4x4xf64>)
  func.return %gx, %gw : tensor<4xf64>, tensor<4x4xf64>
}

// Forward mode carries the tangent beside the value.
// CHECK-LABEL: func.func @tangents
// CHECK: scf.for %k = {{.*}} iter_args(%h = %x, {{.*}} = %c) -> (tensor<4xf64>, tensor<4xf64>)
// CHECK-NOT: scf.for
// CHECK: func.return
func.func @tangents(%x: tensor<4xf64>, %w: tensor<4x4xf64>, %c: tensor<4xf64>) -> tensor<4xf64> {
  %t = nt.jvp replay @steps(%x, %w : tensor<4xf64>, tensor<4x4xf64>) tangents(%c : tensor<4xf64>) wrt [0] of [0] -> (tensor<4xf64>)
  func.return %t : tensor<4xf64>
}

// A linear loop keeps nothing.
func.func private @linear(%x: tensor<4xf64>, %w: tensor<4xf64>, %n: index) -> tensor<4xf64> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %r = scf.for %k = %c0 to %n step %c1 iter_args(%h = %x) -> (tensor<4xf64>) {
    %e = nt.multiply %h, %w : tensor<4xf64>
    scf.yield %e : tensor<4xf64>
  }
  func.return %r : tensor<4xf64>
}

// CHECK-LABEL: func.func @keeps_nothing
// CHECK-NOT: nt.empty
// CHECK: func.return
func.func @keeps_nothing(%x: tensor<4xf64>, %w: tensor<4xf64>, %n: index, %c: tensor<4xf64>) -> tensor<4xf64> {
  %g = nt.vjp replay @linear(%x, %w, %n : tensor<4xf64>, tensor<4xf64>, index) cotangents(%c : tensor<4xf64>) wrt [0] of [0] -> (tensor<4xf64>)
  func.return %g : tensor<4xf64>
}

// The condition decides again; the product of one side is a result of the forward branch, which the other side leaves out.
func.func private @sides(%x: tensor<4xf64>, %w: tensor<4x4xf64>, %p: i1) -> tensor<4xf64> {
  %r = scf.if %p -> (tensor<4xf64>) {
    %d = nt.dot %x, %w contract [0] x [0] : tensor<4xf64>, tensor<4x4xf64> -> tensor<4xf64>
    %e = nt.sin %d : tensor<4xf64>
    scf.yield %e : tensor<4xf64>
  } else {
    scf.yield %x : tensor<4xf64>
  }
  func.return %r : tensor<4xf64>
}

// CHECK-LABEL: func.func @branch
// CHECK: scf.if %p -> (tensor<4xf64>, tensor<4xf64>)
// CHECK: nt.dot
// CHECK: nt.empty
// CHECK: scf.if %p -> (tensor<4xf64>)
// CHECK: nt.cos
// CHECK: nt.dot
// CHECK: } else {
// CHECK-NEXT: scf.yield %c
func.func @branch(%x: tensor<4xf64>, %w: tensor<4x4xf64>, %p: i1, %c: tensor<4xf64>) -> (tensor<4xf64>, tensor<4xf64>) {
  %y, %g = nt.vjp @sides(%x, %w, %p : tensor<4xf64>, tensor<4x4xf64>, i1) cotangents(%c : tensor<4xf64>) wrt [0] of [0] -> (tensor<4xf64>, tensor<4xf64>)
  func.return %y, %g : tensor<4xf64>, tensor<4xf64>
}

// A while loop counts; its replay keeps values, and is reversed.
func.func private @until(%x: tensor<f64>) -> tensor<f64> {
  %r = scf.while (%h = %x) : (tensor<f64>) -> tensor<f64> {
    %one = nt.constant dense<1.0> : tensor<f64>
    %0 = nt.greater %h, %one : tensor<f64>
    %1 = nt.to_scalar %0 : tensor<i1> -> i1
    scf.condition(%1) %h : tensor<f64>
  } do {
  ^bb0(%h: tensor<f64>):
    %2 = nt.sqrt %h : tensor<f64>
    scf.yield %2 : tensor<f64>
  }
  func.return %r : tensor<f64>
}

// CHECK-LABEL: func.func @counted
// CHECK: %r, %count = scf.while
// CHECK: [[N:%\S+]] = nt.to_scalar %count
// CHECK: [[I:%\S+]] = arith.index_cast [[N]]
// CHECK: scf.for {{.*}} to [[I]]
// CHECK: scf.for
// CHECK-NOT: scf.while
// CHECK: func.return %r,
func.func @counted(%x: tensor<f64>, %c: tensor<f64>) -> (tensor<f64>, tensor<f64>) {
  %y, %g = nt.vjp @until(%x : tensor<f64>) cotangents(%c : tensor<f64>) wrt [0] of [0] -> (tensor<f64>, tensor<f64>)
  func.return %y, %g : tensor<f64>, tensor<f64>
}

// With snapshots the forward loop keeps three states, and parts of it run again from them; it checks once.
func.func private @checked(%x: tensor<4xf64>, %p: i1, %n: index) -> tensor<4xf64> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %r = scf.for %k = %c0 to %n step %c1 iter_args(%h = %x) -> (tensor<4xf64>) {
    cf.assert %p, "no"
    %e = nt.tanh %h : tensor<4xf64>
    scf.yield %e : tensor<4xf64>
  } {nt.snapshots = 3 : i64}
  func.return %r : tensor<4xf64>
}

// CHECK-LABEL: func.func @snapshots
// CHECK: nt.empty : tensor<3x4xf64>
// CHECK: scf.for
// CHECK: scf.if
// CHECK: cf.assert
// CHECK: nt.tanh
// CHECK-NOT: cf.assert
// CHECK: scf.for
// CHECK: scf.for
// CHECK: nt.tanh
// CHECK: func.return
func.func @snapshots(%x: tensor<4xf64>, %p: i1, %n: index, %c: tensor<4xf64>) -> (tensor<4xf64>, tensor<4xf64>) {
  %y, %g = nt.vjp @checked(%x, %p, %n : tensor<4xf64>, i1, index) cotangents(%c : tensor<4xf64>) wrt [0] of [0] -> (tensor<4xf64>, tensor<4xf64>)
  func.return %y, %g : tensor<4xf64>, tensor<4xf64>
}

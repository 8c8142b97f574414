// Control flow that has no derivative is refused where it is.
// RUN: opt-tool %s -p nt-differentiate --split-input-file --verify-diagnostics

func.func private @f(%x: tensor<8xf64>, %p: i1) -> tensor<8xf64> {
  %r = scf.while (%h = %x) : (tensor<8xf64>) -> tensor<8xf64> {
    scf.condition(%p) %h : tensor<8xf64>
  } do {
  ^bb0(%h: tensor<8xf64>):
    // expected-error @below {{a call that happens once cannot be replayed: a while loop around it is not differentiated}}
    %0 = nt.custom_call ordered "mine"() : () -> tensor<8xf64>
    %1 = nt.multiply %h, %0 : tensor<8xf64>
    scf.yield %1 : tensor<8xf64>
  }
  func.return %r : tensor<8xf64>
}
func.func @once(%x: tensor<8xf64>, %p: i1) -> tensor<8xf64> {
  %g = nt.vjp replay @f(%x, %p : tensor<8xf64>, i1) cotangents(%x : tensor<8xf64>) wrt [0] of [0] -> (tensor<8xf64>)
  func.return %g : tensor<8xf64>
}

// -----

func.func private @f(%x: tensor<8xf64>, %n: index) -> tensor<8xf64> {
  %c0 = arith.constant 0 : index
  // expected-error @below {{a loop on tensors needs a constant positive step}}
  %r = scf.for %k = %c0 to %n step %n iter_args(%h = %x) -> (tensor<8xf64>) {
    %0 = nt.sin %h : tensor<8xf64>
    scf.yield %0 : tensor<8xf64>
  }
  func.return %r : tensor<8xf64>
}
func.func @step(%x: tensor<8xf64>, %n: index) -> tensor<8xf64> {
  %g = nt.vjp replay @f(%x, %n : tensor<8xf64>, index) cotangents(%x : tensor<8xf64>) wrt [0] of [0] -> (tensor<8xf64>)
  func.return %g : tensor<8xf64>
}

// -----

func.func private @f(%x: tensor<8xf64>, %n: index) -> tensor<8xf64> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  // expected-error @below {{scf.for carries index: loops on tensors carry tensors}}
  %r, %i = scf.for %k = %c0 to %n step %c1 iter_args(%h = %x, %j = %n) -> (tensor<8xf64>, index) {
    %0 = nt.sin %h : tensor<8xf64>
    scf.yield %0, %k : tensor<8xf64>, index
  }
  func.return %r : tensor<8xf64>
}
func.func @number(%x: tensor<8xf64>, %n: index) -> tensor<8xf64> {
  %g = nt.vjp replay @f(%x, %n : tensor<8xf64>, index) cotangents(%x : tensor<8xf64>) wrt [0] of [0] -> (tensor<8xf64>)
  func.return %g : tensor<8xf64>
}

// -----

func.func private @f(%x: tensor<8xf64>, %n: index) -> tensor<8xf64> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %r = scf.for %k = %c0 to %n step %c1 iter_args(%h = %x) -> (tensor<8xf64>) {
    // expected-error @below {{the derivative needs the result of a call that happens once, and whose extents are not known before the loop or branch around it}}
    %0 = nt.custom_call ordered "mine"() sizes(%k) : () -> tensor<?xf64>
    %4 = nt.slice %h[0] strides [1] sizes(%k) : tensor<8xf64> -> tensor<?xf64>
    %5 = nt.multiply %4, %0 : tensor<?xf64>
    %6 = nt.reduce add %5 over [0] : tensor<?xf64> -> tensor<f64>
    %7 = nt.broadcast %6 along [] : tensor<f64> -> tensor<8xf64>
    scf.yield %7 : tensor<8xf64>
  }
  func.return %r : tensor<8xf64>
}
func.func @extents(%x: tensor<8xf64>, %n: index) -> tensor<8xf64> {
  %g = nt.vjp replay @f(%x, %n : tensor<8xf64>, index) cotangents(%x : tensor<8xf64>) wrt [0] of [0] -> (tensor<8xf64>)
  func.return %g : tensor<8xf64>
}

// -----

func.func private @f(%x: tensor<8xf64>, %n: index) -> tensor<8xf64> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  // expected-error @below {{a loop keeps one snapshot or more}}
  %r = scf.for %k = %c0 to %n step %c1 iter_args(%h = %x) -> (tensor<8xf64>) {
    %0 = nt.sin %h : tensor<8xf64>
    scf.yield %0 : tensor<8xf64>
  } {nt.snapshots = 0 : i64}
  func.return %r : tensor<8xf64>
}
func.func @none(%x: tensor<8xf64>, %n: index) -> tensor<8xf64> {
  %g = nt.vjp replay @f(%x, %n : tensor<8xf64>, index) cotangents(%x : tensor<8xf64>) wrt [0] of [0] -> (tensor<8xf64>)
  func.return %g : tensor<8xf64>
}

// -----

func.func private @f(%x: tensor<8xf64>, %n: index) -> tensor<8xf64> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %r = scf.for %k = %c0 to %n step %c1 iter_args(%h = %x) -> (tensor<8xf64>) {
    // expected-error @below {{a call that happens once cannot run again: the loop around it has nt.snapshots}}
    %0 = nt.custom_call ordered "mine"() : () -> tensor<8xf64>
    %1 = nt.multiply %h, %0 : tensor<8xf64>
    scf.yield %1 : tensor<8xf64>
  } {nt.snapshots = 2 : i64}
  func.return %r : tensor<8xf64>
}
func.func @once(%x: tensor<8xf64>, %n: index) -> tensor<8xf64> {
  %g = nt.vjp replay @f(%x, %n : tensor<8xf64>, index) cotangents(%x : tensor<8xf64>) wrt [0] of [0] -> (tensor<8xf64>)
  func.return %g : tensor<8xf64>
}

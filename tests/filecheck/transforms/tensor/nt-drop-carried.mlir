// What a loop carries for nobody is not computed; what acts stays with what it reads.
// RUN: opt-tool %s -p nt-drop-carried --split-input-file | filecheck %s

// %b only feeds itself, and nobody reads its end.
// CHECK-LABEL: func.func @one_of_two
// CHECK:         %r = scf.for %t = %c0 to %n step %c1 iter_args(%a = %x) -> (tensor<4xf32>) {
// CHECK-NEXT:      %a1 = nt.sin %a
// CHECK-NEXT:      scf.yield %a1 : tensor<4xf32>
// CHECK-NEXT:    }
// CHECK-NEXT:    func.return %r
func.func @one_of_two(%x: tensor<4xf32>, %y: tensor<4xf32>, %n: index) -> tensor<4xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %r, %s = scf.for %t = %c0 to %n step %c1 iter_args(%a = %x, %b = %y) -> (tensor<4xf32>, tensor<4xf32>) {
    %a1 = nt.sin %a : tensor<4xf32>
    %b1 = nt.add %b, %a : tensor<4xf32>
    scf.yield %a1, %b1 : tensor<4xf32>, tensor<4xf32>
  }
  func.return %r : tensor<4xf32>
}

// -----

// Nobody reads the end of %b, but the next %a is made of it. %c and %d feed each other only.
// CHECK-LABEL: func.func @through_another
// CHECK:         scf.for {{.*}} iter_args(%a = %x, %b = %x)
// CHECK-NEXT:      %a1 = nt.add %a, %b
// CHECK-NEXT:      %b1 = nt.sin %b
// CHECK-NEXT:      scf.yield %a1, %b1 :
func.func @through_another(%x: tensor<4xf32>, %n: index) -> tensor<4xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %r:4 = scf.for %t = %c0 to %n step %c1 iter_args(%a = %x, %b = %x, %c = %x, %d = %x) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) {
    %a1 = nt.add %a, %b : tensor<4xf32>
    %b1 = nt.sin %b : tensor<4xf32>
    %c1_1 = nt.add %c, %d : tensor<4xf32>
    scf.yield %a1, %b1, %d, %c1_1 : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
  }
  func.return %r#0 : tensor<4xf32>
}

// -----

// All that read a result of the inner loop is dropped with what the outer one carries.
// CHECK-LABEL: func.func @nested
// CHECK:         scf.for {{.*}} iter_args(%a = %x) -> (tensor<4xf32>) {
// CHECK-NEXT:      scf.for {{.*}} iter_args(%p = %a) -> (tensor<4xf32>) {
// CHECK-NEXT:        nt.sin %p
// CHECK-NOT:     nt.exp
func.func @nested(%x: tensor<4xf32>, %n: index) -> tensor<4xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %r, %s = scf.for %t = %c0 to %n step %c1 iter_args(%a = %x, %b = %x) -> (tensor<4xf32>, tensor<4xf32>) {
    %i, %j = scf.for %u = %c0 to %n step %c1 iter_args(%p = %a, %q = %b) -> (tensor<4xf32>, tensor<4xf32>) {
      %p1 = nt.sin %p : tensor<4xf32>
      %q1 = nt.exp %q : tensor<4xf32>
      scf.yield %p1, %q1 : tensor<4xf32>, tensor<4xf32>
    }
    scf.yield %i, %j : tensor<4xf32>, tensor<4xf32>
  }
  func.return %r : tensor<4xf32>
}

// -----

// The condition reads %k, which is carried and given on though nobody reads it after the loop.
// CHECK-LABEL: func.func @while
// CHECK:         %{{.*}}, %{{.*}} = scf.while (%a = %x, %k = %k0) : (tensor<4xf32>, tensor<i64>) -> (tensor<4xf32>, tensor<i64>) {
// CHECK:           scf.condition({{.*}}) %a, %k : tensor<4xf32>, tensor<i64>
// CHECK-NEXT:    } do {
// CHECK-NEXT:    ^bb0(%a2: tensor<4xf32>, %k2: tensor<i64>):
// CHECK-NEXT:      %a3 = nt.sin %a2
// CHECK-NEXT:      %k3 = nt.constant dense<1>
// CHECK-NEXT:      scf.yield %a3, %k3 : tensor<4xf32>, tensor<i64>
func.func @while(%x: tensor<4xf32>, %k0: tensor<i64>) -> tensor<4xf32> {
  %r, %s, %l = scf.while (%a = %x, %b = %x, %k = %k0) : (tensor<4xf32>, tensor<4xf32>, tensor<i64>) -> (tensor<4xf32>, tensor<4xf32>, tensor<i64>) {
    %zero = nt.constant dense<0> : tensor<i64>
    %is = nt.greater %k, %zero : tensor<i64>
    %go = nt.to_scalar %is : tensor<i1> -> i1
    scf.condition(%go) %a, %b, %k : tensor<4xf32>, tensor<4xf32>, tensor<i64>
  } do {
  ^bb0(%a2: tensor<4xf32>, %b2: tensor<4xf32>, %k2: tensor<i64>):
    %a3 = nt.sin %a2 : tensor<4xf32>
    %b3 = nt.add %b2, %a2 : tensor<4xf32>
    %k3 = nt.constant dense<1> : tensor<i64>
    scf.yield %a3, %b3, %k3 : tensor<4xf32>, tensor<4xf32>, tensor<i64>
  }
  func.return %r : tensor<4xf32>
}

// -----

// An island that checks an index acts: it stays, and so does what it reads. One that only computes goes.
// CHECK-LABEL: func.func @islands
// CHECK:         scf.for {{.*}} iter_args(%a = %x, %b = %x)
// CHECK:           nest.index
// CHECK-NOT:       nt.loops
// CHECK:           scf.yield
func.func @islands(%x: tensor<4xf32>, %n: index) -> tensor<4xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %r:3 = scf.for %t = %c0 to %n step %c1 iter_args(%a = %x, %b = %x, %c = %x) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) {
    %a1 = nt.sin %a : tensor<4xf32>
    %e = nt.empty : tensor<4xf32>
    %b1 = nt.loops ins(%b : tensor<4xf32>) outs(%e : tensor<4xf32>) {
    ^bb0(%p: memref<4xf32>, %o: memref<4xf32>):
      %k = nest.index %n of 4 axis 0 of "x"
      %v = nest.load %p[%k] : memref<4xf32>
      nest.store %v, %o[%k] : memref<4xf32>
    }
    %f = nt.empty : tensor<4xf32>
    %d1 = nt.loops ins(%c : tensor<4xf32>) outs(%f : tensor<4xf32>) {
    ^bb0(%p: memref<4xf32>, %o: memref<4xf32>):
      %v = nest.load %p[0] : memref<4xf32>
      nest.store %v, %o[0] : memref<4xf32>
    }
    scf.yield %a1, %b1, %d1 : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
  }
  func.return %r#0 : tensor<4xf32>
}

// -----

// A branch gives one thing that somebody reads; the loop carries nothing for the other.
// CHECK-LABEL: func.func @branch
// CHECK:         scf.for {{.*}} iter_args(%a = %x) -> (tensor<4xf32>) {
// CHECK-NEXT:      %i = scf.if %c -> (tensor<4xf32>) {
// CHECK-NEXT:        %p = nt.sin %a
// CHECK-NEXT:        scf.yield %p : tensor<4xf32>
// CHECK-NEXT:      } else {
// CHECK-NEXT:        scf.yield %a : tensor<4xf32>
// CHECK-NEXT:      }
// CHECK-NEXT:      scf.yield %i : tensor<4xf32>
func.func @branch(%x: tensor<4xf32>, %c: i1, %n: index) -> tensor<4xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %r, %s = scf.for %t = %c0 to %n step %c1 iter_args(%a = %x, %b = %x) -> (tensor<4xf32>, tensor<4xf32>) {
    %i, %j = scf.if %c -> (tensor<4xf32>, tensor<4xf32>) {
      %p = nt.sin %a : tensor<4xf32>
      %q = nt.exp %b : tensor<4xf32>
      scf.yield %p, %q : tensor<4xf32>, tensor<4xf32>
    } else {
      scf.yield %a, %b : tensor<4xf32>, tensor<4xf32>
    }
    scf.yield %i, %j : tensor<4xf32>, tensor<4xf32>
  }
  func.return %r : tensor<4xf32>
}

// -----

// A condition that gives on what it carries in another order: what is given on and what comes back are told apart.
// CHECK-LABEL: func.func @while_given_in_another_order
// CHECK:         %r = scf.while (%a = %x, %k = %k0) : (tensor<4xf32>, tensor<i64>) -> tensor<4xf32> {
// CHECK:           scf.condition({{.*}}) %a : tensor<4xf32>
// CHECK-NEXT:    } do {
// CHECK-NEXT:    ^bb0(%a2: tensor<4xf32>):
// CHECK-NEXT:      %a3 = nt.sin %a2
// CHECK-NEXT:      %k3 = nt.constant dense<1>
// CHECK-NEXT:      scf.yield %a3, %k3 : tensor<4xf32>, tensor<i64>
func.func @while_given_in_another_order(%x: tensor<4xf32>, %k0: tensor<i64>) -> tensor<4xf32> {
  %l, %r = scf.while (%a = %x, %k = %k0) : (tensor<4xf32>, tensor<i64>) -> (tensor<i64>, tensor<4xf32>) {
    %zero = nt.constant dense<0> : tensor<i64>
    %is = nt.greater %k, %zero : tensor<i64>
    %go = nt.to_scalar %is : tensor<i1> -> i1
    scf.condition(%go) %k, %a : tensor<i64>, tensor<4xf32>
  } do {
  ^bb0(%k2: tensor<i64>, %a2: tensor<4xf32>):
    %a3 = nt.sin %a2 : tensor<4xf32>
    %k3 = nt.constant dense<1> : tensor<i64>
    scf.yield %a3, %k3 : tensor<4xf32>, tensor<i64>
  }
  func.return %r : tensor<4xf32>
}

// A loop in which two arrays change places runs two turns at a time; no turn copies them.
// RUN: opt-tool %s -p nt-unroll-swaps --split-input-file | filecheck %s
// RUN: opt-tool %s -p nt-unroll-swaps,convert-nt-to-nest --split-input-file | filecheck %s --check-prefix=NEST

// CHECK-LABEL: func.func @ping_pong
// CHECK:      [[P:%.*]], [[Q:%.*]] = scf.for %t = %c0 to [[EVEN:%.*]] step [[TWO:%.*]] iter_args([[A:%.*]] = %x, [[B:%.*]] = %y)
// CHECK:        [[B1:%.*]] = nt.loops ins([[A]] : tensor<8xf32>) outs([[B]] : tensor<8xf32>)
// CHECK:        [[A1:%.*]] = nt.loops ins([[B1]] : tensor<8xf32>) outs([[A]] : tensor<8xf32>)
// CHECK:        scf.yield [[A1]], [[B1]]
// CHECK:      [[IS_EVEN:%.*]] = arith.cmpi sge, [[EVEN]], %n : index
// CHECK:      scf.if [[IS_EVEN]]
// CHECK-NEXT:   scf.yield [[P]], [[Q]]
// CHECK:      } else {
// CHECK-NEXT:   [[B2:%.*]] = nt.loops ins([[P]] : tensor<8xf32>) outs([[Q]] : tensor<8xf32>)
// CHECK:        scf.yield [[B2]], [[P]]

// Two copies of arguments before the loop, and what a last odd turn moves.
// NEST-LABEL: func.func @ping_pong
// NEST:       nest.for "t"
// NEST-NOT:     "copy"
// NEST:       nest.if
// NEST-NEXT:  } else {
func.func @ping_pong(%x: tensor<8xf32>, %y: tensor<8xf32>, %n: index) -> (tensor<8xf32>, tensor<8xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %p, %q = scf.for %t = %c0 to %n step %c1 iter_args(%a = %x, %b = %y) -> (tensor<8xf32>, tensor<8xf32>) {
    %b1 = nt.loops ins(%a : tensor<8xf32>) outs(%b : tensor<8xf32>) {
    ^bb0(%am: memref<8xf32>, %bm: memref<8xf32>):
      nest.for "i" %i = 1 to 8 {
        %v = nest.load %am[%i - 1] : memref<8xf32>
        nest.store "b" %v, %bm[%i] : memref<8xf32>
      }
    }
    scf.yield %b1, %a : tensor<8xf32>, tensor<8xf32>
  }
  func.return %p, %q : tensor<8xf32>, tensor<8xf32>
}

// -----

// A loop that only updates in place, or gives an array new contents, stays as it is.
// CHECK-LABEL: func.func @no_swap
// CHECK-COUNT-2: scf.for
// CHECK-NOT: scf.for
func.func @no_swap(%x: tensor<8xf32>, %y: tensor<8xf32>, %n: index) -> (tensor<8xf32>, tensor<8xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %p, %q = scf.for %t = %c0 to %n step %c1 iter_args(%a = %x, %b = %y) -> (tensor<8xf32>, tensor<8xf32>) {
    %s = nt.add %a, %b : tensor<8xf32>
    scf.yield %s, %b : tensor<8xf32>, tensor<8xf32>
  }
  %r, %s = scf.for %t = %c0 to %n step %c1 iter_args(%a = %p, %b = %q) -> (tensor<8xf32>, tensor<8xf32>) {
    %sum = nt.add %a, %b : tensor<8xf32>
    scf.yield %b, %sum : tensor<8xf32>, tensor<8xf32>
  }
  func.return %r, %s : tensor<8xf32>, tensor<8xf32>
}

// -----

// A loop with a condition asks between the two iterations; what nobody reads after it stays in its buffer.
// CHECK-LABEL: func.func @until
// CHECK:      scf.while
// CHECK:      do
// CHECK:      ^bb0([[K:%.*]]: tensor<f32>, [[A:%.*]]: tensor<8xf32>, [[B:%.*]]: tensor<8xf32>):
// CHECK:        [[B1:%.*]] = nt.loops ins([[A]] : tensor<8xf32>) outs([[B]] : tensor<8xf32>)
// CHECK:        [[K1:%.*]] = nt.reduce maximum [[B1]]
// CHECK:        nt.greater [[K1]], %tol
// CHECK:        [[GO:%.*]] = nt.to_scalar
// CHECK:        [[R:%.*]], [[S:%.*]], [[T:%.*]] = scf.if [[GO]]
// CHECK:          [[A1:%.*]] = nt.loops ins([[B1]] : tensor<8xf32>) outs([[A]] : tensor<8xf32>)
// CHECK:          scf.yield {{%.*}}, [[A1]], [[B1]]
// CHECK:        } else {
// CHECK-NEXT:     scf.yield [[K1]], [[B1]], [[B1]]
// CHECK:        scf.yield [[R]], [[S]], [[T]]

// NEST-LABEL: func.func @until
// NEST:       do
// NEST-NOT:     "copy"
// NEST:       } else {
// NEST:         "copy"
func.func @until(%x: tensor<8xf32>, %k0: tensor<f32>, %tol: tensor<f32>) -> tensor<8xf32> {
  %k, %p, %q = scf.while (%k1 = %k0, %a = %x, %b = %x) : (tensor<f32>, tensor<8xf32>, tensor<8xf32>) -> (tensor<f32>, tensor<8xf32>, tensor<8xf32>) {
    %0 = nt.greater %k1, %tol : tensor<f32>
    %1 = nt.to_scalar %0 : tensor<i1> -> i1
    scf.condition(%1) %k1, %a, %b : tensor<f32>, tensor<8xf32>, tensor<8xf32>
  } do {
  ^bb0(%k2: tensor<f32>, %a: tensor<8xf32>, %b: tensor<8xf32>):
    %b1 = nt.loops ins(%a : tensor<8xf32>) outs(%b : tensor<8xf32>) {
    ^bb0(%am: memref<8xf32>, %bm: memref<8xf32>):
      nest.for "i" %i = 1 to 8 {
        %v = nest.load %am[%i - 1] : memref<8xf32>
        nest.store "b" %v, %bm[%i] : memref<8xf32>
      }
    }
    %k3 = nt.reduce maximum %b1 over [0] : tensor<8xf32> -> tensor<f32>
    scf.yield %k3, %b1, %a : tensor<f32>, tensor<8xf32>, tensor<8xf32>
  }
  func.return %p : tensor<8xf32>
}

// -----

// A condition that prints would print twice.
// CHECK-LABEL: func.func @prints
// CHECK-COUNT-1: nt.loops
// CHECK-NOT: nt.loops
func.func private @shown(i1)
func.func @prints(%x: tensor<8xf32>, %k0: tensor<f32>, %tol: tensor<f32>) -> tensor<8xf32> {
  %k, %p, %q = scf.while (%k1 = %k0, %a = %x, %b = %x) : (tensor<f32>, tensor<8xf32>, tensor<8xf32>) -> (tensor<f32>, tensor<8xf32>, tensor<8xf32>) {
    %0 = nt.greater %k1, %tol : tensor<f32>
    %1 = nt.to_scalar %0 : tensor<i1> -> i1
    func.call @shown(%1) : (i1) -> ()
    scf.condition(%1) %k1, %a, %b : tensor<f32>, tensor<8xf32>, tensor<8xf32>
  } do {
  ^bb0(%k2: tensor<f32>, %a: tensor<8xf32>, %b: tensor<8xf32>):
    %b1 = nt.loops ins(%a : tensor<8xf32>) outs(%b : tensor<8xf32>) {
    ^bb0(%am: memref<8xf32>, %bm: memref<8xf32>):
      nest.for "i" %i = 1 to 8 {
        %v = nest.load %am[%i - 1] : memref<8xf32>
        nest.store "b" %v, %bm[%i] : memref<8xf32>
      }
    }
    %k3 = nt.reduce maximum %b1 over [0] : tensor<8xf32> -> tensor<f32>
    scf.yield %k3, %b1, %a : tensor<f32>, tensor<8xf32>, tensor<8xf32>
  }
  func.return %p : tensor<8xf32>
}

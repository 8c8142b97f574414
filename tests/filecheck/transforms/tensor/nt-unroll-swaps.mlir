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

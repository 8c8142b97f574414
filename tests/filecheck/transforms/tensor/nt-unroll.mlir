// Loops on tensors with constant bounds: in full where they are short, by a factor where they are long.
// RUN: opt-tool %s -p nt-unroll --split-input-file | filecheck %s
// RUN: opt-tool %s -p 'nt-unroll{limit=0 factor=2}' --split-input-file | filecheck %s --check-prefix=BY2

// Three turns, from 1 in steps of 2; each sees what the one before left.
// CHECK-LABEL: func.func @short
// CHECK-NOT:     scf.for
// CHECK:         [[A:%.*]] = nt.multiply %x, %y
// CHECK-NEXT:    [[V1:%.*]] = nt.slice %z[[[I1:%.*]], 0]
// CHECK:         [[B:%.*]] = nt.add [[A]],
// CHECK:         [[C:%.*]] = nt.multiply [[B]], %y
// CHECK:         [[D:%.*]] = nt.add [[C]],
// CHECK:         nt.multiply [[D]], %y
// CHECK:         [[R:%.*]] = nt.add
// CHECK:         func.return [[R]]

// By two: the third turn follows the loop.
// BY2-LABEL: func.func @short
// BY2:         [[END:%.*]] = arith.constant 5 : index
// BY2:         [[STEP:%.*]] = arith.constant 4 : index
// BY2:         [[L:%.*]] = scf.for %t = %c1 to [[END]] step [[STEP]] iter_args([[H:%.*]] = %x)
// BY2:           nt.multiply [[H]], %y
// BY2:           [[TWO:%.*]] = arith.constant 2 : index
// BY2:           [[T:%.*]] = arith.addi %t, [[TWO]]
// BY2:           nt.slice %z[[[T]], 0]
// BY2:           scf.yield
// BY2:         nt.multiply [[L]], %y
// BY2:         [[R:%.*]] = nt.add
// BY2:         func.return [[R]]
func.func @short(%x: tensor<4xf32>, %y: tensor<4xf32>, %z: tensor<6x4xf32>) -> tensor<4xf32> {
  %c1 = arith.constant 1 : index
  %c6 = arith.constant 6 : index
  %c2 = arith.constant 2 : index
  %r = scf.for %t = %c1 to %c6 step %c2 iter_args(%h = %x) -> (tensor<4xf32>) {
    %h1 = nt.multiply %h, %y : tensor<4xf32>
    %v = nt.slice %z[%t, 0] strides [1, 1] : tensor<6x4xf32> -> tensor<1x4xf32>
    %w = nt.reshape %v : tensor<1x4xf32> -> tensor<4xf32>
    %h2 = nt.add %h1, %w : tensor<4xf32>
    scf.yield %h2 : tensor<4xf32>
  }
  func.return %r : tensor<4xf32>
}

// -----

// Nine turns are more than the limit; a bound of run time leaves the loop as it is.
// CHECK-LABEL: func.func @long
// CHECK-COUNT-2: scf.for
// BY2-LABEL: func.func @long
// BY2:         scf.for
// BY2-COUNT-2:   nt.negative
// BY2:         }
// BY2:         nt.negative
// BY2:         scf.for %t{{.*}} = %c0 to %n step %c1
func.func @long(%x: tensor<4xf32>, %n: index) -> tensor<4xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c9 = arith.constant 9 : index
  %r = scf.for %t = %c0 to %c9 step %c1 iter_args(%h = %x) -> (tensor<4xf32>) {
    %h1 = nt.negative %h : tensor<4xf32>
    scf.yield %h1 : tensor<4xf32>
  }
  %s = scf.for %t = %c0 to %n step %c1 iter_args(%h = %r) -> (tensor<4xf32>) {
    %h1 = nt.exp %h : tensor<4xf32>
    scf.yield %h1 : tensor<4xf32>
  }
  func.return %s : tensor<4xf32>
}

// -----

// No turns: what the loop starts from. Loops inside of loops go first.
// CHECK-LABEL: func.func @none_and_nested
// CHECK-NOT:     scf.for
// CHECK:         [[A:%.*]] = nt.sqrt %x
// CHECK:         [[B:%.*]] = nt.sqrt [[A]]
// CHECK:         [[C:%.*]] = nt.sqrt [[B]]
// CHECK:         [[D:%.*]] = nt.sqrt [[C]]
// CHECK:         func.return %x, [[D]]
func.func @none_and_nested(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %r = scf.for %t = %c2 to %c2 step %c1 iter_args(%h = %x) -> (tensor<4xf32>) {
    %h1 = nt.exp %h : tensor<4xf32>
    scf.yield %h1 : tensor<4xf32>
  }
  %s = scf.for %t = %c0 to %c2 step %c1 iter_args(%h = %x) -> (tensor<4xf32>) {
    %u = scf.for %v = %c0 to %c2 step %c1 iter_args(%i = %h) -> (tensor<4xf32>) {
      %i1 = nt.sqrt %i : tensor<4xf32>
      scf.yield %i1 : tensor<4xf32>
    }
    scf.yield %u : tensor<4xf32>
  }
  func.return %r, %s : tensor<4xf32>, tensor<4xf32>
}

// -----

// The rows of one sequence of many: an iteration has extents of its own, and the loop stays.
// CHECK-LABEL: func.func @sequences
// CHECK:         scf.for
// CHECK:           nt.exp
// CHECK-NOT:       nt.exp
// BY2-LABEL: func.func @sequences
// BY2:         scf.for
// BY2:           nt.exp
// BY2-NOT:       nt.exp
func.func @sequences(%x: tensor<9x4xf32>, %ends: tensor<3xi64>) -> tensor<4xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %zero = nt.constant dense<0.0> : tensor<4xf32>
  %r = scf.for %b = %c0 to %c3 step %c1 iter_args(%h = %zero) -> (tensor<4xf32>) {
    %e = nt.slice %ends[%b] strides [1] : tensor<3xi64> -> tensor<1xi64>
    %s = nt.reshape %e : tensor<1xi64> -> tensor<i64>
    %n = nt.to_scalar %s : tensor<i64> -> i64
    %k = arith.index_cast %n : i64 to index
    %rows = nt.slice %x[0, 0] strides [1, 1] sizes(%k) : tensor<9x4xf32> -> tensor<?x4xf32>
    %y = nt.exp %rows : tensor<?x4xf32>
    %t = nt.reduce add %y over [0] : tensor<?x4xf32> -> tensor<4xf32>
    %h1 = nt.add %h, %t : tensor<4xf32>
    scf.yield %h1 : tensor<4xf32>
  }
  func.return %r : tensor<4xf32>
}

// An island whose steps overwrite the state, with a bound on snapshots, is differentiated as a loop of islands.
// RUN: opt-tool %s -p nt-differentiate | filecheck %s

func.func private @steps(%u: tensor<9xf64>, %n: index) -> tensor<9xf64> {
  %r = nt.loops ins() outs(%u : tensor<9xf64>) attributes {nt.snapshots = 2 : i64} {
  ^bb0(%um: memref<9xf64>):
    %h = arith.constant 0.5 : f64
    nest.for "i" %i = 0 to 9 {
      nest.store %h, %um[%i] : memref<9xf64>
    }
    nest.for "t" %t = 0 to %n step 2 {
      nest.for "i" %i = 1 to 9 {
        %0 = nest.load %um[%i - 1] : memref<9xf64>
        %1 = arith.mulf %0, %0 : f64
        %2 = arith.mulf %1, %h : f64
        nest.store %2, %um[%i] : memref<9xf64>
      }
    }
  }
  func.return %r : tensor<9xf64>
}
func.func @gradient(%u: tensor<9xf64>, %n: index, %c: tensor<9xf64>) -> (tensor<9xf64>, tensor<9xf64>) {
  %y, %g = nt.vjp @steps(%u, %n : tensor<9xf64>, index) cotangents(%c : tensor<9xf64>) wrt [0] of [0] -> (tensor<9xf64>, tensor<9xf64>)
  func.return %y, %g : tensor<9xf64>, tensor<9xf64>
}
// CHECK-LABEL: @gradient
// CHECK: %[[START:.*]] = nt.loops ins() outs(%{{.*}} : tensor<9xf64>) {
// CHECK: nest.store
// CHECK: %{{.*}} = nt.empty : tensor<2x9xf64>
// CHECK: scf.for %{{.*}} iter_args(%{{.*}} = %[[START]]
// CHECK: scf.if
// CHECK: nt.loops ins() outs(%{{.*}} : tensor<9xf64>) {
// CHECK-NOT: nest.for "t"
// CHECK: nest.for "i"
// CHECK: scf.yield

// A loop whose stores say its variable is no time loop: each element is written once.
func.func private @once(%u: tensor<9x4xf64>) -> tensor<9x4xf64> {
  %r = nt.loops ins() outs(%u : tensor<9x4xf64>) attributes {nt.snapshots = 2 : i64} {
  ^bb0(%um: memref<9x4xf64>):
    nest.for "i" %i = 1 to 9 {
      nest.for "j" %j = 0 to 4 {
        %0 = nest.load %um[%i - 1, %j] : memref<9x4xf64>
        %1 = arith.mulf %0, %0 : f64
        nest.store %1, %um[%i, %j] : memref<9x4xf64>
      }
    }
  }
  func.return %r : tensor<9x4xf64>
}
func.func @whole(%u: tensor<9x4xf64>, %c: tensor<9x4xf64>) -> tensor<9x4xf64> {
  %y, %g = nt.vjp @once(%u : tensor<9x4xf64>) cotangents(%c : tensor<9x4xf64>) wrt [0] of [0] -> (tensor<9x4xf64>, tensor<9x4xf64>)
  func.return %g : tensor<9x4xf64>
}
// CHECK-LABEL: @whole
// CHECK-NOT: scf.for

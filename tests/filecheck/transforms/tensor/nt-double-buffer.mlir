// An array that a loop rewrites from its own neighbours has a second buffer, with which it changes places.
// RUN: opt-tool %s -p nt-double-buffer --split-input-file | filecheck %s
// RUN: opt-tool %s -p nt-double-buffer,nt-unroll-swaps,nt-fuse,convert-nt-to-nest --split-input-file | filecheck %s --check-prefix=NEST

// CHECK-LABEL: func.func @diffuse
// CHECK:      [[R:%.*]], {{%.*}} = scf.for %t = %c0 to %n step %c1 iter_args([[U:%.*]] = %u0, [[B:%.*]] = %u0)
// CHECK:        nt.slice [[U]]
// CHECK:        [[U1:%.*]] = nt.loops ins({{.*}}) outs([[B]] : tensor<8xf64>)
// CHECK:        scf.yield [[U1]], [[U]]
// CHECK:      func.return [[R]]

// The values are computed where they go: nothing is copied but what an odd last iteration leaves.
// NEST-LABEL: func.func @diffuse
// NEST:       nest.for "t" {{.*}} step 2
// NEST-NOT:     "copy"
// NEST:         nest.store "u1" {{.*}}[%i{{[_0-9]*}} + 1]
// NEST-NOT:     "copy"
// NEST:         nest.store "u1" {{.*}}[%i{{[_0-9]*}} + 1]
// NEST-NOT:     "copy"
// NEST:       nest.if
func.func @diffuse(%u0: tensor<8xf64>, %n: index) -> tensor<8xf64> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %r = scf.for %t = %c0 to %n step %c1 iter_args(%u = %u0) -> (tensor<8xf64>) {
    %left = nt.slice %u[0] strides [1] : tensor<8xf64> -> tensor<6xf64>
    %right = nt.slice %u[2] strides [1] : tensor<8xf64> -> tensor<6xf64>
    %v = nt.add %left, %right : tensor<6xf64>
    %u1 = nt.loops ins(%v : tensor<6xf64>) outs(%u : tensor<8xf64>) {
    ^bb0(%vm: memref<6xf64>, %um: memref<8xf64>):
      nest.for "i" %i = 0 to 6 {
        %x = nest.load %vm[%i] : memref<6xf64>
        nest.store "u1" %x, %um[%i + 1] : memref<8xf64>
      }
    }
    scf.yield %u1 : tensor<8xf64>
  }
  func.return %r : tensor<8xf64>
}

// -----

// A convergence loop asks between the two iterations.
// CHECK-LABEL: func.func @converge
// CHECK:      scf.while ([[E:%.*]] = %e0, [[U:%.*]] = %u0, [[B:%.*]] = %u0)
// CHECK:        scf.condition({{%.*}}) [[E]], [[U]], [[B]]
// CHECK:      ^bb0({{%.*}}: tensor<f64>, [[V:%.*]]: tensor<8xf64>, [[C:%.*]]: tensor<8xf64>):
// CHECK:        [[U1:%.*]] = nt.loops ins([[V]] : tensor<8xf64>) outs([[C]] : tensor<8xf64>)
// CHECK:        scf.yield {{%.*}}, [[U1]], [[V]]

// NEST-LABEL: func.func @converge
// NEST:       scf.while
// NEST:       do
// NEST-NOT:     "copy"
// NEST:         nest.if
// NEST:         } else {
// NEST:           nest.store "copy"
func.func @converge(%u0: tensor<8xf64>, %e0: tensor<f64>, %tol: tensor<f64>) -> tensor<8xf64> {
  %e, %r = scf.while (%e1 = %e0, %u = %u0) : (tensor<f64>, tensor<8xf64>) -> (tensor<f64>, tensor<8xf64>) {
    %0 = nt.greater %e1, %tol : tensor<f64>
    %1 = nt.to_scalar %0 : tensor<i1> -> i1
    scf.condition(%1) %e1, %u : tensor<f64>, tensor<8xf64>
  } do {
  ^bb0(%e2: tensor<f64>, %u: tensor<8xf64>):
    %u1 = nt.loops ins(%u : tensor<8xf64>) outs(%u : tensor<8xf64>) {
    ^bb0(%vm: memref<8xf64>, %um: memref<8xf64>):
      nest.for "i" %i = 1 to 8 {
        %x = nest.load %vm[%i - 1] : memref<8xf64>
        nest.store "u1" %x, %um[%i] : memref<8xf64>
      }
    }
    %d = nt.subtract %u1, %u : tensor<8xf64>
    %e3 = nt.reduce maximum %d over [0] : tensor<8xf64> -> tensor<f64>
    scf.yield %e3, %u1 : tensor<f64>, tensor<8xf64>
  }
  func.return %r : tensor<8xf64>
}

// -----

// What is written depends on the iteration: what is not written now may be written next, so one buffer has to have it all.
// CHECK-LABEL: func.func @moving
// CHECK:       scf.for %t = %c0 to %n step %c1 iter_args({{%.*}} = %u0) -> (tensor<8xf64>)
func.func @moving(%u0: tensor<8xf64>, %n: index) -> tensor<8xf64> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %r = scf.for %t = %c0 to %n step %c1 iter_args(%u = %u0) -> (tensor<8xf64>) {
    %u1 = nt.loops ins(%u : tensor<8xf64>) outs(%u : tensor<8xf64>) {
    ^bb0(%vm: memref<8xf64>, %um: memref<8xf64>):
      nest.for "i" %i = %t to 8 {
        %x = nest.load %vm[%i - 1] : memref<8xf64>
        nest.store "u1" %x, %um[%i] : memref<8xf64>
      }
    }
    scf.yield %u1 : tensor<8xf64>
  }
  func.return %r : tensor<8xf64>
}

// -----

// So it is where the place of a store moves with the iteration.
// CHECK-LABEL: func.func @moving_place
// CHECK:       scf.for %t = %c0 to %n step %c1 iter_args({{%.*}} = %u0) -> (tensor<8xf64>)
func.func @moving_place(%u0: tensor<8xf64>, %n: index) -> tensor<8xf64> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %r = scf.for %t = %c0 to %n step %c1 iter_args(%u = %u0) -> (tensor<8xf64>) {
    %u1 = nt.loops ins(%u : tensor<8xf64>) outs(%u : tensor<8xf64>) {
    ^bb0(%vm: memref<8xf64>, %um: memref<8xf64>):
      nest.for "i" %i = 0 to 2 {
        %x = nest.load %vm[%i] : memref<8xf64>
        nest.store "u1" %x, %um[%i + %t] : memref<8xf64>
      }
    }
    scf.yield %u1 : tensor<8xf64>
  }
  func.return %r : tensor<8xf64>
}

// -----

// Elements that read what the same island has written (Gauss and Seidel) need one buffer; so does a store under a condition.
// CHECK-LABEL: func.func @sequential
// CHECK:       scf.for %t = %c0 to %n step %c1 iter_args({{%.*}} = %u0) -> (tensor<8xf64>)
// CHECK:       scf.for %t_1 = %c0 to %n step %c1 iter_args({{%.*}} = {{%.*}}) -> (tensor<8xf64>)
func.func @sequential(%u0: tensor<8xf64>, %n: index) -> tensor<8xf64> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0.0 : f64
  %r = scf.for %t = %c0 to %n step %c1 iter_args(%u = %u0) -> (tensor<8xf64>) {
    %u1 = nt.loops ins(%u : tensor<8xf64>) outs(%u : tensor<8xf64>) {
    ^bb0(%vm: memref<8xf64>, %um: memref<8xf64>):
      nest.for "i" %i = 1 to 8 {
        %x = nest.load %um[%i - 1] : memref<8xf64>
        nest.store "u1" %x, %um[%i] : memref<8xf64>
      }
    }
    scf.yield %u1 : tensor<8xf64>
  }
  %s = scf.for %t = %c0 to %n step %c1 iter_args(%u = %r) -> (tensor<8xf64>) {
    %u1 = nt.loops ins(%u : tensor<8xf64>) outs(%u : tensor<8xf64>) {
    ^bb0(%vm: memref<8xf64>, %um: memref<8xf64>):
      nest.for "i" %i = 1 to 8 {
        %x = nest.load %vm[%i - 1] : memref<8xf64>
        %is = arith.cmpf ogt, %x, %zero : f64
        nest.if %is {
          nest.store "u1" %x, %um[%i] : memref<8xf64>
        }
      }
    }
    scf.yield %u1 : tensor<8xf64>
  }
  func.return %s : tensor<8xf64>
}

// -----

// Edges that read new rows which are written later would read those of two iterations before.
// CHECK-LABEL: func.func @edges
// CHECK:       scf.for %t = %c0 to %n step %c1 iter_args({{%.*}} = %u0) -> (tensor<8xf64>)
func.func @edges(%u0: tensor<8xf64>, %n: index) -> tensor<8xf64> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %r = scf.for %t = %c0 to %n step %c1 iter_args(%u = %u0) -> (tensor<8xf64>) {
    %u1 = nt.loops ins(%u : tensor<8xf64>) outs(%u : tensor<8xf64>) {
    ^bb0(%vm: memref<8xf64>, %um: memref<8xf64>):
      nest.for "i" %i = 2 to 8 {
        %x = nest.load %vm[%i - 1] : memref<8xf64>
        nest.store "u1" %x, %um[%i] : memref<8xf64>
      }
    }
    %u2 = nt.loops ins() outs(%u1 : tensor<8xf64>) {
    ^bb0(%um: memref<8xf64>):
      %x = nest.load %um[1] : memref<8xf64>
      nest.store "u2" %x, %um[0] : memref<8xf64>
      nest.store "u2" %x, %um[1] : memref<8xf64>
    }
    scf.yield %u2 : tensor<8xf64>
  }
  func.return %r : tensor<8xf64>
}

// -----

// The array as it was goes on beside the new one: three buffers would turn.
// CHECK-LABEL: func.func @before
// CHECK:       scf.for %t = %c0 to %n step %c1 iter_args({{%.*}} = %u0, {{%.*}} = %u0) -> (tensor<8xf64>, tensor<8xf64>)
func.func @before(%u0: tensor<8xf64>, %n: index) -> tensor<8xf64> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %r, %s = scf.for %t = %c0 to %n step %c1 iter_args(%u = %u0, %p = %u0) -> (tensor<8xf64>, tensor<8xf64>) {
    %v = nt.add %u, %p : tensor<8xf64>
    %u1 = nt.loops ins(%v : tensor<8xf64>) outs(%u : tensor<8xf64>) {
    ^bb0(%vm: memref<8xf64>, %um: memref<8xf64>):
      nest.for "i" %i = 1 to 8 {
        %x = nest.load %vm[%i - 1] : memref<8xf64>
        nest.store "u1" %x, %um[%i] : memref<8xf64>
      }
    }
    scf.yield %u1, %u : tensor<8xf64>, tensor<8xf64>
  }
  func.return %r : tensor<8xf64>
}

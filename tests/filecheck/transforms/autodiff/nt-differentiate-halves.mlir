// Locations say which half of which derivative an operation is.
// RUN: opt-tool %s -p nt-differentiate --print-debuginfo | filecheck %s

func.func private @square(%x: tensor<8xf32>) -> tensor<8xf32> {
  %0 = nt.multiply %x, %x : tensor<8xf32>
  func.return %0 : tensor<8xf32>
}

// Each derivative has a name of its own; what stands around has no half.
// CHECK-LABEL: func.func @twice
// CHECK: nt.multiply %x, %x : tensor<8xf32> loc("nt.forward square"("{{.*}}halves.mlir":5:8))
// CHECK: nt.multiply %c, %x : tensor<8xf32> loc("nt.backward square"("{{.*}}halves.mlir":5:8))
// CHECK: nt.multiply {{.*}} loc("nt.backward square.2"("{{.*}}halves.mlir":5:8))
// CHECK: nt.exp {{.*}} loc("{{.*}}halves.mlir":
func.func @twice(%x: tensor<8xf32>, %c: tensor<8xf32>) -> tensor<8xf32> {
  %y, %g = nt.vjp @square(%x : tensor<8xf32>) cotangents(%c : tensor<8xf32>) wrt [0] of [0] -> (tensor<8xf32>, tensor<8xf32>)
  %z, %h = nt.vjp @square(%g : tensor<8xf32>) cotangents(%y : tensor<8xf32>) wrt [0] of [0] -> (tensor<8xf32>, tensor<8xf32>)
  %e = nt.exp %h : tensor<8xf32>
  func.return %e : tensor<8xf32>
}

// Of a derivative of a derivative, the outer one stands first: its forward half has both halves of the inner one.
func.func private @slope(%x: tensor<8xf32>, %c: tensor<8xf32>) -> tensor<8xf32> {
  %y, %g = nt.vjp @square(%x : tensor<8xf32>) cotangents(%c : tensor<8xf32>) wrt [0] of [0] -> (tensor<8xf32>, tensor<8xf32>)
  %e = nt.exp %g : tensor<8xf32>
  func.return %e : tensor<8xf32>
}
// CHECK-LABEL: func.func @second
// CHECK: nt.multiply {{.*}} loc("nt.forward slope"("nt.backward square.3"("{{.*}}halves.mlir":5:8)))
// CHECK: nt.exp {{.*}} loc("nt.forward slope"("{{.*}}halves.mlir":25:8))
// CHECK: nt.multiply {{.*}} loc("nt.backward slope"("{{.*}}halves.mlir":25:8))
// CHECK: nt.multiply {{.*}} loc("nt.backward slope"("nt.backward square.3"("{{.*}}halves.mlir":5:8)))
func.func @second(%x: tensor<8xf32>, %c: tensor<8xf32>) -> tensor<8xf32> {
  %g = nt.vjp replay @slope(%x, %c : tensor<8xf32>, tensor<8xf32>) cotangents(%c : tensor<8xf32>) wrt [0] of [0] -> (tensor<8xf32>)
  func.return %g : tensor<8xf32>
}

// A loop of the reverse is of the backward half with all that is in it; what it computes again says what it is.
func.func private @powers(%x: tensor<8xf32>) -> tensor<8xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %r = scf.for %k = %c0 to %c3 step %c1 iter_args(%a = %x) -> (tensor<8xf32>) {
    %0 = nt.sin %a : tensor<8xf32>
    %1 = nt.exp %0 : tensor<8xf32>
    scf.yield %1 : tensor<8xf32>
  }
  func.return %r : tensor<8xf32>
}
// CHECK-LABEL: func.func @loops
// CHECK: scf.for
// CHECK: nt.sin {{.*}} loc("nt.forward powers"("{{.*}}halves.mlir":44:10))
// CHECK: } loc("nt.forward powers"
// CHECK: scf.for
// CHECK: nt.sin {{.*}} loc("nt.forward powers"("{{.*}}halves.mlir":44:10))
// CHECK: nt.exp {{.*}} loc("nt.forward powers"("{{.*}}halves.mlir":45:10))
// CHECK: nt.cos {{.*}} loc("nt.backward powers"("{{.*}}halves.mlir":44:10))
// CHECK: } loc("nt.backward powers"
func.func @loops(%x: tensor<8xf32>, %c: tensor<8xf32>) -> tensor<8xf32> {
  %y, %g = nt.vjp @powers(%x : tensor<8xf32>) cotangents(%c : tensor<8xf32>) wrt [0] of [0] -> (tensor<8xf32>, tensor<8xf32>)
  func.return %g : tensor<8xf32>
}

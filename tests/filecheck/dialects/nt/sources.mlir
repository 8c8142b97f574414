// nt.iota and nt.empty, with static and unknown extents, survive printing and parsing; an iota is the index in its nest.
// RUN: opt-tool %s --verify-roundtrip | filecheck %s
// RUN: opt-tool %s -p 'nt-fuse,convert-nt-to-nest' | filecheck %s --check-prefix NEST

func.func @counted(%x: tensor<?xi64> {nt.dims = ["n"]}) -> (tensor<?xi64> {nt.dims = ["n"]}) {
  %n = nt.dim %x[0] : tensor<?xi64>
  // CHECK: [[I:%.*]] = nt.iota sizes(%{{.*}}) : tensor<?xi64>
  // NEST-LABEL: @counted
  // NEST: nest.for "i" [[V:%.*]] = 0 to
  // NEST: [[P:%.*]] = arith.index_cast [[V]] : index to i64
  // NEST: arith.addi {{.*}}[[P]]
  // NEST: nest.store
  %i = nt.iota sizes(%n) : tensor<?xi64>
  %r = nt.add %x, %i : tensor<?xi64>
  func.return %r : tensor<?xi64>
}

func.func @written() -> tensor<4xf64> {
  // CHECK: [[E:%.*]] = nt.empty : tensor<4xf64>
  // NEST-LABEL: @written
  // NEST-NOT: nest.alloc
  // NEST-COUNT-1: nest.for
  // NEST-NOT: nest.for
  %e = nt.empty : tensor<4xf64>
  %r = nt.loops ins() outs(%e : tensor<4xf64>) {
  ^bb0(%m: memref<4xf64>):
    nest.for "i" %i = 0 to 4 {
      %c = arith.constant 1.0 : f64
      nest.store "r" %c, %m[%i] : memref<4xf64>
    }
  }
  func.return %r : tensor<4xf64>
}

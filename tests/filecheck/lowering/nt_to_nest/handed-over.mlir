// A result whose extents only the run knows is allocated by the function, and handed over in words.
// RUN: opt-tool %s -p convert-nt-to-nest | filecheck %s

// CHECK: func.func private @nestor_hand_over.f64.2(memref<?x?xf64>, memref<3xi64>, index, index)
// CHECK-NEXT: func.func private @nestor_hand_over.f64.1(memref<?xf64>, memref<2xi64>, index)

// CHECK-LABEL: func.func @computed
// CHECK-SAME: [[OUT:%\S+]]: memref<2xi64> {nest.role = "out", nest.hands_over = memref<?xf64>}
// CHECK: [[I:%\S+]] = arith.index_cast
// CHECK: [[Z:%\S+]] = nest.alloc "z"([[I]]) : memref<?xf64>
// CHECK: nest.for {{.*}} = 0 to [[I]]
// CHECK: func.call @nestor_hand_over.f64.1([[Z]], [[OUT]], [[I]])
func.func @computed(%x: tensor<?xf64>, %k: i64) -> (tensor<?xf64> {nt.callee_allocated}) {
  %i = arith.index_cast %k : i64 to index
  %y = nt.slice %x[0] strides [1] sizes(%i) : tensor<?xf64> -> tensor<?xf64>
  %z = nt.add %y, %y : tensor<?xf64>
  func.return %z : tensor<?xf64>
}

// The first rows of a buffer are handed over from where they are.
// CHECK-LABEL: func.func @rows
// CHECK: [[T:%\S+]] = nest.alloc
// CHECK-NOT: nest.alloc
// CHECK: [[C:%\S+]] = "memref.cast"([[T]]) : (memref<8x3xf64>) -> memref<?x?xf64>
// CHECK: func.call @nestor_hand_over.f64.2([[C]], %{{\S+}}, [[N:%\S+]], %c3)
func.func @rows(%x: tensor<8x3xf64>, %k: i64) -> (tensor<?x3xf64> {nt.callee_allocated}) {
  %i = arith.index_cast %k : i64 to index
  %y = nt.add %x, %x : tensor<8x3xf64>
  %z = nt.slice %y[0, 0] strides [1, 1] sizes(%i) : tensor<8x3xf64> -> tensor<?x3xf64>
  func.return %z : tensor<?x3xf64>
}

// A view of an argument is copied: its memory is the caller's already.
// CHECK-LABEL: func.func @view
// CHECK: nest.alloc
// CHECK: nest.store "copy"
// CHECK: func.call @nestor_hand_over
func.func @view(%x: tensor<?xf64> {nt.layout = "strided"}, %k: i64) -> (tensor<?xf64> {nt.callee_allocated}) {
  %i = arith.index_cast %k : i64 to index
  %z = nt.slice %x[0] strides [1] sizes(%i) : tensor<?xf64> -> tensor<?xf64>
  func.return %z : tensor<?xf64>
}

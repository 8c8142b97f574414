// A failed check and a failed allocation fill the error record and free what is live; success frees it too.
// RUN: opt-tool %s -p convert-to-llvm | filecheck %s

// CHECK-LABEL: llvm.func internal @checked.kernel
// CHECK: %t = llvm.call @aligned_alloc
// CHECK: llvm.cond_br {{%.+}}, ^bb1, ^[[NOMEM:bb[0-9]+]]({{.*}} : i64, i64, i64, i64)
// CHECK: llvm.cond_br %ok, ^bb2, ^[[BAD:bb[0-9]+]]({{.*}} : i64, i64, i64, i64)
// CHECK: ^bb2:
// CHECK: llvm.call @free(%t)
// CHECK-NEXT: llvm.return
// CHECK: ^[[NOMEM]](
// CHECK-NOT: llvm.call @free
// CHECK: llvm.return
// CHECK: ^[[BAD]](
// CHECK: llvm.call @free(%t)
// CHECK: llvm.return
func.func @checked(%n: index, %ok: i1) {
  %t = memref.alloc(%n) : memref<?xf64>
  cf.assert %ok, "IndexError: index out of range" {nestor.kind = "IndexError", nestor.site = 7 : i64}
  func.return
}

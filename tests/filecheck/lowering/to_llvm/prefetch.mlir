// Prefetches as calls of the intrinsic, one a vector, addresses that may lie outside of the buffer; no branch around them.
// RUN: opt-tool %s -p convert-nest-to-scf | filecheck %s --check-prefix SCF
// RUN: opt-tool %s -p convert-nest-to-scf,convert-to-llvm | filecheck %s --check-prefix LLVM
// RUN: opt-tool %s -p convert-nest-to-scf,convert-to-llvm -t llvm-ir | filecheck %s --check-prefix IR

// SCF-LABEL: @rows
// SCF:       scf.parallel
// SCF:         memref.prefetch %x[%{{.*}}], read, locality<3>, data : memref<?xf32>
// SCF-NOT:     memref.prefetch
// SCF:         vector.maskedload %x
// LLVM:      [[AT:%\S+]] = llvm.getelementptr %x[%{{.*}}] : (!llvm.ptr, i64) -> !llvm.ptr, f32
// LLVM-NEXT: "llvm.intr.prefetch"([[AT]]) <{rw = 0 : i32, cache = 1 : i32, hint = 3 : i32}> : (!llvm.ptr) -> ()
// IR:        [[AT:%\S+]] = getelementptr float, ptr %x, i64 %{{.*}}
// IR-NEXT:   call void @llvm.prefetch.p0(ptr [[AT]], i32 0, i32 3, i32 1)
// IR:        declare void @llvm.prefetch.p0(ptr, i32, i32, i32)
func.func @rows(%x: memref<?xf32>, %y: memref<?xf32>, %n: index) {
  nest.for "o" %o = 0 to %n step 16 parallel {
    nest.for "v" %v = %o to min(%o + 16, %n) vectorized(16) {
      nest.prefetch %x[%v + 64] : memref<?xf32>
      %a = nest.load %x[%v] : memref<?xf32>
      nest.store "y" %a, %y[%v] : memref<?xf32>
    }
  }
  func.return
}

// A prefetch splits no branch in two.
// SCF-LABEL: @masked
// SCF:       memref.prefetch
// SCF:       scf.if
// SCF-NOT:   scf.if
// SCF:       memref.store
// SCF:       memref.store
func.func @masked(%x: memref<?xf32>, %y: memref<?xf32>, %n: index, %m: index) {
  nest.for "i" %i = 0 to %n {
    %a = nest.load %x[%i] : memref<?xf32>
    nest.store "y" %a, %y[%i] where (%m > %i) : memref<?xf32>
    nest.prefetch %x[%i + 8] : memref<?xf32>
    nest.store "z" %a, %y[%i + 1] where (%m > %i) : memref<?xf32>
  }
  func.return
}

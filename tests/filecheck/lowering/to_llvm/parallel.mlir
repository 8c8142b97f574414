// A parallel loop becomes a function of a range, one that takes pieces for each thread, and a choice by grain at the call.
// RUN: opt-tool %s -p convert-to-llvm | filecheck %s

// CHECK-LABEL: llvm.func internal @fill.parallel0.body(
// CHECK-SAME: %lo: i64, %hi: i64, %step: i64, %x: !llvm.ptr {llvm.noalias, llvm.writeonly}
// CHECK: llvm.store
// CHECK-LABEL: llvm.func internal @fill.parallel0(%ctx: !llvm.ptr, %thread: i64, %threads: i64)
// CHECK: %pieces = llvm.sdiv
// CHECK: ^{{.+}}(%away: i64):
// CHECK: %owner = llvm.sub
// CHECK: %start = llvm.sdiv
// CHECK: %end = llvm.sdiv
// CHECK: [[OWN:%.+]] = llvm.icmp "eq" %away
// CHECK: [[ONE:%.+]] = llvm.select [[OWN]]
// CHECK: [[COUNTER:%.+]] = llvm.getelementptr inbounds {{%.+}}[%owner]
// CHECK: [[TAKEN:%.+]] = llvm.atomicrmw add [[COUNTER]], [[ONE]] monotonic : !llvm.ptr, i64
// CHECK: [[FRONT:%.+]] = llvm.and [[TAKEN]]
// CHECK: [[BACK:%.+]] = llvm.lshr [[TAKEN]]
// CHECK: [[NEXT:%.+]] = llvm.add %start, [[FRONT]]
// CHECK: llvm.sub %end, [[BACK]]
// CHECK: %piece = llvm.select [[OWN]], [[NEXT]]
// CHECK: llvm.call @fill.parallel0.body
// CHECK-LABEL: llvm.func internal @fill.kernel
// CHECK: %taken = llvm.alloca
// CHECK: llvm.sdiv
// CHECK: llvm.call @nestor_max_threads
// CHECK: [[FN:%.+]] = llvm.mlir.addressof @fill.parallel0 : !llvm.ptr
// CHECK: llvm.call @nestor_parallel([[FN]], %ctx{{.*}}, %threads{{.*}})
// CHECK: llvm.call @fill.parallel0.body
func.func @fill(%x: memref<?xf32> {nestor.noalias}, %v: f32) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %n = memref.dim %x, %c0 : memref<?xf32>
  "scf.parallel"(%c0, %n, %c1) <{operandSegmentSizes = array<i32: 1, 1, 1, 0>}> ({
  ^bb0(%i: index):
    memref.store %v, %x[%i] : memref<?xf32>
    scf.reduce
  }) {nestor.grain = 4096 : i64} : (index, index, index) -> ()
  func.return
}

// A thread that goes backwards through its share: stretches of three iterations, the last one first, each forward.
// CHECK-LABEL: llvm.func internal @back.parallel0.body(
// CHECK: [[COUNT:%.+]] = llvm.sdiv
// CHECK: llvm.cond_br {{.*}}[[COUNT]]
// CHECK: ^{{.+}}([[K:%.+]]: i64):
// CHECK: %left = llvm.add [[K]], {{%.+}} overflow<nsw> : i64
// CHECK: [[START:%.+]] = llvm.add %lo
// CHECK: %end{{.*}} = llvm.intr.smin
// CHECK: llvm.store
// CHECK: llvm.cond_br {{.*}}%left
// Its owner takes the pieces from the end, others from the start.
// CHECK-LABEL: llvm.func internal @back.parallel0(
// CHECK: [[TAKEN:%.+]] = llvm.atomicrmw add
// CHECK: [[OWNER:%.+]] = llvm.and [[TAKEN]]
// CHECK: [[OTHERS:%.+]] = llvm.lshr [[TAKEN]]
// CHECK: [[OTHER:%.+]] = llvm.icmp "ne" %away
// CHECK: [[FIRST:%.+]] = llvm.add %start{{.*}}, [[OTHERS]]
// CHECK: llvm.sub %end{{.*}}, [[OWNER]]
// CHECK: llvm.select [[OTHER]], [[FIRST]]
func.func @back(%x: memref<?xf32> {nestor.noalias}, %v: f32) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %n = memref.dim %x, %c0 : memref<?xf32>
  "scf.parallel"(%c0, %n, %c1) <{operandSegmentSizes = array<i32: 1, 1, 1, 0>}> ({
  ^bb0(%i: index):
    memref.store %v, %x[%i] : memref<?xf32>
    scf.reduce
  }) {nestor.grain = 1 : i64, nestor.descending = 3 : i64} : (index, index, index) -> ()
  func.return
}

// A non-temporal store is made where the address is aligned, and where the buffer is large if that is not known before.
// RUN: opt-tool %s -p convert-to-llvm | filecheck %s

// CHECK-LABEL: @known.kernel
// CHECK: llvm.ptrtoint
// CHECK: [[ALIGNED:%.+]] = llvm.icmp "eq"
// CHECK-NEXT: llvm.cond_br [[ALIGNED]]
// CHECK: nontemporal
func.func @known(%y: memref<10000000xf32>, %i: index) {
  %v = arith.constant dense<1.0> : vector<16xf32>
  vector.store %v, %y[%i] {nestor.nontemporal} : memref<10000000xf32>, vector<16xf32>
  func.return
}

// CHECK-LABEL: @unknown.kernel
// CHECK: [[ALIGNED:%.+]] = llvm.icmp "eq"
// CHECK: [[LARGE:%.+]] = llvm.icmp "sgt"
// CHECK-NEXT: [[BOTH:%.+]] = llvm.and [[ALIGNED]], [[LARGE]]
// CHECK-NEXT: llvm.cond_br [[BOTH]]
func.func @unknown(%y: memref<?xf32>, %i: index) {
  %v = arith.constant dense<1.0> : vector<16xf32>
  vector.store %v, %y[%i] {nestor.nontemporal} : memref<?xf32>, vector<16xf32>
  func.return
}

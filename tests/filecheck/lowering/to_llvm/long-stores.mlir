// A vector of several registers is stored register by register, from its start; a private buffer's at once.
// RUN: opt-tool %s -p convert-to-llvm | filecheck %s

// CHECK-LABEL: @f.kernel
// CHECK: [[AT:%\S+]] = llvm.getelementptr inbounds %y[
// CHECK: [[FIRST:%\S+]] = llvm.shufflevector %v, %v [0, 1, 2, 3, 4, 5, 6, 7]
// CHECK: llvm.store [[FIRST]], [[AT]]
// CHECK: [[LAST:%\S+]] = llvm.shufflevector %v, %v [24, 25, 26, 27, 28, 29, 30, 31]
// CHECK: [[END:%\S+]] = llvm.getelementptr inbounds [[AT]][
// CHECK: llvm.store [[LAST]], [[END]]
// CHECK: llvm.store %v, %b {{.*}} vector<32xf64>
// CHECK: llvm.store %w, %y {{.*}} vector<8xf64>
func.func @f(%x: memref<64xf64>, %y: memref<64xf64>) {
  %c0 = arith.constant 0 : index
  %c32 = arith.constant 32 : index
  %b = memref.alloca() : memref<32xf64>
  %v = vector.load %x[%c0] : memref<64xf64>, vector<32xf64>
  vector.store %v, %y[%c32] : memref<64xf64>, vector<32xf64>
  vector.store %v, %b[%c0] : memref<32xf64>, vector<32xf64>
  %w = vector.load %b[%c0] : memref<32xf64>, vector<8xf64>
  vector.store %w, %y[%c0] : memref<64xf64>, vector<8xf64>
  func.return
}

// Products of bytes in lanes read back as they are printed, and become the intrinsic.
// RUN: opt-tool %s | opt-tool | filecheck %s
// RUN: opt-tool %s -p convert-to-llvm | filecheck %s --check-prefix=LLVM

// CHECK: vnni.dot %a, %b, %c
// LLVM:  llvm.call_intrinsic "llvm.x86.avx512.vpdpbusd.512"({{.*}}) : (vector<16xi32>, vector<64xi8>, vector<64xi8>) -> vector<16xi32>
func.func @f(%x: memref<64xi8>, %y: memref<16xi32>) {
  %c0 = arith.constant 0 : index
  %a = vector.load %x[%c0] : memref<64xi8>, vector<64xi8>
  %b = vector.load %x[%c0] : memref<64xi8>, vector<64xi8>
  %c = vector.load %y[%c0] : memref<16xi32>, vector<16xi32>
  %d = vnni.dot %a, %b, %c
  vector.store %d, %y[%c0] : memref<16xi32>, vector<16xi32>
  func.return
}

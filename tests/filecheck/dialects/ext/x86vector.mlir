// Pairs of products of bfloat16 read back as they are printed, and become the intrinsic.
// RUN: opt-tool %s | opt-tool | filecheck %s
// RUN: opt-tool %s -p convert-to-llvm | filecheck %s --check-prefix=LLVM

// CHECK: x86vector.avx512.dot %c, %a, %b : vector<32xbf16> -> vector<16xf32>
// LLVM:  llvm.call_intrinsic "llvm.x86.avx512bf16.dpbf16ps.512"({{.*}}) : (vector<16xf32>, vector<32xbf16>, vector<32xbf16>) -> vector<16xf32>
func.func @f(%x: memref<32xbf16>, %y: memref<16xf32>) {
  %c0 = arith.constant 0 : index
  %a = vector.load %x[%c0] : memref<32xbf16>, vector<32xbf16>
  %b = vector.load %x[%c0] : memref<32xbf16>, vector<32xbf16>
  %c = vector.load %y[%c0] : memref<16xf32>, vector<16xf32>
  %d = x86vector.avx512.dot %c, %a, %b : vector<32xbf16> -> vector<16xf32>
  vector.store %d, %y[%c0] : memref<16xf32>, vector<16xf32>
  func.return
}

// Pairs of products of bfloat16 are a call of the intrinsic, whose sums come first; vectors of bfloat16 are loaded and stored as
// integers, their bits.
// RUN: opt-tool %s -p convert-to-llvm | filecheck %s --check-prefix=LLVM
// RUN: opt-tool %s -p convert-to-llvm -t llvm-ir | filecheck %s --check-prefix=IR

// LLVM:  llvm.call_intrinsic "llvm.x86.avx512bf16.dpbf16ps.512"({{.*}}) : (vector<16xf32>, vector<32xbf16>, vector<32xbf16>) -> vector<16xf32>
// IR:    [[L:%.*]] = load <32 x i16>, ptr {{%.*}}, align 2
// IR:    bitcast <32 x i16> [[L]] to <32 x bfloat>
// IR:    call <16 x float> @llvm.x86.avx512bf16.dpbf16ps.512(<16 x float> {{%.*}}, <32 x bfloat> {{%.*}}, <32 x bfloat> {{%.*}})
// IR:    store i16
func.func @f(%x: memref<32xbf16>, %y: memref<16xf32>) {
  %c0 = arith.constant 0 : index
  %a = vector.load %x[%c0] : memref<32xbf16>, vector<32xbf16>
  %c = vector.load %y[%c0] : memref<16xf32>, vector<16xf32>
  %d = x86vector.avx512.dot %c, %a, %a : vector<32xbf16> -> vector<16xf32>
  vector.store %d, %y[%c0] : memref<16xf32>, vector<16xf32>
  %e = memref.load %x[%c0] : memref<32xbf16>
  memref.store %e, %x[%c0] : memref<32xbf16>
  func.return
}

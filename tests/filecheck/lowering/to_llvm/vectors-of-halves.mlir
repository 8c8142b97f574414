// Floats of 16 bits move under a mask as their bits: LLVM would take such lanes one after the other.
// RUN: opt-tool %s -p convert-to-llvm -t llvm-ir | filecheck %s

// CHECK: call <32 x i16> @llvm.masked.load.v32i16.p0(ptr align 2
// CHECK: bitcast <32 x i16> %{{.*}} to <32 x half>
// CHECK: bitcast <32 x half> %{{.*}} to <32 x i16>
// CHECK: call void @llvm.masked.store.v32i16.p0(<32 x i16>
func.func @copy(%x: memref<?xf16>, %y: memref<?xf16>, %n: index) {
  %c0 = arith.constant 0 : index
  %zero = arith.constant dense<0.0> : vector<32xf16>
  %mask = vector.create_mask %n : vector<32xi1>
  %v = vector.maskedload %x[%c0], %mask, %zero : memref<?xf16>, vector<32xi1>, vector<32xf16> into vector<32xf16>
  vector.maskedstore %y[%c0], %mask, %v : memref<?xf16>, vector<32xi1>, vector<32xf16>
  func.return
}

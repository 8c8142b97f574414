// Vectors of any length stay whole; minimum and maximum may swap zeros, other flags come from the source alone.
// RUN: opt-tool %s -p convert-to-llvm | filecheck %s

// CHECK-LABEL: llvm.func internal @vectors.kernel
// CHECK: [[MASK:%.+]] = llvm.icmp "slt" {{.*}} : vector<64xi32>
// CHECK: %v = llvm.intr.masked.load {{%.+}}, [[MASK]], {{%.+}} {alignment = 4 : i32}
// CHECK: %m = llvm.intr.maximum(%v, %v) {fastmathFlags = #llvm.fastmath<nsz>}
// CHECK: %p = llvm.fmul %m, %v : vector<64xf32>
// CHECK: %q = llvm.fadd %p, %v {fastmathFlags = #llvm.fastmath<contract>} : vector<64xf32>
// CHECK: [[LOW:%.+]] = llvm.and {{%.+}}, {{%.+}} : i64
// CHECK: [[ALIGNED:%.+]] = llvm.icmp "eq" [[LOW]], {{%.+}} : i64
// CHECK: [[STREAMED:%.+]] = llvm.and [[ALIGNED]], {{%.+}} : i1
// CHECK: llvm.cond_br [[STREAMED]], ^bb1, ^bb2
// CHECK: llvm.store %q, {{%.+}} {alignment = 64 : i64, nontemporal}
// CHECK: llvm.store %q, {{%.+}} {alignment = 4 : i64} :
// CHECK: %s = "llvm.intr.vector.reduce.fadd"({{.*}}) <{fastmathFlags = #llvm.fastmath<reassoc>}>
func.func @vectors(%x: memref<?xf32>, %o: memref<?xf32>, %r: memref<f32>, %n: index) {
  %c0 = arith.constant 0 : index
  %zero = arith.constant dense<0.0> : vector<64xf32>
  %k = vector.create_mask %n : vector<64xi1>
  %v = vector.maskedload %x[%c0], %k, %zero : memref<?xf32>, vector<64xi1>, vector<64xf32> into vector<64xf32>
  %m = arith.maximumf %v, %v : vector<64xf32>
  %p = arith.mulf %m, %v : vector<64xf32>
  %q = arith.addf %p, %v fastmath<contract> : vector<64xf32>
  vector.store %q, %o[%c0] {nestor.nontemporal} : memref<?xf32>, vector<64xf32>
  %s = vector.reduction <add>, %q fastmath<reassoc> : vector<64xf32> into f32
  memref.store %s, %r[] : memref<f32>
  func.return
}

// Tiles are values of LLVM's x86_amx, which loops carry; the intrinsics say shapes in bytes, and rows a row of the buffer apart.
// RUN: opt-tool %s -p convert-to-llvm | filecheck %s
// RUN: opt-tool %s -p convert-to-llvm -t llvm-ir | filecheck %s --check-prefix=IR

// CHECK: [[Z:%.*]] = llvm.call_intrinsic "llvm.x86.tilezero.internal"({{.*}}) : (i16, i16) -> !llvm.x86_amx
// CHECK: bb1({{%.*}}: i64, [[T:%.*]]: !llvm.x86_amx):
// CHECK: llvm.call_intrinsic "llvm.x86.tdpbssd.internal"({{.*}}, [[T]], {{.*}}) : (i16, i16, i16, !llvm.x86_amx, !llvm.x86_amx, !llvm.x86_amx) -> !llvm.x86_amx

// IR:      phi x86_amx
// IR:      [[A:%.*]] = call x86_amx @llvm.x86.tileloadd64.internal(i16 16, i16 64, ptr {{.*}}, i64 64)
// IR:      [[B:%.*]] = call x86_amx @llvm.x86.tileloadd64.internal(i16 16, i16 32, ptr {{.*}}, i64 128)
// IR-NEXT: call x86_amx @llvm.x86.tdpbssd.internal(i16 16, i16 32, i16 64, x86_amx {{.*}}, x86_amx [[A]], x86_amx [[B]])
// IR:      call x86_amx @llvm.x86.tdpbuud.internal(
// IR:      call x86_amx @llvm.x86.tdpbf16ps.internal(i16 16, i16 64, i16 64, x86_amx {{.*}}, x86_amx {{.*}}, x86_amx {{.*}})
// IR:      call void @llvm.x86.tilestored64.internal(i16 16, i16 32, ptr %c, i64 128, x86_amx {{.*}})
// IR:      declare x86_amx @llvm.x86.tdpbssd.internal(i16, i16, i16, x86_amx, x86_amx, x86_amx)

func.func @f(%a: memref<2x32x64xi8>, %b: memref<2x16x128xi8>, %c: memref<32x32xi32>, %x: memref<16x32xbf16>, %d: memref<16x16xf32>, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %z = amx.tile_zero : !amx.tile<16x8xi32>
  %s = scf.for %k = %c0 to %n step %c1 iter_args(%t = %z) -> (!amx.tile<16x8xi32>) {
    %0 = amx.tile_load %a[%k, %c0, %c0] : memref<2x32x64xi8> into !amx.tile<16x64xi8>
    %1 = amx.tile_load %b[%k, %c0, %c0] : memref<2x16x128xi8> into !amx.tile<16x32xi8>
    %2 = amx.tile_muli %0, %1, %t : !amx.tile<16x64xi8>, !amx.tile<16x32xi8>, !amx.tile<16x8xi32>
    %3 = amx.tile_muli %0 zext, %1 zext, %2 : !amx.tile<16x64xi8>, !amx.tile<16x32xi8>, !amx.tile<16x8xi32>
    scf.yield %3 : !amx.tile<16x8xi32>
  }
  %y = amx.tile_zero : !amx.tile<16x16xf32>
  %4 = amx.tile_load %x[%c0, %c0] : memref<16x32xbf16> into !amx.tile<16x32xbf16>
  %5 = amx.tile_mulf %4, %4, %y : !amx.tile<16x32xbf16>, !amx.tile<16x32xbf16>, !amx.tile<16x16xf32>
  amx.tile_store %d[%c0, %c0], %5 : memref<16x16xf32>, !amx.tile<16x16xf32>
  amx.tile_store %c[%c0, %c0], %s : memref<32x32xi32>, !amx.tile<16x8xi32>
  func.return
}

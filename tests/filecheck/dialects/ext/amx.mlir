// Tiles and products of them read back as they are printed, in upstream's form (amx-mlir-opt.mlir: mlir-opt reads it).
// RUN: opt-tool %s | opt-tool | filecheck %s

func.func @f(%a: memref<2x32x64xi8>, %b: memref<2x16x64xi8>, %c: memref<32x32xi32>, %x: memref<16x32xbf16>, %i: index, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  // CHECK: [[Z:%.*]] = amx.tile_zero : !amx.tile<16x16xi32>
  %z = amx.tile_zero : !amx.tile<16x16xi32>
  // CHECK: scf.for {{.*}} iter_args([[T:%.*]] = [[Z]]) -> (!amx.tile<16x16xi32>) {
  %s = scf.for %k = %c0 to %n step %c1 iter_args(%t = %z) -> (!amx.tile<16x16xi32>) {
    // CHECK-NEXT: [[A:%.*]] = amx.tile_load %a[%i, %c0, %c0] : memref<2x32x64xi8> into !amx.tile<16x64xi8>
    // CHECK-NEXT: [[B:%.*]] = amx.tile_load %b[%i, %c0, %c0] : memref<2x16x64xi8> into !amx.tile<16x64xi8>
    // CHECK-NEXT: [[P:%.*]] = amx.tile_muli [[A]], [[B]] zext, [[T]] : !amx.tile<16x64xi8>, !amx.tile<16x64xi8>, !amx.tile<16x16xi32>
    %0 = amx.tile_load %a[%i, %c0, %c0] : memref<2x32x64xi8> into !amx.tile<16x64xi8>
    %1 = amx.tile_load %b[%i, %c0, %c0] : memref<2x16x64xi8> into !amx.tile<16x64xi8>
    %2 = amx.tile_muli %0, %1 zext, %t : !amx.tile<16x64xi8>, !amx.tile<16x64xi8>, !amx.tile<16x16xi32>
    scf.yield %2 : !amx.tile<16x16xi32>
  }
  // CHECK: amx.tile_store %c[%c0, %c0], {{%.*}} : memref<32x32xi32>, !amx.tile<16x16xi32>
  amx.tile_store %c[%c0, %c0], %s : memref<32x32xi32>, !amx.tile<16x16xi32>
  // CHECK: amx.tile_mulf [[X:%.*]], [[X]], {{%.*}} : !amx.tile<16x32xbf16>, !amx.tile<16x32xbf16>, !amx.tile<16x16xf32>
  %y = amx.tile_zero : !amx.tile<16x16xf32>
  %4 = amx.tile_load %x[%c0, %c0] : memref<16x32xbf16> into !amx.tile<16x32xbf16>
  %5 = amx.tile_mulf %4, %4, %y : !amx.tile<16x32xbf16>, !amx.tile<16x32xbf16>, !amx.tile<16x16xf32>
  func.return
}

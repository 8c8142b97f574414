// REQUIRES: mlir-opt
// mlir-opt reads the tiles and products of amx.mlir, and prints what is read here.
// RUN: opt-tool %S/amx.mlir | mlir-opt --mlir-print-op-generic | opt-tool | filecheck %s

// CHECK: amx.tile_muli {{%.*}}, {{%.*}} zext, {{%.*}} : !amx.tile<16x64xi8>, !amx.tile<16x64xi8>, !amx.tile<16x16xi32>
// CHECK: amx.tile_store {{%.*}}, {{%.*}} : memref<32x32xi32>, !amx.tile<16x16xi32>

// What is no tile, and no product of tiles, is refused.
// RUN: opt-tool %s --split-input-file --verify-diagnostics

func.func @long(%a: memref<32x128xi8>, %i: index) {
  // expected-error@+1 {{a tile has 1 to 16 rows of up to 64 bytes, a multiple of 4; here 16 of 128}}
  %0 = amx.tile_load %a[%i, %i] : memref<32x128xi8> into !amx.tile<16x128xi8>
  func.return
}

// -----

func.func @product(%a: !amx.tile<16x64xi8>, %b: !amx.tile<8x64xi8>, %c: !amx.tile<16x16xi32>) {
  // expected-error@+1 {{is not !amx.tile<16x16xi32>}}
  %0 = amx.tile_muli %a, %b, %c : !amx.tile<16x64xi8>, !amx.tile<8x64xi8>, !amx.tile<16x16xi32>
  func.return
}

// -----

func.func @element(%a: memref<32x64xi32>, %i: index) {
  // expected-error@+1 {{the elements of the tile are those of the buffer}}
  %0 = amx.tile_load %a[%i, %i] : memref<32x64xi32> into !amx.tile<16x64xi8>
  func.return
}

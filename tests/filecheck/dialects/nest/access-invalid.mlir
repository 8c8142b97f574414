// Every rule that loads, stores, buffers and checked indices must keep.
// RUN: opt-tool %s --split-input-file --verify-diagnostics

func.func @rank(%x: memref<4x4xf32>, %i: index) {
  // expected-error @below {{1 indices for a buffer of rank 2}}
  %a = nest.load %x[%i] : memref<4x4xf32>
  func.return
}

// -----

func.func @load_type(%x: memref<4xf32>, %i: index) {
  // expected-error @below {{the result is f64, the buffer holds another type}}
  %a = "nest.load"(%x, %i) <{map = affine_map<(d0) -> (d0)>}> : (memref<4xf32>, index) -> f64
  func.return
}

// -----

func.func @index_operands(%x: memref<4xf32>, %i: index) {
  // expected-error @below {{an index has 2 operands but its map takes 1 dimensions and 0 symbols}}
  %a = "nest.load"(%x, %i, %i) <{map = affine_map<(d0) -> (d0)>}> : (memref<4xf32>, index, index) -> f32
  func.return
}

// -----

func.func @index_product(%x: memref<4xf32>, %i: index) {
  // expected-error @below {{an index is not affine: 'floordiv' needs a positive constant on its right}}
  %a = "nest.load"(%x, %i) <{map = affine_map<(d0) -> (d0 floordiv -2)>}> : (memref<4xf32>, index) -> f32
  func.return
}

// -----

func.func @store_rank(%x: memref<4xf32>, %v: f32) {
  // expected-error @below {{0 indices for a buffer of rank 1}}
  nest.store "x" %v, %x[] : memref<4xf32>
  func.return
}

// -----

func.func @store_type(%x: memref<4xf32>, %v: f64, %i: index) {
  // expected-error @below {{stores f64 to memref<4xf32>}}
  "nest.store"(%v, %x, %i) <{map = affine_map<(d0) -> (d0)>, operandSegmentSizes = array<i32: 1, 1, 1, 0, 0>}> : (f64, memref<4xf32>, index) -> ()
  func.return
}

// -----

func.func @domain(%x: memref<4xf32>, %v: f32, %i: index) {
  // expected-error @below {{domain operands without a domain}}
  "nest.store"(%v, %x, %i, %i) <{map = affine_map<(d0) -> (d0)>, operandSegmentSizes = array<i32: 1, 1, 1, 1, 0>}> : (f32, memref<4xf32>, index, index) -> ()
  func.return
}

// -----

func.func @domain_map(%x: memref<4xf32>, %v: f32, %i: index) {
  // expected-error @below {{the domain has 0 operands but its map takes 1 dimensions and 0 symbols}}
  "nest.store"(%v, %x, %i) <{map = affine_map<(d0) -> (d0)>, where_map = affine_map<(d0) -> (d0)>, operandSegmentSizes = array<i32: 1, 1, 1, 0, 0>}> : (f32, memref<4xf32>, index) -> ()
  func.return
}

// -----

func.func @product(%x: memref<4xf32>, %i: index, %j: index) {
  // expected-error @below {{not an affine expression: one side of '*', and the right side of 'floordiv', 'ceildiv' and 'mod', must be a constant}}
  %a = nest.load %x[%i * %j] : memref<4xf32>
  func.return
}

// -----

func.func @quotient(%x: memref<4xf32>, %i: index, %j: index) {
  // expected-error @below {{not an affine expression}}
  %a = nest.load %x[%i mod %j] : memref<4xf32>
  func.return
}

// -----

func.func @sizes(%n: index) {
  // expected-error @below {{1 sizes given for 2 unknown extents}}
  %t = nest.alloc "t"(%n) : memref<?x?xf32>
  func.return
}

// -----

func.func @index_map(%i: index) {
  // expected-error @below {{the map gives the index and the extent, here affine_map<(d0) -> (d0)>}}
  %k = "nest.index"(%i) <{map = affine_map<(d0) -> (d0)>, array = "a", axis = 0 : i64}> : (index) -> index
  func.return
}

// -----

func.func @checked_operands(%i: index) {
  // expected-error @below {{the index has 1 operands but its map takes 2 dimensions and 0 symbols}}
  %k = "nest.index"(%i) <{map = affine_map<(d0, d1) -> (d0, d1)>, array = "a", axis = 0 : i64}> : (index) -> index
  func.return
}

// -----

func.func @unsigned(%x: memref<8xui8>) {
  // expected-error @below {{integers in memory have no sign: i8, not ui8}}
  %a = nest.load %x[0] : memref<8xui8>
  func.return
}

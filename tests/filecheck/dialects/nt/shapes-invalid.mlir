// One case for every rule of casts, views and extents.
// RUN: opt-tool %s --split-input-file --verify-diagnostics

func.func @dim(%x: tensor<4xf32>) {
  // expected-error @below {{axis 1 of a tensor of rank 1}}
  %0 = nt.dim %x[1] : tensor<4xf32>
  func.return
}

// -----

func.func @cast_source(%x: tensor<4xindex>) {
  // expected-error @below {{index is not an element type of nt}}
  %0 = nt.cast %x : tensor<4xindex> -> tensor<4xf32>
  func.return
}

// -----

func.func @cast_result(%x: tensor<4xf32>) {
  // expected-error @below {{i7 is not an element type of nt}}
  %0 = nt.cast %x : tensor<4xf32> -> tensor<4xi7>
  func.return
}

// -----

func.func @cast_shape(%x: tensor<4xf32>) {
  // expected-error @below {{the shape changes from tensor<4xf32> to tensor<5xi8>}}
  %0 = nt.cast %x : tensor<4xf32> -> tensor<5xi8>
  func.return
}

// -----

func.func @sizes(%x: tensor<4xf32>) {
  // expected-error @below {{0 sizes for the 1 unknown extents of tensor<?x4xf32>}}
  %0 = nt.broadcast %x along [1] : tensor<4xf32> -> tensor<?x4xf32>
  func.return
}

// -----

func.func @broadcast_element(%x: tensor<4xf32>) {
  // expected-error @below {{the element type changes from f32 to f64; use nt.cast}}
  %0 = nt.broadcast %x along [0] : tensor<4xf32> -> tensor<4xf64>
  func.return
}

// -----

func.func @broadcast_rank(%x: tensor<4xf32>) {
  // expected-error @below {{along names 2 dimensions of a tensor of rank 1}}
  %0 = nt.broadcast %x along [0, 1] : tensor<4xf32> -> tensor<4x4xf32>
  func.return
}

// -----

func.func @broadcast_order(%x: tensor<4x5xf32>) {
  // expected-error @below {{along [1, 0] must increase within the 2 result dimensions}}
  %0 = nt.broadcast %x along [1, 0] : tensor<4x5xf32> -> tensor<5x4xf32>
  func.return
}

// -----

func.func @broadcast_range(%x: tensor<4xf32>) {
  // expected-error @below {{along [2] must increase within the 2 result dimensions}}
  %0 = nt.broadcast %x along [2] : tensor<4xf32> -> tensor<4x4xf32>
  func.return
}

// -----

func.func @broadcast_stretch(%x: tensor<4xf32>) {
  // expected-error @below {{dimension 0 of tensor<4xf32> does not stretch to dimension 1 of tensor<2x5xf32>}}
  %0 = nt.broadcast %x along [1] : tensor<4xf32> -> tensor<2x5xf32>
  func.return
}

// -----

func.func @reshape_count(%x: tensor<4x5xf32>) {
  // expected-error @below {{20 elements do not become 21}}
  %0 = nt.reshape %x : tensor<4x5xf32> -> tensor<21xf32>
  func.return
}

// -----

func.func @reshape_element(%x: tensor<4x5xf32>) {
  // expected-error @below {{the element type changes from f32 to i32; use nt.cast}}
  %0 = nt.reshape %x : tensor<4x5xf32> -> tensor<20xi32>
  func.return
}

// -----

func.func @transpose_perm(%x: tensor<4x5xf32>) {
  // expected-error @below {{[0, 0] is not a permutation of 2 dimensions}}
  %0 = nt.transpose %x perm [0, 0] : tensor<4x5xf32> -> tensor<4x4xf32>
  func.return
}

// -----

func.func @transpose_type(%x: tensor<4x5xf32>) {
  // expected-error @below {{perm [1, 0] of tensor<4x5xf32> does not give tensor<4x5xf32>}}
  %0 = nt.transpose %x perm [1, 0] : tensor<4x5xf32> -> tensor<4x5xf32>
  func.return
}

// -----

func.func @transpose_element(%x: tensor<4x5xf32>) {
  // expected-error @below {{the element type changes from f32 to f16; use nt.cast}}
  %0 = nt.transpose %x perm [1, 0] : tensor<4x5xf32> -> tensor<5x4xf16>
  func.return
}

// -----

func.func @slice_rank(%x: tensor<4x5xf32>) {
  // expected-error @below {{1 offsets, 2 strides and a result of rank 2 for a source of rank 2}}
  %0 = nt.slice %x[0] strides [1, 1] : tensor<4x5xf32> -> tensor<4x5xf32>
  func.return
}

// -----

func.func @slice_stride(%x: tensor<4xf32>) {
  // expected-error @below {{a stride is zero; use nt.broadcast to repeat an element}}
  %0 = nt.slice %x[0] strides [0] : tensor<4xf32> -> tensor<4xf32>
  func.return
}

// -----

func.func @slice_window(%x: tensor<4xf32>) {
  // expected-error @below {{dimension 0 reads 1..5 of an extent of 4}}
  %0 = nt.slice %x[1] strides [2] : tensor<4xf32> -> tensor<3xf32>
  func.return
}

// -----

func.func @slice_element(%x: tensor<4xf32>) {
  // expected-error @below {{the element type changes from f32 to i1; use nt.cast}}
  %0 = nt.slice %x[0] strides [1] : tensor<4xf32> -> tensor<4xi1>
  func.return
}

// Types and numbers that are larger than anything in memory, and values for which a text has no room.
// RUN: opt-tool %s --split-input-file --verify-diagnostics

// expected-error @below {{an extent, a stride or the size in bytes is 39999999999999999996; nothing is larger than 2^48}}
func.func @tensor(%x: tensor<9999999999999999999xf32>) {
  func.return
}

// -----

// expected-error @below {{the size in bytes is 4503599627370496; nothing is larger than 2^48}}
func.func @product(%x: memref<33554432x33554432xf32>) {
  func.return
}

// -----

// expected-error @below {{an extent, a stride or the size in bytes is 999999999999999; nothing is larger than 2^48}}
func.func @no_elements(%x: memref<0x999999999999999xf32>) {
  func.return
}

// -----

// expected-error @below {{an extent, a stride or the size in bytes is 9223372036854775807; nothing is larger than 2^48}}
func.func @stride(%x: memref<4xf32, strided<[9223372036854775807]>>) {
  func.return
}

// -----

// expected-error @below {{a vector of 1000000 elements; there are at most 65536}}
func.func @vector(%x: vector<1000x1000xf32>) {
  func.return
}

// -----

// expected-error @below {{integers have at most 4096 bits}}
func.func @integer(%x: i4097) {
  func.return
}

// -----

func.func @splat() -> tensor<1000000000000xi32> {
  // expected-error @below {{one value for 1000000000000 elements; a literal has at most 4194304}}
  %x = nt.constant dense<1> : tensor<1000000000000xi32>
  func.return %x : tensor<1000000000000xi32>
}

// -----

func.func @bits() {
  // expected-error @below {{the bits of a float of this type are not supported}}
  %x = arith.constant 0x7ff0 : f80
  func.return
}

// -----

func.func @float() {
  // expected-error @below {{numbers of f128 can be computed, but not written}}
  %x = arith.constant 1.5 : f128
  func.return
}

// -----

func.func @index() {
  // expected-error @below {{'arith.constant' op has the index 9223372036854775808: it does not fit in 64 bits}}
  %x = arith.constant 9223372036854775808 : index
  func.return
}

// -----

func.func @bound(%x: f32, %y: memref<8xf32>) {
  // expected-error @below {{the number 9223372036854775807 is not an index: nothing is larger than 2^48}}
  nest.for "i" %i = 0 to 9223372036854775807 {
    nest.store %x, %y[%i] : memref<8xf32>
  }
  func.return
}

// -----

func.func @product_of_numbers(%y: memref<8xf32>, %i: index) {
  // expected-error @below {{the number -99999999980000000001000 is not an index: nothing is larger than 2^48}}
  %x = nest.load %y[-9999999999 * 9999999999 * 1000 + 900000000 * %i] : memref<8xf32>
  func.return
}

// -----

// expected-error @below {{the number 999999999999999 is not an index: nothing is larger than 2^48}}
#map = affine_map<(d0) -> (d0 + 999999999999999)>

// -----

func.func @step(%x: f32, %y: memref<8xf32>) {
  // expected-error @below {{"i": the step is 999999999999999, beyond all buffers}}
  nest.for "i" %i = 0 to 8 step 999999999999999 {
    nest.store %x, %y[%i] : memref<8xf32>
  }
  func.return
}

// -----

func.func @width(%x: f32, %y: memref<8xf32>) {
  // expected-error @below {{"i": a vector has at most 65536 lanes, not 1000000}}
  nest.for "i" %i = 0 to 8 vectorized(1000000) {
    nest.store %x, %y[%i] : memref<8xf32>
  }
  func.return
}

// -----

func.func @axis(%x: memref<4x?xf32>) -> index {
  %c = arith.constant 2 : index
  // expected-error @below {{asks for the extent of axis 2 of memref<4x?xf32>, which has rank 2}}
  %n = memref.dim %x, %c : memref<4x?xf32>
  func.return %n : index
}

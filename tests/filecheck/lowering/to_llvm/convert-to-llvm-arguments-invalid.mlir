// Arguments that do not fit into the 8 bytes that the caller passes for each.
// RUN: opt-tool %s -p convert-to-llvm --split-input-file --verify-diagnostics

// expected-error @below {{an argument of type i128 does not fit into its 8 bytes}}
func.func @wide(%x: i128) {
  func.return
}

// -----

// expected-error @below {{an argument of type vector<4xi8> does not fit into its 8 bytes}}
func.func @vector(%x: vector<4xi8>) {
  func.return
}

// -----

// expected-error @below {{integers of 24 bits are not whole bytes in memory}}
func.func @bits(%x: memref<8xi24>) {
  func.return
}

// -----

func.func @own() {
  // expected-error @below {{integers of 12 bits are not whole bytes in memory}}
  %x = memref.alloc() : memref<8xi12>
  func.return
}

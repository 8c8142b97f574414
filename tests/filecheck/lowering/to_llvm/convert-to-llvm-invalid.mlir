// What convert-to-llvm cannot translate it names, at its place.
// RUN: opt-tool %s -p convert-to-llvm --split-input-file --verify-diagnostics

func.func @transcendental(%x: f32) {
  // expected-error @below {{convert-to-llvm has no translation for math.exp}}
  %y = math.exp %x : f32
  func.return
}

// -----

// expected-error @below {{@results has results}}
func.func @results(%x: f32) -> f32 {
  func.return %x : f32
}

// -----

func.func @column(%x: memref<8x8xf32, strided<[1, 8]>>) {
  %c0 = arith.constant 0 : index
  // expected-error @below {{vector.load needs a last axis of stride 1}}
  %v = vector.load %x[%c0, %c0] : memref<8x8xf32, strided<[1, 8]>>, vector<8xf32>
  func.return
}

// -----

func.func @check_in_parallel(%n: index, %ok: i1) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  "scf.parallel"(%c0, %n, %c1) <{operandSegmentSizes = array<i32: 1, 1, 1, 0>}> ({
  ^bb0(%i: index):
    // expected-error @below {{a run-time check inside scf.parallel has no translation}}
    cf.assert %ok, "no"
    scf.reduce
  }) : (index, index, index) -> ()
  func.return
}

// -----

func.func @conditional_free(%ok: i1) {
  %t = memref.alloc() : memref<4xf32>
  scf.if %ok {
    // expected-error @below {{deallocates a buffer that is not allocated in the same block}}
    memref.dealloc %t : memref<4xf32>
  }
  func.return
}

// -----

func.func @kind(%ok: i1) {
  // expected-error @below {{unknown kind of error 'KeyError'}}
  cf.assert %ok, "no" {nestor.kind = "KeyError"}
  func.return
}

// -----

func.func @instructions(%x: memref<4xf32>, %i: index) {
  // expected-error @below {{the instruction cache of this processor is not prefetched}}
  memref.prefetch %x[%i], write, locality<0>, instr : memref<4xf32>
  func.return
}

// -----

func.func @columns_of_its_own() {
  // expected-error @below {{allocates a buffer that is not row-major: memref<4x4xf32, strided<[1, 4]>>}}
  %t = memref.alloc() : memref<4x4xf32, strided<[1, 4]>>
  func.return
}

// -----

func.func @rows_apart_on_the_stack() {
  // expected-error @below {{allocates a buffer that is not row-major: memref<4x4xf32, strided<[8, 1]>>}}
  %t = memref.alloca() : memref<4x4xf32, strided<[8, 1]>>
  func.return
}

// -----

func.func @symbols(%n: index) {
  // expected-error @below {{no translation for the layout of memref<4xf32, affine_map<(d0)[s0] -> ((d0 + s0))>>}}
  %t = memref.alloc()[%n] : memref<4xf32, affine_map<(d0)[s0] -> (d0 + s0)>>
  func.return
}

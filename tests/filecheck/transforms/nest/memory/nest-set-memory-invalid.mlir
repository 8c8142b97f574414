// Buffers that cannot be in shared memory, and why.
// RUN: opt-tool %s -p 'nest-set-memory{buffer=u space=shared}' --split-input-file --verify-diagnostics

// expected-error @below {{cannot move the buffer "u" to shared memory: it is not an allocation of the function}}
func.func @argument(%u: memref<4xf32>) {
  func.return
}

// -----

func.func @view() {
  // expected-error @below {{cannot move the buffer "u" to shared memory: it is not only loaded and stored}}
  %u = nest.alloc "u" : memref<2x2xf32>
  // expected-note @below {{it is used here}}
  %v = memref.collapse_shape %u [[0, 1]] : memref<2x2xf32> into memref<4xf32>
  func.return
}

// -----

func.func @symbolic(%n: index) {
  // expected-error @below {{a buffer in shared memory has constant extents}}
  %u = nest.alloc "u"(%n) : memref<?xf32>
  func.return
}

// -----

func.func @large() {
  // expected-error @below {{it takes 65536 bytes, a block has 49152 bytes of shared memory}}
  %u = nest.alloc "u" : memref<128x128xf32>
  func.return
}

// -----

func.func @of_a_thread(%x: memref<8xf32>) {
  %zero = arith.constant 0.0 : f32
  // expected-note @below {{the loop "t" is bound to thread.x}}
  nest.for "t" %t = 0 to 8 bind "thread.x" {
    // expected-error @below {{shared memory is that of a block, and here each thread would have its own}}
    %u = nest.alloc "u" : memref<f32>
    nest.store "u" %zero, %u[] : memref<f32>
  }
  func.return
}

// -----

func.func @of_all_blocks(%x: memref<8xf32>) {
  %zero = arith.constant 0.0 : f32
  // expected-error @below {{shared memory is that of a block, and blocks would use it together}}
  %u = nest.alloc "u" : memref<8xf32>
  // expected-note @below {{the loop "t" is bound to block.x}}
  nest.for "t" %t = 0 to 8 bind "block.x" {
    nest.store "u" %zero, %u[%t] : memref<8xf32>
  }
  func.return
}

// The number of blocks must not depend on what the kernel computes.
// RUN: opt-tool %s -p 'nest-bind{loop=i axis=block.y}' --verify-diagnostics --split-input-file

func.func @triangle(%v: f32, %y: memref<8x8xf32> {nest.role = "out"}) {
  nest.for "o" %o = 0 to 8 bind "block.x" {
    // expected-error @below {{cannot bind the loop "i" to block.y: how many blocks there are must be known before the launch}}
    nest.for "i" %i = 0 to %o {
      nest.store "y" %v, %y[%o, %i] : memref<8x8xf32>
    }
  }
  func.return
}

// -----

func.func @inside_threads(%v: f32, %y: memref<8x8xf32> {nest.role = "out"}) {
  // expected-note @below {{"o" is bound to thread.x here}}
  nest.for "o" %o = 0 to 8 bind "thread.x" {
    // expected-error @below {{cannot bind the loop "i" to block.y: loops over blocks go outside of those over threads}}
    nest.for "i" %i = 0 to 8 {
      nest.store "y" %v, %y[%o, %i] : memref<8x8xf32>
    }
  }
  func.return
}

// Loops that cannot be bound, and an axis that does not exist.
// RUN: opt-tool %s -p 'nest-bind{loop=i axis=thread.x}' --verify-diagnostics --split-input-file
// RUN: not opt-tool %s -p 'nest-bind{loop=i axis=warp.x}' --split-input-file 2>&1 | filecheck %s

// CHECK: cannot bind the loop "i" to "warp.x": there is no such axis
// CHECK: axes: block.x, block.y, block.z, thread.x, thread.y, thread.z, lane

func.func @carried(%x: memref<64xf32> {nest.role = "inout"}) {
  // expected-error @below {{cannot bind the loop "i": a flow dependence on "x" is carried by the loop "i"}}
  nest.for "i" %i = 1 to 64 {
    // expected-note @below {{reads the same element in a later one}}
    %v = nest.load %x[%i - 1] : memref<64xf32>
    // expected-note @below {{writes "x" in an earlier iteration of "i"}}
    nest.store "x" %v, %x[%i] : memref<64xf32>
  }
  func.return
}

// -----

func.func @fails(%x: memref<64xf32>, %p: memref<64xi64>, %y: memref<64xf32> {nest.role = "out"}) {
  // expected-error @below {{cannot bind the loop "i": an operation in it can stop the kernel}}
  nest.for "i" %i = 0 to 64 {
    %q = nest.load %p[%i] : memref<64xi64>
    %q_1 = arith.index_cast %q : i64 to index
    // expected-note @below {{this check can fail}}
    %k = nest.index %q_1 of 64 axis 0 of "x"
    %v = nest.load %x[%k] : memref<64xf32>
    nest.store "y" %v, %y[%i] : memref<64xf32>
  }
  func.return
}

// -----

func.func @twice(%v: f32, %y: memref<8x8xf32> {nest.role = "out"}) {
  // expected-note @below {{"o" is bound to thread.x here}}
  nest.for "o" %o = 0 to 8 bind "thread.x" {
    // expected-error @below {{cannot bind the loop "i" to thread.x: the loop "o" is, and one is in the other}}
    nest.for "i" %i = 0 to 8 {
      nest.store "y" %v, %y[%o, %i] : memref<8x8xf32>
    }
  }
  func.return
}

// -----

func.func @upside_down(%v: f32, %y: memref<8x8xf32> {nest.role = "out"}) {
  // expected-error @below {{cannot bind the loop "i" to thread.x: loops over blocks go outside of those over threads}}
  nest.for "i" %i = 0 to 8 {
    // expected-note @below {{"o" is bound to block.x here}}
    nest.for "o" %o = 0 to 8 bind "block.x" {
      nest.store "y" %v, %y[%o, %i] : memref<8x8xf32>
    }
  }
  func.return
}

// -----

func.func @many(%v: f32, %y: memref<2000xf32> {nest.role = "out"}) {
  // expected-error @below {{it has 2000 iterations, a block at most 1024 threads}}
  nest.for "i" %i = 0 to 2000 {
    nest.store "y" %v, %y[%i] : memref<2000xf32>
  }
  func.return
}

// -----

func.func @unknown(%v: f32, %n: index, %y: memref<?xf32> {nest.role = "out"}) {
  // expected-error @below {{cannot bind the loop "i" to thread.x: a block has a constant number of threads}}
  nest.for "i" %i = 0 to %n {
    nest.store "y" %v, %y[%i] : memref<?xf32>
  }
  func.return
}

// -----

func.func @marked(%v: f32, %y: memref<8xf32> {nest.role = "out"}) {
  // expected-error @below {{cannot bind the loop "i": it is parallel already}}
  nest.for "i" %i = 0 to 8 parallel {
    nest.store "y" %v, %y[%i] : memref<8xf32>
  }
  func.return
}

// -----

func.func @lanes(%x: f32, %y: memref<8x16xf32>) {
  // expected-note @below {{that loop is here}}
  nest.for "v" %v = 0 to 16 vectorized(16) {
    // expected-error @below {{cannot bind the loop "i": it is inside of the vectorized loop "v"}}
    nest.for "i" %i = 0 to 8 {
      nest.store "y" %x, %y[%i, %v] : memref<8x16xf32>
    }
  }
  func.return
}

// -----

func.func @beside_threads_of_the_processor(%x: f32, %y: memref<8xf32>, %z: memref<8xf32>) {
  // expected-note @below {{here}}
  nest.for "b" %b = 0 to 8 parallel {
    nest.store "z" %x, %z[%b] : memref<8xf32>
  }
  // expected-error @below {{cannot bind the loop "i": the loop "b" of this function is parallel, which has no meaning on a GPU}}
  nest.for "i" %i = 0 to 8 {
    nest.store "y" %x, %y[%i] : memref<8xf32>
  }
  func.return
}

// -----

func.func private @t(%0: memref<8xf32>)
func.func @beside_an_intrinsic(%x: f32, %y: memref<8xf32>, %z: memref<8xf32>) {
  // expected-note @below {{here}}
  func.call @t(%z) : (memref<8xf32>) -> ()
  // expected-error @below {{cannot bind the loop "i": this function calls @t, and a GPU's threads call no function for what it writes}}
  nest.for "i" %i = 0 to 8 {
    nest.store "y" %x, %y[%i] : memref<8xf32>
  }
  func.return
}

// -----

func.func @too_many_threads(%x: f32, %y: memref<64x32xf32>) {
  nest.for "o" %o = 0 to 64 bind "thread.y" {
    // expected-error @below {{cannot bind the loop "i" to thread.x: with the loops that are bound already, this is a block of 32 x 64 x 1 threads; a block has at most 1024}}
    nest.for "i" %i = 0 to 32 {
      nest.store "y" %x, %y[%o, %i] : memref<64x32xf32>
    }
  }
  func.return
}

// -----

func.func @too_many_warps(%x: f32, %y: memref<40x32xf32>) {
  // expected-error @below {{this is a block of 1280 x 1 x 1 threads; a block has at most 1024}}
  nest.for "i" %i = 0 to 40 {
    nest.for "l" %l = 0 to 32 bind "lane" {
      nest.store "y" %x, %y[%i, %l] : memref<40x32xf32>
    }
  }
  func.return
}

// -----

// An update in one step is one of a thread's own element: no other thread meets it.
func.func @atomic_in_registers(%a: memref<8x6xi64>, %c: memref<8xi64>) {
  %zero = arith.constant 0 : i64
  nest.for "o" %o = 0 to 8 bind "block.x" {
    %t = nest.alloc "t" : memref<i64, 5 : i64>
    nest.store "t" %zero, %t[] : memref<i64, 5 : i64>
    // expected-error @below {{cannot bind the loop "i": a reduction dependence on "t" is carried by the loop "i"}}
    nest.for "i" %i = 0 to 6 {
      %v = nest.load %a[%o, %i] : memref<8x6xi64>
      // expected-note @below {{updates "t" in an earlier iteration and updates it again in a later one}}
      nest.accumulate "t" add %v, %t[] order(atomic) : memref<i64, 5 : i64>
    }
    %r = nest.load %t[] : memref<i64, 5 : i64>
    nest.store "c" %r, %c[%o] : memref<8xi64>
  }
  func.return
}

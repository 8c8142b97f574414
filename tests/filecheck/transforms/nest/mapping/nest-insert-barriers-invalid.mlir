// A barrier that has no place, or the wrong one, is refused; so is a kernel with operations that may touch anything.
// RUN: opt-tool %s -p nest-insert-barriers --split-input-file --verify-diagnostics

// The last tile is not full: its threads along y are fewer.
func.func @some_rows(%x: memref<6x4xf32>, %y: memref<6x4xf32>) {
  nest.for "o" %o = 0 to 2 bind "block.x" {
    // expected-note @below {{the loop "v" is not for all threads of the block}}
    nest.for "v" %v = 0 to min(4, 6 - 4 * %o) bind "thread.y" {
      %s = nest.alloc "s" : memref<4xf32>
      nest.for "j" %j = 0 to 4 bind "thread.x" {
        %a = nest.load %x[4 * %o + %v, %j] : memref<6x4xf32>
        nest.store "s" %a, %s[%j] : memref<4xf32>
      }
      // expected-error @below {{cannot insert barriers: threads of the block would wait here for others that do not arrive}}
      nest.for "k" %k = 0 to 4 bind "thread.x" {
        %a = nest.load %s[3 - %k] : memref<4xf32>
        nest.store "y" %a, %y[4 * %o + %v, %k] : memref<6x4xf32>
      }
    }
  }
  func.return
}

// -----

// A loop that is longer for some threads than for others: no place at its end.
func.func @triangle(%x: memref<4x4xf32>, %y: memref<4x4xf32>) {
  nest.for "v" %v = 0 to 4 bind "thread.y" {
    // expected-error @below {{cannot insert barriers: threads of the block would wait here for others that do not arrive}}
    // expected-note @below {{the loop "i" is not for all threads of the block}}
    nest.for "i" %i = 1 to %v {
      nest.for "j" %j = 0 to 4 bind "thread.x" {
        %a = nest.load %x[%v, %j] : memref<4x4xf32>
        nest.store "y" %a, %y[%v, (%j + %i) mod 4] : memref<4x4xf32>
      }
    }
  }
  func.return
}

// -----

// A branch that differs between threads, with a barrier in it that is there already.
func.func @branch(%c: memref<4xi1>, %y: memref<4x4xf32>) {
  %zero = arith.constant 0.0 : f32
  nest.for "v" %v = 0 to 4 bind "thread.y" {
    %b = nest.load %c[%v] : memref<4xi1>
    // expected-note @below {{this branch is not for all threads of the block}}
    nest.if %b {
      nest.for "j" %j = 0 to 4 bind "thread.x" {
        nest.store "y" %zero, %y[%v, %j] : memref<4x4xf32>
      }
      // expected-error @below {{cannot insert barriers: threads of the block would wait here for others that do not arrive}}
      nest.barrier
    }
  }
  func.return
}

// -----

func.func @inside_of_threads(%y: memref<8x8xf32>) {
  %zero = arith.constant 0.0 : f32
  nest.for "o" %o = 0 to 8 bind "block.x" {
    // expected-note @below {{threads of a block do this without waiting for each other}}
    nest.for "t" %t = 0 to 8 bind "thread.x" {
      nest.store "y" %zero, %y[%o, %t] : memref<8x8xf32>
      // expected-error @below {{cannot insert barriers: this one is not between loops over threads}}
      nest.barrier
    }
  }
  func.return
}

// -----

func.func @unknown(%y: memref<8xf32>) {
  %zero = arith.constant 0.0 : f32
  // expected-note @below {{in the kernel of the loop "o"}}
  nest.for "o" %o = 0 to 1 bind "block.x" {
    nest.for "t" %t = 0 to 8 bind "thread.x" {
      nest.store "y" %zero, %y[%t] : memref<8xf32>
    }
    // expected-error @below {{cannot insert barriers: what "test.op" reads and writes is not known}}
    "test.op"(%y) : (memref<8xf32>) -> ()
    nest.for "u" %u = 0 to 8 bind "thread.x" {
      nest.store "y" %zero, %y[7 - %u] : memref<8xf32>
    }
  }
  func.return
}

// -----

// Lanes share the iterations of a loop by shuffles only: this was a reduction when the loop was bound.
func.func @no_reduction(%x: memref<32xf32>, %s: memref<f32>) {
  // expected-error @below {{cannot insert barriers around the loop "l": an anti dependence on "s" is carried by the loop "l"}}
  nest.for "l" %l = 0 to 32 bind "lane" {
    %a = nest.load %x[%l] : memref<32xf32>
    // expected-note @below {{reads "s" in an earlier iteration of "l"}}
    %old = nest.load %s[] : memref<f32>
    %new = arith.addf %old, %a : f32
    // expected-note @below {{writes the same element in a later one}}
    nest.store "s" %new, %s[] : memref<f32>
  }
  func.return
}

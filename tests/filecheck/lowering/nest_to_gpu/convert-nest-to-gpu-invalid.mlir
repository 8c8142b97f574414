// What no kernel can do is refused with the loop or statement at fault.
// RUN: opt-tool %s -p convert-nest-to-gpu --split-input-file --verify-diagnostics

func.func @axis_twice(%y: memref<4x4xf32>) {
  %zero = arith.constant 0.0 : f32
  nest.for "i" %i = 0 to 4 bind "thread.x" {
    // expected-error @below {{the loop "j" is bound to thread.x, and so is a loop around it}}
    nest.for "j" %j = 0 to 4 bind "thread.x" {
      nest.store "y" %zero, %y[%i, %j] : memref<4x4xf32>
    }
  }
  func.return
}

// -----

func.func @blocks_inside_threads(%y: memref<4x4xf32>) {
  %zero = arith.constant 0.0 : f32
  nest.for "i" %i = 0 to 4 bind "thread.x" {
    // expected-error @below {{the loop "j" is bound to block.x inside a loop over threads}}
    nest.for "j" %j = 0 to 4 bind "block.x" {
      nest.store "y" %zero, %y[%i, %j] : memref<4x4xf32>
    }
  }
  func.return
}

// -----

func.func @unknown_number_of_threads(%y: memref<?xf32>) {
  %zero = arith.constant 0.0 : f32
  %c0 = arith.constant 0 : index
  %n = memref.dim %y, %c0 : memref<?xf32>
  // expected-error @below {{the loop "i" is bound to thread.x, but its extent is not a constant}}
  nest.for "i" %i = 0 to %n bind "thread.x" {
    nest.store "y" %zero, %y[%i] : memref<?xf32>
  }
  func.return
}

// -----

func.func @grid_from_inside(%y: memref<4x4xf32>) {
  %zero = arith.constant 0.0 : f32
  nest.for "i" %i = 0 to 4 bind "block.y" {
    // expected-error @below {{the loop "j" is bound to block.x, but its extent is not known before the launch}}
    nest.for "j" %j = 0 to %i bind "block.x" {
      nest.store "y" %zero, %y[%i, %j] : memref<4x4xf32>
    }
  }
  func.return
}

// -----

func.func @too_many_threads(%y: memref<64x64xf32>) {
  %zero = arith.constant 0.0 : f32
  nest.for "i" %i = 0 to 64 bind "thread.y" {
    // expected-error @below {{a block of 64 x 64 x 1 threads; a block has at most 1024}}
    nest.for "j" %j = 0 to 64 bind "thread.x" {
      nest.store "y" %zero, %y[%i, %j] : memref<64x64xf32>
    }
  }
  func.return
}

// -----

func.func @once_in_every_block(%s: memref<f32>, %y: memref<4x4xf32>) {
  %zero = arith.constant 0.0 : f32
  nest.for "i" %i = 0 to 4 bind "block.y" {
    // expected-error @below {{this is outside the loop bound to block.x: every block would do it}}
    nest.store "s" %zero, %s[] : memref<f32>
    // expected-note @below {{the loop "j"}}
    nest.for "j" %j = 0 to 4 bind "block.x" {
      nest.store "y" %zero, %y[%i, %j] : memref<4x4xf32>
    }
  }
  func.return
}

// -----

func.func @blocks_that_wait(%x: memref<4x4xf32>, %y: memref<4x4xf32>) {
  %zero = arith.constant 0.0 : f32
  nest.for "i" %i = 0 to 4 bind "block.y" {
    nest.for "j" %j = 0 to 4 bind "block.x" {
      nest.store "x" %zero, %x[%i, %j] : memref<4x4xf32>
    }
    // expected-error @below {{the loop "k" is bound to block.x and uses what other blocks of its kernel write}}
    nest.for "k" %k = 0 to 4 bind "block.x" {
      %a = nest.load %x[%i, 3 - %k] : memref<4x4xf32>
      nest.store "y" %a, %y[%i, %k] : memref<4x4xf32>
    }
  }
  func.return
}

// -----

// Only some threads of thread.y are there: the last tile is not full.
func.func @divergent_barrier(%x: memref<6x4xf32>, %y: memref<6x4xf32>) {
  nest.for "o" %o = 0 to 2 bind "block.x" {
    nest.for "v" %v = 0 to min(4, 6 - 4 * %o) bind "thread.y" {
      %s = nest.alloc "s" : memref<4x4xf32>
      nest.for "j" %j = 0 to 4 bind "thread.x" {
        %a = nest.load %x[4 * %o + %v, %j] : memref<6x4xf32>
        nest.store "s" %a, %s[%v, %j] : memref<4x4xf32>
      }
      // expected-error @below {{this needs a barrier of the block where not all of its threads arrive}}
      nest.for "k" %k = 0 to 4 bind "thread.x" {
        %a = nest.load %s[%v, 3 - %k] : memref<4x4xf32>
        nest.store "y" %a, %y[4 * %o + %v, %k] : memref<6x4xf32>
      }
    }
  }
  func.return
}

// -----

func.func @unknown_temporary(%y: memref<?xf32>) {
  %zero = arith.constant 0.0 : f32
  %c0 = arith.constant 0 : index
  %n = memref.dim %y, %c0 : memref<?xf32>
  nest.for "i" %i = 0 to %n bind "block.x" {
    // expected-error @below {{the buffer "t" inside a kernel needs constant extents}}
    %t = nest.alloc "t"(%n) : memref<?xf32>
    nest.store "t" %zero, %t[%i] : memref<?xf32>
  }
  func.return
}

// -----

func.func @marked_for_the_cpu(%y: memref<8xf32>) {
  %zero = arith.constant 0.0 : f32
  // expected-error @below {{the loop "i" is marked parallel, which has no meaning here}}
  nest.for "i" %i = 0 to 8 parallel {
    nest.store "y" %zero, %y[%i] : memref<8xf32>
  }
  func.return
}

// -----

func.func @host_branch_on_an_element(%x: memref<8xi1>, %y: memref<8xf32>) {
  %zero = arith.constant 0.0 : f32
  %c = nest.load %x[0] : memref<8xi1>
  // expected-error @below {{'scf.if' on the host depends on an element of a buffer of the device}}
  scf.if %c {
    nest.store "y" %zero, %y[0] : memref<8xf32>
  }
  func.return
}

// -----

// A buffer that asks for a memory space gets it, or is refused: here all threads of a block would write one variable,
// there each thread fills a part of what the others read.
func.func @shared_by_nobody(%x: memref<8xf32>) {
  nest.for "t" %t = 0 to 8 bind "thread.x" {
    // expected-error @below {{the buffer "u" is to be in shared memory, but here it is that of a thread}}
    %u = nest.alloc "u" : memref<f32, 3>
    %a = nest.load %x[%t] : memref<8xf32>
    nest.store "u" %a, %u[] : memref<f32, 3>
  }
  func.return
}

// -----

func.func @local_to_many(%x: memref<8xf32>) {
  nest.for "b" %b = 0 to 1 bind "block.x" {
    // expected-error @below {{the buffer "u" is to be in local memory, but here it is that of a block}}
    %u = nest.alloc "u" : memref<8xf32, 5>
    nest.for "t" %t = 0 to 8 bind "thread.x" {
      %a = nest.load %x[%t] : memref<8xf32>
      // expected-note @below {{the threads of the loop "t" write different values}}
      nest.store "u" %a, %u[7 - %t] : memref<8xf32, 5>
    }
  }
  func.return
}

// -----

func.func @outside_of_kernels(%x: memref<8xf32>) {
  // expected-error @below {{the buffer "u" is to be in shared memory, but no loop around it is bound}}
  %u = nest.alloc "u" : memref<8xf32, 3>
  nest.for "t" %t = 0 to 8 bind "thread.x" {
    %a = nest.load %x[%t] : memref<8xf32>
    nest.store "u" %a, %u[7 - %t] : memref<8xf32, 3>
  }
  func.return
}

// -----

func.func private @nestor_hand_over.f32.1(memref<?xf32>, memref<2xi64>, index)

func.func @allocates_its_result(%n: index, %out: memref<2xi64>) {
  %t = nest.alloc "t"(%n) : memref<?xf32>
  // expected-error @below {{a result whose extents depend on elements is not made on a GPU}}
  func.call @nestor_hand_over.f32.1(%t, %out, %n) : (memref<?xf32>, memref<2xi64>, index) -> ()
  func.return
}

// Buffers that iterations of a loop cannot each have for themselves, and why.
// RUN: opt-tool %s -p 'nest-sink-alloc{buffer=u loop=i}' --split-input-file --verify-diagnostics

// expected-error @below {{cannot sink the buffer "u" into the loop "i": the caller made it}}
func.func @argument(%u: memref<4xf32>) {
  nest.for "i" %i = 0 to 4 {
  }
  func.return
}

// -----

func.func @there_already() {
  nest.for "i" %i = 0 to 4 {
    // expected-error @below {{cannot sink the buffer "u" into the loop "i": it is made inside of that loop already}}
    %u = nest.alloc "u" : memref<4xf32>
  }
  func.return
}

// -----

func.func @view() {
  // expected-error @below {{cannot sink the buffer "u" into the loop "i": it is not only loaded and stored}}
  %u = nest.alloc "u" : memref<2x2xf32>
  nest.for "i" %i = 0 to 4 {
    // expected-note @below {{it is used here}}
    %v = memref.collapse_shape %u [[0, 1]] : memref<2x2xf32> into memref<4xf32>
  }
  func.return
}

// -----

func.func @used_elsewhere(%x: memref<4xf32>) {
  // expected-error @below {{cannot sink the buffer "u" into the loop "i": it is used outside of the loop as well}}
  %u = nest.alloc "u" : memref<4xf32>
  nest.for "i" %i = 0 to 4 {
    %a = nest.load %x[%i] : memref<4xf32>
    nest.store "u" %a, %u[%i] : memref<4xf32>
  }
  // expected-note @below {{here}}
  %b = nest.load %u[2] : memref<4xf32>
  nest.store "x" %b, %x[0] : memref<4xf32>
  func.return
}

// -----

func.func @unused() {
  // expected-error @below {{cannot sink the buffer "u" into the loop "i": nothing in the loop uses it}}
  %u = nest.alloc "u" : memref<4xf32>
  nest.for "i" %i = 0 to 4 {
  }
  func.return
}

// -----

func.func @handed_on(%x: memref<8xf32>) {
  // expected-error @below {{cannot sink the buffer "u" into the loop "i": an iteration may read what an earlier one wrote}}
  %u = nest.alloc "u" : memref<9xf32>
  nest.for "i" %i = 0 to 8 {
    // expected-note @below {{reads the same element in a later one}}
    %a = nest.load %u[%i] : memref<9xf32>
    // expected-note @below {{writes "u" in an earlier iteration of "i"}}
    nest.store "u" %a, %u[%i + 1] : memref<9xf32>
  }
  func.return
}

// -----

func.func @written_by_some(%x: memref<8xf32>) {
  // expected-error @below {{an iteration may read what an earlier one wrote}}
  %u = nest.alloc "u" : memref<f32>
  nest.for "i" %i = 0 to 8 {
    %a = nest.load %x[%i] : memref<8xf32>
    // expected-note @below {{writes "u" in an earlier iteration of "i"}}
    nest.store "u" %a, %u[] where (%i < 4) : memref<f32>
    // expected-note @below {{reads the same element in a later one}}
    %b = nest.load %u[] : memref<f32>
    nest.store "x" %b, %x[%i] : memref<8xf32>
  }
  func.return
}

// -----

func.func @carried_by_a_loop_around(%x: memref<8xf32>) {
  // expected-error @below {{an iteration may read what an earlier one wrote}}
  %u = nest.alloc "u" : memref<8xf32>
  nest.for "t" %t = 0 to 3 {
    nest.for "i" %i = 0 to 8 {
      // expected-note @below {{reads the same element in a later one}}
      %a = nest.load %u[%i] : memref<8xf32>
      // expected-note @below {{writes "u" in an earlier iteration of "t"}}
      nest.store "u" %a, %u[%i] : memref<8xf32>
    }
  }
  func.return
}

// -----

func.func @lanes(%x: memref<8xf32>) {
  // expected-error @below {{cannot sink the buffer "u" into the loop "i": iterations of a vectorized loop run together}}
  %u = nest.alloc "u" : memref<8xf32>
  // expected-note @below {{the loop "i" is vectorized}}
  nest.for "i" %i = 0 to 8 vectorized(8) {
    %a = nest.load %x[%i] : memref<8xf32>
    nest.store "u" %a, %u[%i] : memref<8xf32>
  }
  func.return
}

// -----

func.func @shared(%x: memref<8xf32>) {
  // expected-error @below {{shared memory is that of a block, and here each thread would have its own}}
  %u = nest.alloc "u" : memref<8xf32, 3 : i64>
  // expected-note @below {{the loop "i" is bound to thread.x}}
  nest.for "i" %i = 0 to 8 bind "thread.x" {
    %a = nest.load %x[%i] : memref<8xf32>
    nest.store "u" %a, %u[%i] : memref<8xf32, 3 : i64>
  }
  func.return
}

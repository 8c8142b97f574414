// Buffers that cannot be filled one iteration ahead, and why.
// RUN: opt-tool %s -p 'nest-double-buffer{buffer=u loop=i}' --split-input-file --verify-diagnostics

// expected-error @below {{cannot double the buffer "u" in the loop "i": the caller made it}}
func.func @argument(%u: memref<4xf32>) {
  nest.for "i" %i = 0 to 4 {
  }
  func.return
}

// -----

func.func @elsewhere() {
  // expected-error @below {{cannot double the buffer "u" in the loop "i": it is not made directly in that loop}}
  %u = nest.alloc "u" : memref<4xf32>
  // expected-note @below {{the loop is here}}
  nest.for "i" %i = 0 to 4 {
  }
  func.return
}

// -----

func.func @parallel() {
  // expected-error @below {{cannot double-buffer the loop "i": it is parallel already}}
  nest.for "i" %i = 0 to 4 parallel {
    %u = nest.alloc "u" : memref<4xf32>
  }
  func.return
}

// -----

func.func @starts(%n: index, %m: index) {
  // expected-error @below {{cannot double-buffer the loop "i": its lower bound is a max of several expressions}}
  nest.for "i" %i = max(%n, %m) to 100 {
    %u = nest.alloc "u" : memref<4xf32>
  }
  func.return
}

// -----

func.func @ends(%n: index, %m: index) {
  // expected-error @below {{cannot double-buffer the loop "i": its upper bound is a min of several expressions}}
  nest.for "i" %i = 0 to min(%n, %m) {
    %u = nest.alloc "u" : memref<4xf32>
  }
  func.return
}

// -----

func.func @can_fail(%n: index, %x: memref<?xf32>) {
  nest.for "i" %i = 0 to 10 {
    // expected-error @below {{the loop can fail, and the copy would run before that}}
    %u = nest.alloc "u" : memref<f32>
    // expected-note @below {{this check can fail}}
    %k = nest.index %i of %n axis 0 of "x"
    %a = nest.load %x[%k] : memref<?xf32>
    nest.store "u" %a, %u[] : memref<f32>
  }
  func.return
}

// -----

func.func @extent_of_the_iteration(%n: index) {
  // expected-note @below {{the extent comes from here}}
  nest.for "i" %i = 0 to %n {
    // expected-error @below {{its extent is not known before the loop}}
    %u = nest.alloc "u"(%i) : memref<?xf32>
  }
  func.return
}

// -----

func.func @too_large(%x: memref<4x8192xf32>) {
  nest.for "i" %i = 0 to 4 {
    // expected-error @below {{it takes 65536 bytes, a block has 49152 bytes of shared memory}}
    %u = nest.alloc "u" : memref<8192xf32, 3 : i64>
  }
  func.return
}

// -----

func.func @not_filled() {
  nest.for "i" %i = 0 to 4 {
    // expected-error @below {{cannot double the buffer "u" in the loop "i": nothing in the loop stores to it}}
    %u = nest.alloc "u" : memref<4xf32>
  }
  func.return
}

// -----

func.func @written_later(%x: memref<4xf32>) {
  nest.for "i" %i = 0 to 4 {
    // expected-error @below {{cannot double the buffer "u" in the loop "i": it is written after it was read}}
    %u = nest.alloc "u" : memref<f32>
    %a = nest.load %x[%i] : memref<4xf32>
    nest.store "u" %a, %u[] : memref<f32>
    // expected-note @below {{read here}}
    %b = nest.load %u[] : memref<f32>
    // expected-note @below {{written here}}
    nest.store "u" %b, %u[] : memref<f32>
  }
  func.return
}

// -----

func.func @does_more(%x: memref<4x4xf32>, %y: memref<4xf32>) {
  nest.for "i" %i = 0 to 4 {
    // expected-error @below {{cannot double the buffer "u" in the loop "i": what stores to it does more than copy}}
    %u = nest.alloc "u" : memref<4xf32>
    nest.for "j" %j = 0 to 4 {
      %a = nest.load %x[%i, %j] : memref<4x4xf32>
      nest.store "u" %a, %u[%j] : memref<4xf32>
      // expected-note @below {{this operation would run an iteration ahead}}
      nest.accumulate "y" add %a, %y[%i] : memref<4xf32>
    }
  }
  func.return
}

// -----

func.func @source_is_written(%x: memref<9xf32>) {
  nest.for "i" %i = 0 to 8 {
    // expected-error @below {{the loop writes what is copied, and the copy of the next iteration would come before that}}
    %u = nest.alloc "u" : memref<f32>
    // expected-note @below {{copies from "x"}}
    %a = nest.load %x[%i] : memref<9xf32>
    nest.store "u" %a, %u[] : memref<f32>
    %b = nest.load %u[] : memref<f32>
    // expected-note @below {{which this may write}}
    nest.store "x" %b, %x[%i + 1] : memref<9xf32>
  }
  func.return
}

// Buffers that cannot be made before a loop, and why.
// RUN: opt-tool %s -p 'nest-hoist-alloc{buffer=u loop=i}' --split-input-file --verify-diagnostics

// expected-error @below {{cannot hoist the buffer "u" out of the loop "i": the caller made it}}
func.func @argument(%u: memref<4xf32>) {
  nest.for "i" %i = 0 to 4 {
  }
  func.return
}

// -----

func.func @elsewhere(%y: memref<4xf32>) {
  // expected-error @below {{cannot hoist the buffer "u" out of the loop "i": it is not made inside of that loop}}
  %u = nest.alloc "u" : memref<4xf32>
  // expected-note @below {{the loop is here}}
  nest.for "i" %i = 0 to 4 {
  }
  func.return
}

// -----

func.func @parallel(%y: memref<4xf32>) {
  %zero = arith.constant 0.0 : f32
  // expected-note @below {{the loop "i" is parallel}}
  nest.for "i" %i = 0 to 4 parallel {
    // expected-error @below {{cannot hoist the buffer "u" out of the loop "i": iterations that run at the same time would share it}}
    %u = nest.alloc "u" : memref<f32>
    nest.store "u" %zero, %u[] : memref<f32>
  }
  func.return
}

// -----

func.func @bound_between(%y: memref<4xf32>) {
  %zero = arith.constant 0.0 : f32
  nest.for "i" %i = 0 to 4 {
    // expected-note @below {{the loop "t" is bound to thread.x}}
    nest.for "t" %t = 0 to 4 bind "thread.x" {
      // expected-error @below {{iterations that run at the same time would share it}}
      %u = nest.alloc "u" : memref<f32>
      nest.store "u" %zero, %u[] : memref<f32>
    }
  }
  func.return
}

// -----

func.func @extent_of_the_iteration(%n: index, %x: memref<?xindex>) {
  %one = arith.constant 1 : index
  // expected-note @below {{the extent comes from here}}
  nest.for "i" %i = 0 to %n {
    %m = arith.addi %i, %one : index
    // expected-error @below {{cannot hoist the buffer "u" out of the loop "i": its extent is not known before the loop}}
    %u = nest.alloc "u"(%m) : memref<?xf32>
  }
  func.return
}

// -----

func.func @extent_that_is_read(%n: index, %x: memref<?xindex>) {
  nest.for "i" %i = 0 to %n {
    // expected-note @below {{the extent comes from here}}
    %m = nest.load %x[0] : memref<?xindex>
    // expected-error @below {{its extent is not known before the loop}}
    %u = nest.alloc "u"(%m) : memref<?xf32>
  }
  func.return
}

// -----

func.func @lanes(%x: memref<8xf32>, %y: memref<8xf32>) {
  // expected-note @below {{the loop "i" is vectorized}}
  nest.for "i" %i = 0 to 8 vectorized(8) {
    // expected-error @below {{iterations that run at the same time would share it}}
    %u = nest.alloc "u" : memref<1xf32>
    %a = nest.load %x[%i] : memref<8xf32>
    nest.store "u" %a, %u[0] : memref<1xf32>
    %b = nest.load %u[0] : memref<1xf32>
    nest.store "y" %b, %y[%i] : memref<8xf32>
  }
  func.return
}

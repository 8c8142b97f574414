// Nothing can be moved: the reasons are told.
// RUN: opt-tool %s -p 'nest-hoist{loop=k}' --split-input-file --verify-diagnostics

func.func @nothing(%x: f32, %y: memref<8xf32>) {
  // expected-error @below {{cannot hoist from the loop "k": nothing directly in it can be moved}}
  nest.for "k" %k = 0 to 8 {
    nest.store "y" %x, %y[%k] : memref<8xf32>
  }
  func.return
}

// -----

func.func @written(%y: memref<8xf32>) {
  // expected-error @below {{cannot hoist from the loop "k": nothing directly in it can be moved}}
  nest.for "k" %k = 0 to 8 {
    // expected-note @below {{loads an element of "y"}}
    %v = nest.load %y[0] : memref<8xf32>
    // expected-note @below {{which this may write}}
    nest.store "y" %v, %y[%k] : memref<8xf32>
  }
  func.return
}

// -----

func.func @outside(%n: index, %i: index, %x: memref<?xf32>, %y: memref<?xf32>) {
  // expected-error @below {{cannot hoist from the loop "k": nothing directly in it can be moved}}
  nest.for "k" %k = 0 to %n {
    // expected-note @below {{this load does not always run, and the element may be out of bounds}}
    %v = nest.load %x[%i] : memref<?xf32>
    nest.store "y" %v, %y[%k] : memref<?xf32>
  }
  func.return
}

// -----

func.func @unwritten(%n: index, %o: memref<8xf32> {nest.role = "out"}, %y: memref<?xf32>) {
  %t = nest.alloc "t" : memref<8xf32>
  // expected-error @below {{cannot hoist from the loop "k": nothing directly in it can be moved}}
  nest.for "k" %k = 0 to %n {
    // expected-note @below {{this load does not always run, and the element may not have been written}}
    %v = nest.load %t[2] : memref<8xf32>
    // expected-note @below {{this load does not always run, and the element may not have been written}}
    %w = nest.load %o[2] : memref<8xf32>
    %s = arith.addf %v, %w : f32
    nest.store "y" %s, %y[%k] : memref<?xf32>
  }
  func.return
}

// -----

func.func @division(%n: index, %a: i64, %b: i64, %y: memref<?xi64>) {
  // expected-error @below {{cannot hoist from the loop "k": nothing directly in it can be moved}}
  nest.for "k" %k = 0 to %n {
    // expected-note @below {{this division does not always run, and the divisor may be zero}}
    %q = arith.divsi %a, %b : i64
    nest.store "y" %q, %y[%k] : memref<?xi64>
  }
  func.return
}

// -----

func.func @alias(%x: memref<8xf32> {nest.alias_set = 1 : i64}, %y: memref<8xf32> {nest.alias_set = 1 : i64}) {
  // expected-error @below {{cannot hoist from the loop "k": nothing directly in it can be moved}}
  nest.for "k" %k = 0 to 8 {
    // expected-note @below {{loads an element of "x"}}
    %v = nest.load %x[0] : memref<8xf32>
    // expected-note @below {{which this may write}}
    nest.store "y" %v, %y[%k] : memref<8xf32>
  }
  func.return
}

// -----

func.func @bound(%x: memref<8xf32>, %y: memref<8xf32>) {
  // expected-error @below {{cannot hoist from the loop "k": it is bound to thread.x already}}
  nest.for "k" %k = 0 to 8 bind "thread.x" {
    %v = nest.load %x[0] : memref<8xf32>
    nest.store "y" %v, %y[%k] : memref<8xf32>
  }
  func.return
}

// What cannot be known ahead, or is never read that late, is not fetched: the reason is given.
// RUN: opt-tool %s --split-input-file --verify-diagnostics -p 'nest-prefetch{loop=i buffer=x distance=8}'
// RUN: not opt-tool %s --split-input-file -p 'nest-prefetch{loop=i buffer=x distance=0}' 2>&1 | filecheck %s
// RUN: not opt-tool %s --split-input-file -p 'nest-prefetch{loop=i buffer=x distance=1048577}' 2>&1 | filecheck %s

// CHECK: error: cannot prefetch "x" in the loop "i": the distance is a number of iterations from 1 to 1048576

func.func @together(%x: memref<?xf32>, %y: memref<?xf32>) {
  // expected-error @below {{cannot prefetch "x" in the loop "i": its iterations run together}}
  nest.for "i" %i = 0 to 16 vectorized(16) {
    %a = nest.load %x[%i] : memref<?xf32>
    nest.store "y" %a, %y[%i] : memref<?xf32>
  }
  func.return
}

// -----

func.func @threads(%x: memref<?xf32>, %y: memref<?xf32>) {
  // expected-error @below {{cannot prefetch "x" in the loop "i": its iterations run together}}
  nest.for "i" %i = 0 to 16 bind "thread.x" {
    %a = nest.load %x[%i] : memref<?xf32>
    nest.store "y" %a, %y[%i] : memref<?xf32>
  }
  func.return
}

// -----

func.func @own(%y: memref<?xf32>, %n: index) {
  // expected-error @below {{cannot prefetch "x" in the loop "i": each iteration makes a buffer of its own}}
  nest.for "i" %i = 0 to %n {
    // expected-note @below {{the buffer is made here}}
    %x = nest.alloc "x" : memref<64xf32>
    %a = nest.load %x[%i] : memref<64xf32>
    nest.store "y" %a, %y[%i] : memref<?xf32>
  }
  func.return
}

// -----

func.func @shared(%y: memref<?xf32>, %n: index) {
  %x = nest.alloc "x" : memref<64xf32, 3 : i64>
  // expected-error @below {{cannot prefetch "x" in the loop "i": it lies in the memory of a kernel, which is no slower than a cache}}
  nest.for "i" %i = 0 to %n {
    %a = nest.load %x[%i] : memref<64xf32, 3 : i64>
    nest.store "y" %a, %y[%i] : memref<?xf32>
  }
  func.return
}

// -----

func.func @short(%x: memref<?xf32>, %y: memref<?xf32>) {
  // expected-error @below {{cannot prefetch "x" in the loop "i": the loop has 8 iterations, none is 8 after another}}
  nest.for "i" %i = 0 to 8 {
    %a = nest.load %x[%i] : memref<?xf32>
    nest.store "y" %a, %y[%i] : memref<?xf32>
  }
  func.return
}

// -----

func.func @accumulated(%x: memref<?xf32>, %y: memref<?xf32>, %n: index) {
  // expected-error @below {{cannot prefetch "x" in the loop "i": nothing there loads from it or stores to it}}
  nest.for "i" %i = 0 to %n {
    %a = nest.load %y[%i] : memref<?xf32>
    nest.accumulate "x" add %a, %x[%i] : memref<?xf32>
  }
  func.return
}

// -----

func.func @unknown(%x: memref<?xf32>, %k: memref<?xindex>, %y: memref<?xf32>, %n: index) {
  // expected-error @below {{cannot prefetch "x" in the loop "i": what later iterations access is not known ahead}}
  nest.for "i" %i = 0 to %n {
    // expected-note @below {{it loads one element in all iterations}}
    %a = nest.load %x[0] : memref<?xf32>
    %j = nest.load %k[%i] : memref<?xindex>
    // expected-note @below {{its index is computed inside of the loop}}
    %b = nest.load %x[%j + %i] : memref<?xf32>
    %c = arith.addf %a, %b : f32
    nest.accumulate "y" custom %c, %y[0] {
    ^bb0(%old: f32, %new: f32):
      // expected-note @below {{it belongs to the combiner of a reduction}}
      %d = nest.load %x[%i] : memref<?xf32>
      %e = arith.addf %old, %d : f32
      nest.yield %e : f32
    } : memref<?xf32>
  }
  func.return
}

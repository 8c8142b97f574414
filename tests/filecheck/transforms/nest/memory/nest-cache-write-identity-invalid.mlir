// Buffers whose copy cannot start from the identity of a reduction, and why.
// RUN: opt-tool %s -p 'nest-cache-write{buffer=y loop=i init=identity}' --split-input-file --verify-diagnostics
// RUN: not opt-tool %s -p 'nest-cache-write{buffer=y loop=i init=zero}' 2>&1 | filecheck %s

// CHECK: error: {{.*}}init

func.func @stored(%x: memref<8xf32>, %y: memref<8xf32>) {
  // expected-error @below {{only a buffer that is nothing but accumulated into can start from an identity}}
  nest.for "i" %i = 0 to 8 {
    %a = nest.load %x[%i] : memref<8xf32>
    // expected-note @below {{writes "y"}}
    nest.store "y" %a, %y[%i] : memref<8xf32>
  }
  func.return
}

// -----

func.func @read(%x: memref<8xf32>, %y: memref<f32>) {
  // expected-error @below {{only a buffer that is nothing but accumulated into can start from an identity}}
  nest.for "i" %i = 0 to 8 {
    %a = nest.load %x[%i] : memref<8xf32>
    nest.accumulate "y" add %a, %y[] : memref<f32>
    // expected-note @below {{reads "y"}}
    %b = nest.load %y[] : memref<f32>
    nest.store "x" %b, %x[%i] : memref<8xf32>
  }
  func.return
}

// -----

func.func @ordered(%x: memref<8xf32>, %y: memref<f32>) {
  // expected-error @below {{the reduction's order is sequential}}
  nest.for "i" %i = 0 to 8 {
    %a = nest.load %x[%i] : memref<8xf32>
    // expected-note @below {{it is here}}
    nest.accumulate "y" add %a, %y[] order(sequential) : memref<f32>
  }
  func.return
}

// -----

func.func @custom(%x: memref<8xf32>, %y: memref<f32>) {
  // expected-error @below {{the custom combiner states no identity}}
  nest.for "i" %i = 0 to 8 {
    %a = nest.load %x[%i] : memref<8xf32>
    // expected-note @below {{it is here}}
    nest.accumulate "y" custom %a, %y[] {
    ^bb0(%old: f32, %new: f32):
      %c = arith.subf %old, %new : f32
      nest.yield %c : f32
    } : memref<f32>
  }
  func.return
}

// -----

func.func @different(%x: memref<8xf32>, %y: memref<f32>) {
  // expected-error @below {{it is accumulated into by different combiners}}
  nest.for "i" %i = 0 to 8 {
    %a = nest.load %x[%i] : memref<8xf32>
    // expected-note @below {{one is here}}
    nest.accumulate "y" add %a, %y[] : memref<f32>
    // expected-note @below {{another one is here}}
    nest.accumulate "y" maximum %a, %y[] : memref<f32>
  }
  func.return
}

// -----

func.func @unwritten(%x: memref<8xf32>) {
  %zero = arith.constant 0.0 : f32
  // expected-note @below {{it is made here}}
  %y = nest.alloc "y" : memref<8xf32>
  nest.for "k" %k = 0 to 4 {
    nest.store "y" %zero, %y[2 * %k] : memref<8xf32>
  }
  // expected-error @below {{elements that the loop may not write would be written back, and they may never have been written}}
  nest.for "i" %i = 0 to 8 {
    nest.for "j" %j = 0 to 4 {
      %a = nest.load %x[%i] : memref<8xf32>
      nest.accumulate "y" add %a, %y[2 * %j] : memref<8xf32>
    }
  }
  func.return
}

// -----

// Sums of complex numbers are written as two before anything starts from their identity.
func.func @complex(%x: memref<8xcomplex<f32>>, %y: memref<8xcomplex<f32>>) {
  nest.for "i" %i = 0 to 8 {
    %a = nest.load %x[%i] : memref<8xcomplex<f32>>
    // expected-error @below {{the combiner 'add' of complex<f32> has no identity here}}
    nest.accumulate "y" add %a, %y[%i] : memref<8xcomplex<f32>>
  }
  func.return
}

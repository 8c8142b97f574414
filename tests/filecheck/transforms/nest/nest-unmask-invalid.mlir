// Conditions stay that keep elements that are read, buffers of others, and elements outside of buffers.
// RUN: opt-tool %s -p 'nest-unmask{loop=i}' --split-input-file --verify-diagnostics

func.func @no_domain(%y: memref<8xf32>) {
  %zero = arith.constant 0.0 : f32
  // expected-error @below {{cannot unmask the loop "i": no statement in it has a domain}}
  nest.for "i" %i = 0 to 8 {
    nest.store "y" %zero, %y[%i] : memref<8xf32>
  }
  func.return
}

// -----

func.func @read(%y: memref<8xf32>) {
  %zero = arith.constant 0.0 : f32
  %one = arith.constant 1.0 : f32
  %s = nest.alloc "s" : memref<8xf32>
  nest.for "f" %f = 0 to 8 {
    nest.store "s" %one, %s[%f] : memref<8xf32>
  }
  // expected-error @below {{cannot unmask the loop "i": what its statements would do outside of their domains is not proved to be of no consequence}}
  nest.for "i" %i = 0 to 8 {
    // expected-note @below {{this statement, say}}
    nest.store "s" %zero, %s[%i] where (%i < 5) : memref<8xf32>
  }
  nest.for "j" %j = 0 to 8 {
    %a = nest.load %s[%j] : memref<8xf32>
    nest.store "y" %a, %y[%j] : memref<8xf32>
  }
  func.return
}

// -----

func.func @of_the_caller(%y: memref<8xf32>) {
  %zero = arith.constant 0.0 : f32
  // expected-error @below {{is not proved to be of no consequence}}
  nest.for "i" %i = 0 to 8 {
    // expected-note @below {{this statement, say}}
    nest.store "y" %zero, %y[%i] where (%i < 5) : memref<8xf32>
  }
  func.return
}

// -----

func.func @outside() {
  %zero = arith.constant 0.0 : f32
  %s = nest.alloc "s" : memref<5xf32>
  // expected-error @below {{is not proved to be of no consequence}}
  nest.for "i" %i = 0 to 8 {
    // expected-note @below {{this statement, say}}
    nest.store "s" %zero, %s[%i] where (%i < 5) : memref<5xf32>
  }
  func.return
}

// -----

// What is stored would be loaded from outside of its buffer.
func.func @loaded_outside(%x: memref<5xf32>) {
  %s = nest.alloc "s" : memref<8xf32>
  // expected-error @below {{is not proved to be of no consequence}}
  nest.for "i" %i = 0 to 8 {
    %a = nest.load %x[%i] : memref<5xf32>
    // expected-note @below {{this statement, say}}
    nest.store "s" %a, %s[%i] where (%i < 5) : memref<8xf32>
  }
  func.return
}

// -----

// No iteration of the loop may set the register that is stored.
func.func @never_set(%x: memref<?xf32>, %n: index) {
  %s = nest.alloc "s" : memref<1xf32>
  %r = nest.alloc "r" : memref<f32, 5 : i64>
  // expected-error @below {{is not proved to be of no consequence}}
  nest.for "i" %i = 0 to 1 {
    nest.for "j" %j = 0 to %n {
      %a = nest.load %x[%j] : memref<?xf32>
      nest.store "r" %a, %r[] : memref<f32, 5 : i64>
    }
    %b = nest.load %r[] : memref<f32, 5 : i64>
    // expected-note @below {{this statement, say}}
    nest.store "s" %b, %s[%i] where (%n >= 1) : memref<1xf32>
  }
  func.return
}

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

// -----

// Of the elements that would be loaded some are never set: those from %n on.
func.func @set_in_part(%x: memref<?xf32>, %y: memref<?xf32>) {
  %c0 = arith.constant 0 : index
  %n = memref.dim %x, %c0 : memref<?xf32>
  nest.for "o" %o = 0 to %n ceildiv 8 {
    %r = nest.alloc "r" : memref<8xf32>
    %s = nest.alloc "s" : memref<8xf32>
    nest.for "f" %f = 0 to min(8, %n - 8 * %o) {
      %a = nest.load %x[8 * %o + %f] : memref<?xf32>
      nest.store "r" %a, %r[%f] : memref<8xf32>
    }
    // expected-error @below {{is not proved to be of no consequence}}
    nest.for "i" %i = 0 to 8 {
      %a = nest.load %r[%i] : memref<8xf32>
      %b = arith.addf %a, %a : f32
      // expected-note @below {{this statement, say}}
      nest.store "s" %b, %s[%i] where (8 * %o + %i < %n) : memref<8xf32>
    }
    nest.for "j" %j = 0 to min(8, %n - 8 * %o) {
      %a = nest.load %s[%j] : memref<8xf32>
      nest.store "y" %a, %y[8 * %o + %j] : memref<?xf32>
    }
  }
  func.return
}

// -----

// A sum starts from what was never set.
func.func @added_to_nothing(%x: memref<8xf32>, %y: memref<5xf32>) {
  %zero = arith.constant 0.0 : f32
  %s = nest.alloc "s" : memref<8xf32>
  nest.for "f" %f = 0 to 5 {
    nest.store "s" %zero, %s[%f] : memref<8xf32>
  }
  // expected-error @below {{is not proved to be of no consequence}}
  nest.for "i" %i = 0 to 8 {
    %a = nest.load %x[%i] : memref<8xf32>
    // expected-note @below {{this statement, say}}
    nest.accumulate "s" add %a, %s[%i] where (%i < 5) : memref<8xf32>
  }
  nest.for "j" %j = 0 to 5 {
    %a = nest.load %s[%j] : memref<8xf32>
    nest.store "y" %a, %y[%j] : memref<5xf32>
  }
  func.return
}

// -----

// A result holds nothing before the function has set it.
func.func @of_a_result(%y: memref<8xf32> {nest.role = "out"}) {
  %s = nest.alloc "s" : memref<8xf32>
  // expected-error @below {{is not proved to be of no consequence}}
  nest.for "i" %i = 0 to 8 {
    %a = nest.load %y[%i] : memref<8xf32>
    // expected-note @below {{this statement, say}}
    nest.store "s" %a, %s[%i] where (%i < 0) : memref<8xf32>
  }
  func.return
}

// -----

// A load that is needed in a domain only may stand before the loop that the statement is in.
func.func @loaded_before(%x: memref<?xf32>, %n: index) {
  %s = nest.alloc "s" : memref<8xf32>
  // expected-error @below {{is not proved to be of no consequence}}
  nest.for "i" %i = 0 to 2 {
    %a = nest.load %x[%n] : memref<?xf32>
    nest.for "j" %j = 0 to 4 {
      // expected-note @below {{this statement, say}}
      nest.store "s" %a, %s[4 * %i + %j] where (%n < 0) : memref<8xf32>
    }
  }
  func.return
}

// -----

// Where nothing needs the index it may be any number, and that is no error.
func.func @looked_up(%k: memref<8xi64>, %n: i64) {
  %s = nest.alloc "s" : memref<8xi64>
  // expected-error @below {{is not proved to be of no consequence}}
  nest.for "i" %i = 0 to 8 {
    %v = nest.load %k[%i] : memref<8xi64>
    %at = nest.lookup %v of %n axis 0 of "x"
    %a = arith.index_cast %at : index to i64
    // expected-note @below {{this statement, say}}
    nest.store "s" %a, %s[%i] where (%i < 5) : memref<8xi64>
  }
  func.return
}

// -----

// Nothing reads the first buffer, but the second one is the caller's.
func.func @two_buffers(%x: memref<8xf32>, %k: i32, %at: memref<8xi32>) {
  %none = arith.constant 0xFF800000 : f32
  %s = nest.alloc "s" : memref<8xf32>
  nest.for "f" %f = 0 to 8 {
    nest.store "s" %none, %s[%f] : memref<8xf32>
  }
  // expected-error @below {{is not proved to be of no consequence}}
  nest.for "i" %i = 0 to 8 {
    %a = nest.load %x[%i] : memref<8xf32>
    // expected-note @below {{this statement, say}}
    nest.accumulate "best" custom (%a, %k), (%s, %at)[%i] where (%i < 5) identity [0xff800000 : f32, 0 : i32] {
    ^bb0(%old: f32, %old_at: i32, %new: f32, %new_at: i32):
      %later = arith.cmpf ogt, %new, %old : f32
      %best = arith.select %later, %new, %old : f32
      %where = arith.select %later, %new_at, %old_at : i32
      nest.yield %best, %where : f32, i32
    } : memref<8xf32>, memref<8xi32>
  }
  func.return
}

// Splits that a mask on the statements cannot make right: what is not a statement would run in the last iterations too.
// RUN: opt-tool %s -p 'nest-split{loop=i factor=16 tail=mask}' --split-input-file --verify-diagnostics

func.func @check(%x: memref<?xf32>, %m: index, %y: memref<40xf32>) {
  // expected-error @below {{cannot split the loop "i" with a mask: iterations outside of its bounds would check indices that the program does not use}}
  nest.for "i" %i = 0 to 40 {
    // expected-note @below {{this check can fail}}
    %k = nest.index %i of %m axis 0 of "x"
    %v = nest.load %x[%k] : memref<?xf32>
    nest.store "y" %v, %y[%i] : memref<40xf32>
  }
  func.return
}

// -----

func.func @branch(%x: memref<40xf32>, %zero: f32, %y: memref<40xf32>) {
  // expected-error @below {{cannot split the loop "i" with a mask: iterations outside of its bounds would read elements that the program does not, and no domain keeps them from it}}
  nest.for "i" %i = 0 to 40 {
    // expected-note @below {{a branch or a bound depends on this value}}
    %v = nest.load %x[%i] : memref<40xf32>
    %c = arith.cmpf ogt, %v, %zero : f32
    nest.if %c {
      nest.store "y" %v, %y[%i] : memref<40xf32>
    }
  }
  func.return
}

// -----

func.func @bound(%x: memref<40xindex>, %v: f32, %y: memref<?xf32>) {
  // expected-error @below {{cannot split the loop "i" with a mask: iterations outside of its bounds would read elements that the program does not, and no domain keeps them from it}}
  nest.for "i" %i = 0 to 40 {
    // expected-note @below {{a branch or a bound depends on this value}}
    %n = nest.load %x[%i] : memref<40xindex>
    nest.for "j" %j = 0 to %n {
      nest.store "y" %v, %y[%j] : memref<?xf32>
    }
  }
  func.return
}

// -----

func.func @unused(%x: memref<40xf32>, %v: f32, %y: memref<40xf32>) {
  // expected-error @below {{cannot split the loop "i" with a mask: iterations outside of its bounds would read elements that the program does not, and no domain keeps them from it}}
  nest.for "i" %i = 0 to 40 {
    // expected-note @below {{nothing uses this value}}
    %u = nest.load %x[%i] : memref<40xf32>
    nest.store "y" %v, %y[%i] : memref<40xf32>
  }
  func.return
}

// -----

// Nothing is left over: no mask is needed.
func.func @even(%x: memref<32xf32>, %zero: f32, %y: memref<32xf32>) {
  nest.for "i" %i = 0 to 32 {
    %v = nest.load %x[%i] : memref<32xf32>
    %c = arith.cmpf ogt, %v, %zero : f32
    nest.if %c {
      nest.store "y" %v, %y[%i] : memref<32xf32>
    }
  }
  func.return
}

// -----

func.func private @clear(%w: memref<4xf32, strided<[1], offset: ?>>)

func.func @call(%y: memref<40x4xf32>) {
  // expected-error @below {{cannot split the loop "i" with a mask: 'memref.subview' in it would run outside of its bounds as well, and has no domain}}
  nest.for "i" %i = 0 to 40 {
    // expected-note @below {{this is not a statement with a domain}}
    %w = memref.subview %y[%i, 0] [1, 4] [1, 1] : memref<40x4xf32> to memref<4xf32, strided<[1], offset: ?>>
    func.call @clear(%w) : (memref<4xf32, strided<[1], offset: ?>>) -> ()
  }
  func.return
}

// -----

func.func private @again(%w: memref<40xf32>)

func.func @call_of_all(%y: memref<40xf32>) {
  // expected-error @below {{cannot split the loop "i" with a mask: 'func.call' in it would run}}
  nest.for "i" %i = 0 to 40 {
    // expected-note @below {{this is not a statement with a domain}}
    func.call @again(%y) : (memref<40xf32>) -> ()
  }
  func.return
}

// -----

func.func @alloc(%x: memref<40xf32>, %y: memref<40xf32>) {
  %n = arith.constant 40 : index
  // expected-error @below {{cannot split the loop "i" with a mask: 'nest.alloc' in it would run}}
  nest.for "i" %i = 0 to 40 {
    %rest = arith.subi %n, %i : index
    // expected-note @below {{this is not a statement with a domain}}
    %t = nest.alloc "t"(%rest) : memref<?xf32>
    %v = nest.load %x[%i] : memref<40xf32>
    nest.store "t" %v, %t[0] : memref<?xf32>
    %u = nest.load %t[0] : memref<?xf32>
    nest.store "y" %u, %y[%i] : memref<40xf32>
  }
  func.return
}

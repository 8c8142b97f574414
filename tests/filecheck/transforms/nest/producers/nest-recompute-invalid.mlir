// Nests that cannot be done once more for a reader, and why.
// RUN: opt-tool %s -p 'nest-recompute{loops=a,rows}' --split-input-file --verify-diagnostics

func.func @order(%x: memref<8xf32>, %y: memref<8xf32>) {
  %t = nest.alloc "t" : memref<8xf32>
  // expected-note @below {{here}}
  nest.for "rows" %i = 0 to 8 {
    %v = nest.load %t[%i] : memref<8xf32>
    nest.store "y" %v, %y[%i] : memref<8xf32>
  }
  // expected-error @below {{cannot do "a" again for "rows": they are not loops of one block, in this order}}
  nest.for "a" %i = 0 to 8 {
    %v = nest.load %x[%i] : memref<8xf32>
    nest.store "t" %v, %t[%i] : memref<8xf32>
  }
  func.return
}

// -----

func.func @check(%x: memref<8xf32>, %y: memref<8xf32>) {
  %t = nest.alloc "t" : memref<8xf32>
  // expected-error @below {{cannot do "a" again for "rows": its check would be done a second time}}
  nest.for "a" %i = 0 to 8 {
    %c = arith.constant true
    // expected-note @below {{here}}
    cf.assert %c, "no"
    %v = nest.load %x[%i] : memref<8xf32>
    nest.store "t" %v, %t[%i] : memref<8xf32>
  }
  nest.for "rows" %i = 0 to 8 {
    %v = nest.load %t[%i] : memref<8xf32>
    nest.store "y" %v, %y[%i] : memref<8xf32>
  }
  func.return
}

// -----

func.func @call(%x: memref<8xf32>, %y: memref<8xf32>) {
  %t = nest.alloc "t" : memref<8xf32>
  // expected-error @below {{cannot do "a" again for "rows": it does something else than to compute, load and write}}
  nest.for "a" %i = 0 to 8 {
    // expected-note @below {{here}}
    "test.op"() : () -> ()
    %v = nest.load %x[%i] : memref<8xf32>
    nest.store "t" %v, %t[%i] : memref<8xf32>
  }
  nest.for "rows" %i = 0 to 8 {
    %v = nest.load %t[%i] : memref<8xf32>
    nest.store "y" %v, %y[%i] : memref<8xf32>
  }
  func.return
}

// -----

func.func @argument(%x: memref<8xf32>, %y: memref<8xf32>, %z: memref<8xf32>) {
  // expected-error @below {{cannot do "a" again for "rows": it writes a buffer that is not made in the same block}}
  nest.for "a" %i = 0 to 8 {
    %v = nest.load %x[%i] : memref<8xf32>
    // expected-note @below {{here}}
    nest.store "z" %v, %z[%i] : memref<8xf32>
  }
  nest.for "rows" %i = 0 to 8 {
    %v = nest.load %z[%i] : memref<8xf32>
    nest.store "y" %v, %y[%i] : memref<8xf32>
  }
  func.return
}

// -----

func.func @view(%x: memref<8xf32>, %y: memref<8xf32>) {
  %t = nest.alloc "t" : memref<8xf32>
  // expected-note @below {{here}}
  %w = memref.collapse_shape %t [[0]] : memref<8xf32> into memref<8xf32>
  // expected-error @below {{cannot do "a" again for "rows": "t" is used by an operation other than loads and statements}}
  nest.for "a" %i = 0 to 8 {
    %v = nest.load %x[%i] : memref<8xf32>
    nest.store "t" %v, %t[%i] : memref<8xf32>
  }
  nest.for "rows" %i = 0 to 8 {
    %v = nest.load %t[%i] : memref<8xf32>
    nest.store "y" %v, %y[%i] : memref<8xf32>
  }
  func.return
}

// -----

func.func @other_writer(%x: memref<8xf32>, %y: memref<8xf32>) {
  %t = nest.alloc "t" : memref<8xf32>
  // expected-error @below {{cannot do "a" again for "rows": "t" is written by something else, too}}
  nest.for "a" %i = 0 to 8 {
    %v = nest.load %x[%i] : memref<8xf32>
    nest.store "t" %v, %t[%i] : memref<8xf32>
  }
  nest.for "b" %i = 0 to 1 {
    %v = nest.load %x[%i] : memref<8xf32>
    // expected-note @below {{here}}
    nest.store "t" %v, %t[%i] : memref<8xf32>
  }
  nest.for "rows" %i = 0 to 8 {
    %v = nest.load %t[%i] : memref<8xf32>
    nest.store "y" %v, %y[%i] : memref<8xf32>
  }
  func.return
}

// -----

func.func @unread(%x: memref<8xf32>, %y: memref<8xf32>) {
  %t = nest.alloc "t" : memref<8xf32>
  // expected-error @below {{cannot do "a" again for "rows": nothing reads what it makes}}
  // expected-note @below {{here}}
  nest.for "a" %i = 0 to 8 {
    %v = nest.load %x[%i] : memref<8xf32>
    nest.store "t" %v, %t[%i] : memref<8xf32>
  }
  nest.for "rows" %i = 0 to 8 {
    %v = nest.load %x[%i] : memref<8xf32>
    nest.store "y" %v, %y[%i] : memref<8xf32>
  }
  func.return
}

// -----

func.func @changed(%x: memref<8xf32>, %y: memref<8xf32>) {
  %t = nest.alloc "t" : memref<8xf32>
  // expected-error @below {{cannot do "a" again for "rows": what it reads may be written before the reader}}
  nest.for "a" %i = 0 to 8 {
    %v = nest.load %x[%i] : memref<8xf32>
    nest.store "t" %v, %t[%i] : memref<8xf32>
  }
  nest.for "b" %i = 0 to 8 {
    %v = nest.load %y[%i] : memref<8xf32>
    // expected-note @below {{here}}
    nest.store "x" %v, %x[%i] : memref<8xf32>
  }
  nest.for "rows" %i = 0 to 8 {
    %v = nest.load %t[%i] : memref<8xf32>
    nest.store "y" %v, %y[%i] : memref<8xf32>
  }
  func.return
}

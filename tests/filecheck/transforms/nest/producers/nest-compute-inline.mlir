// The elements of a buffer are computed where they are read; the buffer and the nest that wrote it are gone.
// RUN: opt-tool %s -p 'nest-compute-inline{buffer=t}' --split-input-file | filecheck %s

// A stencil over symbolic extents: each load computes the element anew, at its own indices.
// CHECK-LABEL: @stencil
// CHECK-NOT: nest.alloc
// CHECK-NOT: nest.for "i"
// CHECK: nest.for "j" [[J:%\S+]] = 1 to %n {
// CHECK-NEXT: [[A:%\S+]] = nest.load %x{{\[}}[[J]] - 1]
// CHECK-NEXT: [[P:%\S+]] = math.exp [[A]] : f32
// CHECK-NEXT: [[B:%\S+]] = nest.load %x{{\[}}[[J]]]
// CHECK-NEXT: [[Q:%\S+]] = math.exp [[B]] : f32
// CHECK-NEXT: arith.addf [[P]], [[Q]]
func.func @stencil(%n: index, %x: memref<?xf32>, %y: memref<?xf32>) {
  %t = nest.alloc "t"(%n) : memref<?xf32>
  nest.for "i" %i = 0 to %n {
    %a = nest.load %x[%i] : memref<?xf32>
    %b = math.exp %a : f32
    nest.store "t" %b, %t[%i] : memref<?xf32>
  }
  nest.for "j" %j = 1 to %n {
    %p = nest.load %t[%j - 1] : memref<?xf32>
    %q = nest.load %t[%j] : memref<?xf32>
    %s = arith.addf %p, %q : f32
    nest.store "y" %s, %y[%j] : memref<?xf32>
  }
  func.return
}

// -----

// Written transposed, from a nonzero bound and shifted; the loop variable itself is a number in the value.
// CHECK-LABEL: @transposed
// CHECK-NOT: nest.store "t"
// CHECK: nest.for "k" [[K:%\S+]] = 0 to 5 {
// CHECK-NEXT: nest.for "l" [[L:%\S+]] = 0 to 7 {
// CHECK-NEXT: [[A:%\S+]] = nest.load %x{{\[}}[[L]] + 2, 4 - [[K]]]
// CHECK: [[I:%\S+]] = arith.addi [[L]], {{%\S+}} : index
// CHECK: arith.index_cast [[I]]
func.func @transposed(%x: memref<9x5xi64>, %y: memref<5x7xi64>) {
  %t = nest.alloc "t" : memref<5x7xi64>
  nest.for "i" %i = 2 to 9 {
    nest.for "j" %j = 0 to 5 {
      %a = nest.load %x[%i, %j] : memref<9x5xi64>
      %v = arith.index_cast %i : index to i64
      %b = arith.addi %a, %v : i64
      nest.store "t" %b, %t[4 - %j, %i - 2] : memref<5x7xi64>
    }
  }
  nest.for "k" %k = 0 to 5 {
    nest.for "l" %l = 0 to 7 {
      %p = nest.load %t[%k, %l] : memref<5x7xi64>
      nest.store "y" %p, %y[%k, %l] : memref<5x7xi64>
    }
  }
  func.return
}

// -----

// The nest writes another buffer as well, which stays; equal loads share one computation; the last block is uneven.
// CHECK-LABEL: @shared
// CHECK: nest.for "i"
// CHECK: nest.store "u"
// CHECK-NOT: nest.store "t"
// CHECK: nest.for "o"
// CHECK-NEXT: nest.for "k" [[K:%\S+]] = 0 to min(4, 10 - 4 * [[O:%\S+]]) {
// CHECK-NEXT: [[A:%\S+]] = nest.load %x[4 * [[O]] + [[K]]]
// CHECK-NEXT: [[B:%\S+]] = arith.muli [[A]], [[A]]
// CHECK-NEXT: arith.addi [[B]], [[B]]
func.func @shared(%x: memref<10xi32>, %u: memref<10xi32>, %y: memref<10xi32>) {
  %c0 = arith.constant 0 : index
  %t = nest.alloc "t" : memref<10xi32>
  nest.for "i" %i = 0 to 10 {
    %a = nest.load %x[%i] : memref<10xi32>
    %b = arith.muli %a, %a : i32
    nest.store "t" %b, %t[%i] : memref<10xi32>
    nest.store "u" %a, %u[%i] : memref<10xi32>
  }
  nest.for "o" %o = 0 to 3 {
    nest.for "k" %k = 0 to min(4, 10 - 4 * %o) {
      %p = nest.load %t[4 * %o + %k] : memref<10xi32>
      %q = nest.load %t[4 * %o + %k] : memref<10xi32>
      %s = arith.addi %p, %q : i32
      nest.store "y" %s, %y[4 * %o + %k] : memref<10xi32>
    }
  }
  func.return
}

// -----

// In one loop already: what was stored in this iteration is at hand, that of an earlier one is computed again.
// CHECK-LABEL: @fused
// CHECK-NOT: nest.alloc
// CHECK: nest.for "i" [[I:%\S+]] = 0 to %n {
// CHECK-NEXT: [[A:%\S+]] = nest.load %x{{\[}}[[I]]]
// CHECK-NEXT: [[B:%\S+]] = math.exp [[A]] : f32
// CHECK-NEXT: nest.store "y" [[B]], %y
// CHECK-NEXT: [[C:%\S+]] = nest.load %x{{\[}}[[I]] - 1]
// CHECK-NEXT: [[D:%\S+]] = math.exp [[C]] : f32
// CHECK-NEXT: nest.store "z" [[D]], %z{{\[}}[[I]]] where ([[I]] >= 1)
func.func @fused(%n: index, %x: memref<?xf32>, %y: memref<?xf32>, %z: memref<?xf32>) {
  %t = nest.alloc "t"(%n) : memref<?xf32>
  nest.for "i" %i = 0 to %n {
    %a = nest.load %x[%i] : memref<?xf32>
    %b = math.exp %a : f32
    nest.store "t" %b, %t[%i] : memref<?xf32>
    %p = nest.load %t[%i] : memref<?xf32>
    nest.store "y" %p, %y[%i] : memref<?xf32>
    %q = nest.load %t[%i - 1] : memref<?xf32>
    nest.store "z" %q, %z[%i] where (%i >= 1) : memref<?xf32>
  }
  func.return
}

// -----

// In place, one element after the other: `x` is read before the same iteration writes it. The extent is known.
// CHECK-LABEL: @in_place
// CHECK-NOT: memref.dim %t
// CHECK: nest.for "j" [[J:%\S+]] = 0 to %n {
// CHECK-NEXT: [[A:%\S+]] = nest.load %x{{\[}}[[J]]]
// CHECK-NEXT: [[B:%\S+]] = arith.negf [[A]]
// CHECK-NEXT: nest.store "x" [[B]], %x{{\[}}[[J]]]
func.func @in_place(%n: index, %x: memref<?xf32>) {
  %c0 = arith.constant 0 : index
  %t = nest.alloc "t"(%n) : memref<?xf32>
  %m = memref.dim %t, %c0 : memref<?xf32>
  nest.for "i" %i = 0 to %n {
    %a = nest.load %x[%i] : memref<?xf32>
    %b = arith.negf %a : f32
    nest.store "t" %b, %t[%i] : memref<?xf32>
  }
  nest.for "j" %j = 0 to %m {
    %p = nest.load %t[%j] : memref<?xf32>
    nest.store "x" %p, %x[%j] : memref<?xf32>
  }
  func.return
}

// -----

// A barrier writes nothing: each thread computes the element that another one did.
// CHECK-LABEL: @barrier
// CHECK-NOT: nest.alloc
// CHECK: nest.for "u" [[U:%\S+]] = 0 to 4 bind "thread.x" {
// CHECK-NEXT: [[A:%\S+]] = nest.load %x[%b, 3 - [[U]]]
// CHECK-NEXT: [[N:%\S+]] = arith.negf [[A]]
// CHECK-NEXT: nest.store "y" [[N]], %y[%b, [[U]]]
func.func @barrier(%n: index, %x: memref<?x4xf32>, %y: memref<?x4xf32>) {
  nest.for "b" %b = 1 to %n bind "block.x" {
    %t = nest.alloc "t" : memref<4xf32, 3>
    nest.for "i" %i = 0 to 4 bind "thread.x" {
      %a = nest.load %x[%b, %i] : memref<?x4xf32>
      %c = arith.negf %a : f32
      nest.store "t" %c, %t[%i] : memref<4xf32, 3>
    }
    nest.barrier
    nest.for "u" %u = 0 to 4 bind "thread.x" {
      %p = nest.load %t[3 - %u] : memref<4xf32, 3>
      nest.store "y" %p, %y[%b, %u] : memref<?x4xf32>
    }
  }
  func.return
}

// -----

// Two statements set an image with a border: a register is zero where the border is.
// CHECK-LABEL: @bordered
// CHECK-NOT:   nest.alloc "t"
// CHECK:       nest.for "j" [[J:%\S+]] = 0 to 16 {
// CHECK-NEXT:    nest.for "k" [[K:%\S+]] = 0 to 3 {
// CHECK-NEXT:      [[A:%\S+]] = nest.load %x{{\[}}[[J]] + [[K]] - 1]
// CHECK-NEXT:      [[E:%\S+]] = nest.alloc "t_element" : memref<f32, 5 : i64>
// CHECK-NEXT:      nest.store "t_element" %zero, [[E]][]
// CHECK-NEXT:      nest.store "t_element" [[A]], [[E]][] where ([[J]] + [[K]] >= 1, [[J]] + [[K]] < 17)
// CHECK-NEXT:      [[P:%\S+]] = nest.load [[E]][]
// CHECK-NEXT:      nest.accumulate "y" add [[P]], %y{{\[}}[[J]]]
func.func @bordered(%x: memref<16xf32>, %y: memref<16xf32>) {
  %zero = arith.constant 0.0 : f32
  %t = nest.alloc "t" : memref<18xf32>
  nest.for "i" %i = 0 to 18 {
    nest.store "t" %zero, %t[%i] : memref<18xf32>
    %a = nest.load %x[%i - 1] : memref<16xf32>
    nest.store "t" %a, %t[%i] where (%i >= 1, %i < 17) : memref<18xf32>
  }
  nest.for "j" %j = 0 to 16 {
    nest.for "k" %k = 0 to 3 {
      %p = nest.load %t[%j + %k] : memref<18xf32>
      nest.accumulate "y" add %p, %y[%j] : memref<16xf32>
    }
  }
  func.return
}

// -----

// What reads it is itself zero outside of a domain: there is one register, with both domains.
// CHECK-LABEL: @copied
// CHECK-NOT:   nest.alloc "t
// CHECK:       nest.store "e" %zero, %e[]
// CHECK-NEXT:  [[A:%\S+]] = nest.load %x[4 * %o + %j - 1]
// CHECK-NEXT:  nest.store "e" [[A]], %e[] where (4 * %o + %j < 18, 4 * %o + %j >= 1, 4 * %o + %j < 17)
// CHECK-NEXT:  [[Q:%\S+]] = nest.load %e[]
func.func @copied(%x: memref<16xf32>, %y: memref<5x4xf32>) {
  %zero = arith.constant 0.0 : f32
  %t = nest.alloc "t" : memref<18xf32>
  nest.for "i" %i = 0 to 18 {
    nest.store "t" %zero, %t[%i] : memref<18xf32>
    %a = nest.load %x[%i - 1] : memref<16xf32>
    nest.store "t" %a, %t[%i] where (%i >= 1, %i < 17) : memref<18xf32>
  }
  nest.for "o" %o = 0 to 5 {
    nest.for "j" %j = 0 to 4 {
      %e = nest.alloc "e" : memref<f32, 5>
      nest.store "e" %zero, %e[] : memref<f32, 5>
      %p = nest.load %t[4 * %o + %j] : memref<18xf32>
      nest.store "e" %p, %e[] where (4 * %o + %j < 18) : memref<f32, 5>
      %q = nest.load %e[] : memref<f32, 5>
      nest.store "y" %q, %y[%o, %j] : memref<5x4xf32>
    }
  }
  func.return
}

// -----

// The register is -0.0 elsewhere, and the border 0.0: they stay apart.
// CHECK-LABEL: @other_zero
// CHECK:       nest.alloc "e"
// CHECK:       nest.alloc "t_element"
func.func @other_zero(%x: memref<16xf32>, %y: memref<5x4xf32>) {
  %zero = arith.constant 0.0 : f32
  %negative = arith.constant -0.0 : f32
  %t = nest.alloc "t" : memref<18xf32>
  nest.for "i" %i = 0 to 18 {
    nest.store "t" %zero, %t[%i] : memref<18xf32>
    %a = nest.load %x[%i - 1] : memref<16xf32>
    nest.store "t" %a, %t[%i] where (%i >= 1, %i < 17) : memref<18xf32>
  }
  nest.for "o" %o = 0 to 5 {
    nest.for "j" %j = 0 to 4 {
      %e = nest.alloc "e" : memref<f32, 5>
      nest.store "e" %negative, %e[] : memref<f32, 5>
      %p = nest.load %t[4 * %o + %j] : memref<18xf32>
      nest.store "e" %p, %e[] where (4 * %o + %j < 18) : memref<f32, 5>
      %q = nest.load %e[] : memref<f32, 5>
      nest.store "y" %q, %y[%o, %j] : memref<5x4xf32>
    }
  }
  func.return
}

// -----

// A view with merged axes is the buffer: its index is taken apart.
// CHECK-LABEL: @merged
// CHECK-NOT:   collapse_shape
// CHECK:       nest.for "k" [[K:%\S+]] = 0 to 32 {
// CHECK-NEXT:    [[A:%\S+]] = nest.load %x{{\[}}[[K]] floordiv 8, [[K]] mod 8 - 1] : memref<4x6xf32>
func.func @merged(%x: memref<4x6xf32>, %y: memref<32xf32>) {
  %zero = arith.constant 0.0 : f32
  %t = nest.alloc "t" : memref<4x8xf32>
  nest.for "i" %i = 0 to 4 {
    nest.for "j" %j = 0 to 8 {
      nest.store "t" %zero, %t[%i, %j] : memref<4x8xf32>
      %a = nest.load %x[%i, %j - 1] : memref<4x6xf32>
      nest.store "t" %a, %t[%i, %j] where (%j >= 1, %j < 7) : memref<4x8xf32>
    }
  }
  %v = memref.collapse_shape %t [[0 : i64, 1 : i64]] : memref<4x8xf32> into memref<32xf32>
  nest.for "k" %k = 0 to 32 {
    %p = nest.load %v[%k] : memref<32xf32>
    nest.store "y" %p, %y[%k] : memref<32xf32>
  }
  func.return
}

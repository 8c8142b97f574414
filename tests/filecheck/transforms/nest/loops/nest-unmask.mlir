// Statements run where nothing is made of what they do as well: conditions that only keep them from that are left out.
// RUN: opt-tool %s -p 'nest-unmask{loop=i}' --split-input-file | filecheck %s

// CHECK-LABEL: @edge
// CHECK: nest.for "i" [[I:%\S+]] = 0 to 8 {
// CHECK-NEXT: nest.store "s" %zero, %s{{\[}}[[I]]] : memref<8xf32>
// CHECK: nest.store "y" %a, %y[8 * %o + %j] where (8 * %o + %j < %n)
func.func @edge(%y: memref<?xf32>) {
  %c0 = arith.constant 0 : index
  %zero = arith.constant 0.0 : f32
  %n = memref.dim %y, %c0 : memref<?xf32>
  nest.for "o" %o = 0 to %n ceildiv 8 {
    %s = nest.alloc "s" : memref<8xf32>
    nest.for "i" %i = 0 to 8 {
      nest.store "s" %zero, %s[%i] where (8 * %o + %i < %n) : memref<8xf32>
    }
    nest.for "j" %j = 0 to 8 {
      %a = nest.load %s[%j] : memref<8xf32>
      nest.store "y" %a, %y[8 * %o + %j] where (8 * %o + %j < %n) : memref<?xf32>
    }
  }
  func.return
}

// -----

// Of two constraints one keeps elements that are read: element 5 is, where %i is 4 (the loop starts at 1).
// CHECK-LABEL: @one_of_two
// CHECK: nest.for "i" [[I:%\S+]] = 1 to 8 {
// CHECK: nest.accumulate "s" add {{%\S+}}, %s{{\[}}[[I]] + 1] where ([[I]] < 4) : memref<9xf32>
func.func @one_of_two(%x: memref<9xf32>, %y: memref<6xf32>) {
  %zero = arith.constant 0.0 : f32
  nest.for "o" %o = 0 to 3 {
    %s = nest.alloc "s" : memref<9xf32>
    nest.for "f" %f = 0 to 9 {
      nest.store "s" %zero, %s[%f] : memref<9xf32>
    }
    nest.for "i" %i = 1 to 8 {
      %a = nest.load %x[%i] : memref<9xf32>
      nest.accumulate "s" add %a, %s[%i + 1] where (%i < 4, %i < 7) : memref<9xf32>
    }
    nest.for "j" %j = 0 to 6 {
      %a = nest.load %s[%j] : memref<9xf32>
      nest.store "y" %a, %y[%j] : memref<6xf32>
    }
  }
  func.return
}

// -----

// A loop of any length over what it fills, as long as it stays in the buffer.
// CHECK-LABEL: @symbolic
// CHECK: nest.for "i" [[I:%\S+]] = 0 to min(%n, 8) {
// CHECK-NEXT: nest.store "s" %zero, %s{{\[}}[[I]]] : memref<8xf32>
func.func @symbolic(%n: index, %y: memref<4xf32>) {
  %zero = arith.constant 0.0 : f32
  %s = nest.alloc "s" : memref<8xf32>
  nest.for "i" %i = 0 to min(%n, 8) {
    nest.store "s" %zero, %s[%i] where (%i < 4) : memref<8xf32>
  }
  nest.for "j" %j = 0 to min(%n, 4) {
    %a = nest.load %s[%j] : memref<8xf32>
    nest.store "y" %a, %y[%j] : memref<4xf32>
  }
  func.return
}

// -----

// What is loaded and what is added to was set before: by two loops, a part by each.
// CHECK-LABEL: @set_by_two
// CHECK: nest.for "i" [[I:%\S+]] = 0 to 8 {
// CHECK-NEXT: nest.load %r{{\[}}[[I]]]
// CHECK-NEXT: nest.accumulate "s" add {{%\S+}}, %s{{\[}}[[I]]] : memref<8xf32>
func.func @set_by_two(%x: memref<8xf32>, %y: memref<?xf32>) {
  %c0 = arith.constant 0 : index
  %zero = arith.constant 0.0 : f32
  %n = memref.dim %y, %c0 : memref<?xf32>
  %r = nest.alloc "r" : memref<8xf32>
  nest.for "f" %f = 0 to 3 {
    nest.store "r" %zero, %r[%f] : memref<8xf32>
  }
  nest.for "g" %g = 3 to 8 {
    %a = nest.load %x[%g] : memref<8xf32>
    nest.store "r" %a, %r[%g] : memref<8xf32>
  }
  nest.for "o" %o = 0 to %n ceildiv 8 {
    %s = nest.alloc "s" : memref<8xf32>
    nest.for "z" %z = 0 to 8 {
      nest.store "s" %zero, %s[%z] : memref<8xf32>
    }
    nest.for "i" %i = 0 to 8 {
      %a = nest.load %r[%i] : memref<8xf32>
      nest.accumulate "s" add %a, %s[%i] where (8 * %o + %i < %n) : memref<8xf32>
    }
    nest.for "j" %j = 0 to min(8, %n - 8 * %o) {
      %a = nest.load %s[%j] : memref<8xf32>
      nest.store "y" %a, %y[8 * %o + %j] : memref<?xf32>
    }
  }
  func.return
}

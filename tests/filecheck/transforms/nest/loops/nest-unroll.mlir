// A loop becomes copies of its body: all of them where the number of iterations is known, or some at a time.
// RUN: opt-tool %s -p 'nest-unroll{loop=i force=true}' --split-input-file | filecheck %s
// RUN: opt-tool %S/nest-split.mlir -p 'nest-unroll{loop=i factor=2}' --split-input-file | filecheck %s --check-prefix=FACTOR
// RUN: opt-tool %S/nest-split.mlir -p 'nest-split{loop=i factor=2 tail=mask},nest-unroll{loop=i.i}' --split-input-file | filecheck %s --check-prefix=MASK

// Even, symbolic and uneven numbers of iterations.
// FACTOR-LABEL: @even
// FACTOR: nest.for "i.o" [[O:%\S+]] = 0 to 32 {
// FACTOR: nest.store "y" {{%\S+}}, %y[2 * [[O]]]
// FACTOR: nest.store "y" {{%\S+}}, %y[2 * [[O]] + 1]
// FACTOR-NOT: nest.for
// FACTOR-LABEL: @symbolic
// FACTOR: nest.for "i.o" [[O:%\S+]] = 0 to %n floordiv 2 {
// FACTOR: nest.store "y" {{%\S+}}, %y[2 * [[O]]]
// FACTOR: nest.store "y" {{%\S+}}, %y[2 * [[O]] + 1]
// FACTOR: nest.for "i.t" [[T:%\S+]] = 0 to %n mod 2 {
// FACTOR: nest.store "y" {{%\S+}}, %y[2 * (%n floordiv 2) + [[T]]]
// FACTOR-LABEL: @uneven
// FACTOR: nest.for "i.o" [[O:%\S+]] = 0 to 17 {
// FACTOR: nest.for "j"
// FACTOR-NEXT: nest.store "y" {{%\S+}}, %y[6 * [[O]] + 7, {{%\S+}}]
// FACTOR: nest.for "j.1"
// FACTOR-NEXT: nest.store "y" {{%\S+}}, %y[6 * [[O]] + 10, {{%\S+}}]

// MASK-LABEL: @uneven
// MASK: nest.store "y" {{%\S+}}, %y[6 * [[O:%\S+]] + 7, {{%\S+}}] : memref
// MASK: nest.store "y" {{%\S+}}, %y[6 * [[O]] + 10, {{%\S+}}] : memref

// A lower bound, a step, a loop and a number used as such inside; the mark asks for just this.
// CHECK-LABEL: @full
// CHECK-NOT: nest.for "i"
// CHECK: [[THREE:%\S+]] = arith.constant 3 : index
// CHECK-NEXT: nest.for "j"
// CHECK-NEXT: nest.store "y" %x, %y[3, {{%\S+}}]
// CHECK: arith.index_cast [[THREE]]
// CHECK: nest.for "j.1"
// CHECK-NEXT: nest.store "y" %x, %y[5, {{%\S+}}]
// CHECK: nest.for "j.2"
// CHECK-NEXT: nest.store "y" %x, %y[7, {{%\S+}}]
// CHECK-NOT: nest.for
// CHECK: func.return
func.func @full(%n: index, %x: f32, %y: memref<9x?xf32>, %z: memref<9xi64>) {
  nest.for "i" %i = 3 to 8 step 2 unrolled {
    nest.for "j" %j = 0 to %n {
      nest.store "y" %x, %y[%i, %j] : memref<9x?xf32>
    }
    %k = arith.index_cast %i : index to i64
    nest.store "z" %k, %z[%i] : memref<9xi64>
  }
  func.return
}

// -----

// The bounds need not be numbers; a statement that never runs goes away with what it loads.
// CHECK-LABEL: @window
// CHECK: nest.for "o" [[O:%\S+]] = 0 to %n {
// CHECK-NEXT: nest.load %x[4 * [[O]]]
// CHECK-NEXT: nest.store "y" {{%\S+}}, %y[4 * [[O]]] where
// CHECK-NEXT: nest.load %x[4 * [[O]] + 1]
// CHECK-NEXT: nest.store "y" {{%\S+}}, %y[4 * [[O]] + 1] where
// CHECK-NEXT: }
func.func @window(%n: index, %m: index, %x: memref<?xf32>, %y: memref<?xf32>) {
  nest.for "o" %o = 0 to %n {
    nest.for "i" %i = 4 * %o to 4 * %o + 4 {
      %a = nest.load %x[%i] : memref<?xf32>
      nest.store "y" %a, %y[%i] where (%i - 4 * %o < 2, %i - 4 * %o < %m + 1) : memref<?xf32>
    }
  }
  func.return
}

// -----

// CHECK-LABEL: @empty
// CHECK-NEXT: func.return
func.func @empty(%x: f32, %y: memref<4xf32>) {
  nest.for "i" %i = 4 to 4 {
    nest.store "y" %x, %y[%i] : memref<4xf32>
  }
  func.return
}

// -----

// More than 64 copies, by force.
// CHECK-LABEL: @many
// CHECK-NEXT: nest.store "y" %x, %y[0]
// CHECK-COUNT-63: nest.store "y"
// CHECK-NEXT: nest.store "y" %x, %y[64]
// CHECK-NEXT: func.return
func.func @many(%x: f32, %y: memref<65xf32>) {
  nest.for "i" %i = 0 to 65 {
    nest.store "y" %x, %y[%i] : memref<65xf32>
  }
  func.return
}

// -----

// The first value is the largest of several.
// CHECK-LABEL: @several_bounds
// CHECK-NEXT: nest.store "y" %x, %y[5]
// CHECK-NEXT: nest.store "y" %x, %y[6]
// CHECK-NEXT: func.return
func.func @several_bounds(%x: f32, %y: memref<9xf32>) {
  nest.for "i" %i = max(2, 5) to min(9, 7) {
    nest.store "y" %x, %y[%i] : memref<9xf32>
  }
  func.return
}

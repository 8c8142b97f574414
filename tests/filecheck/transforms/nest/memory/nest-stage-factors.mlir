// The two factors of a reduction's terms are copied first, with zeros where there are no terms, and the sum needs no domain there.
// RUN: opt-tool %s -p 'nest-stage-factors{loop=o}' --split-input-file | filecheck %s
// RUN: opt-tool %s -p 'nest-stage-factors{loop=o narrow=true}' --split-input-file | filecheck %s --check-prefix=NARROW

// The constraint on terms goes to both copies, that on rows to one: there the sum keeps it.
// CHECK-LABEL: @product
// CHECK: nest.for "o" [[O:%\S+]] = 0 to %n ceildiv 4 {
// CHECK-NEXT: [[X:%\S+]] = nest.alloc "x_tile" : memref<4x8xf32>
// CHECK-NEXT: nest.for "x_tile.k" [[K:%\S+]] = 0 to 4 {
// CHECK-NEXT: nest.for "x_tile.i" [[I:%\S+]] = 0 to 8 {
// CHECK: [[ZERO:%\S+]] = arith.constant 0.000000e+00 : f32
// CHECK: [[E:%\S+]] = nest.alloc "x_element" : memref<f32, 5 : i64>
// CHECK: nest.store "x_element" [[ZERO]], [[E]][]
// CHECK: [[A:%\S+]] = nest.load %x{{\[}}[[I]], 4 * [[O]] + [[K]]]
// CHECK: nest.store "x_element" [[A]], [[E]][] where ([[I]] < %m, 4 * [[O]] + [[K]] < %n)
// CHECK: [[F:%\S+]] = nest.load [[E]][]
// CHECK: nest.store "x_tile" [[F]], [[X]]{{\[}}[[K]], [[I]]]
// CHECK: [[Y:%\S+]] = nest.alloc "y_tile" : memref<4x6xf32>
// CHECK: where (4 * [[O]] + {{%\S+}} < %n) : memref<f32, 5 : i64>
// CHECK: nest.for "i" [[I2:%\S+]] = 0 to 8 {
// CHECK-NEXT: nest.for "j" [[J2:%\S+]] = 0 to 6 {
// CHECK-NEXT: nest.for "k" [[K2:%\S+]] = 0 to 4 {
// CHECK: [[G:%\S+]] = nest.load [[X]]{{\[}}[[K2]], [[I2]]]
// CHECK-NEXT: [[H:%\S+]] = nest.load [[Y]]{{\[}}[[K2]], [[J2]]]
// CHECK-NEXT: [[P:%\S+]] = arith.mulf [[G]], [[H]]
// CHECK-NEXT: nest.accumulate "c" add [[P]], %c{{\[}}[[I2]], [[J2]]] where ([[I2]] < %m)
func.func @product(%x: memref<?x?xf32> {nest.dims = ["m", "n"]}, %y: memref<?x6xf32> {nest.dims = ["n", 6]}, %c: memref<8x6xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %m = memref.dim %x, %c0 : memref<?x?xf32>
  %n = memref.dim %x, %c1 : memref<?x?xf32>
  nest.for "o" %o = 0 to %n ceildiv 4 {
    nest.for "i" %i = 0 to 8 {
      nest.for "j" %j = 0 to 6 {
        nest.for "k" %k = 0 to 4 {
          %a = nest.load %x[%i, 4 * %o + %k] : memref<?x?xf32>
          %b = nest.load %y[4 * %o + %k, %j] : memref<?x6xf32>
          %p = arith.mulf %a, %b : f32
          nest.accumulate "c" add %p, %c[%i, %j] where (%i < %m, 4 * %o + %k < %n) : memref<8x6xf32>
        }
      }
    }
  }
  func.return
}

// -----

// What is computed from an element is computed once an element that is copied; integers, and a loop that starts at 2.
// CHECK-LABEL: @computed
// CHECK: nest.for "o" [[O:%\S+]] = 2 to 5 {
// CHECK: nest.for "x_tile.k" [[K:%\S+]] = 0 to 4 {
// CHECK: [[A:%\S+]] = nest.load %x{{\[}}[[K]], [[O]]]
// CHECK-NEXT: [[W:%\S+]] = arith.extsi [[A]] : i32 to i64
// CHECK-NEXT: nest.store "x_tile" [[W]], {{%\S+}}{{\[}}[[K]]] : memref<4xi64>
// CHECK: nest.for "j" {{%\S+}} = 0 to 6 {
// CHECK-NEXT: nest.for "k" {{%\S+}} = 0 to 4 {
// CHECK-NOT: extsi
// CHECK: arith.muli

// Or where the copy is read: it has the narrow elements, and the other factor, which no cast makes wider, is as before.
// NARROW-LABEL: @computed
// NARROW: nest.for "x_tile.k" [[K:%\S+]] = 0 to 4 {
// NARROW-NEXT: [[A:%\S+]] = nest.load %x{{\[}}[[K]], {{%\S+}}]
// NARROW-NEXT: nest.store "x_tile" [[A]], {{%\S+}}{{\[}}[[K]]] : memref<4xi32>
// NARROW: memref<6x4xi64>
// NARROW: nest.for "k" [[K2:%\S+]] = 0 to 4 {
// NARROW: [[E:%\S+]] = nest.load [[X:%\S+]]{{\[}}[[K2]]] : memref<4xi32>
// NARROW-NEXT: [[W:%\S+]] = arith.extsi [[E]] : i32 to i64
// NARROW: arith.muli [[W]]
func.func @computed(%x: memref<4x5xi32>, %y: memref<6x4xi64>, %c: memref<3x6xi64>) {
  nest.for "o" %o = 2 to 5 {
    nest.for "i" %i = 0 to 3 {
      nest.for "j" %j = 0 to 6 {
        nest.for "k" %k = 0 to 4 {
          %a = nest.load %x[%k, %o] : memref<4x5xi32>
          %w = arith.extsi %a : i32 to i64
          %b = nest.load %y[%j, %k] : memref<6x4xi64>
          %p = arith.muli %w, %b : i64
          nest.accumulate "c" add %p, %c[%i, %j] : memref<3x6xi64>
        }
      }
    }
  }
  func.return
}

// -----

// Powers of differences: a term of zeros is zero, so that the sum needs no domain.
// CHECK-LABEL: @distances
// CHECK: nest.store "x_element" {{%\S+}}, {{%\S+}}[] where (4 * [[O:%\S+]] + {{%\S+}} < %n)
// CHECK: nest.store "y_element" {{%\S+}}, {{%\S+}}[] where (4 * [[O]] + {{%\S+}} < %n)
// CHECK: [[G:%\S+]] = nest.load %x_tile
// CHECK-NEXT: [[H:%\S+]] = nest.load %y_tile
// CHECK-NEXT: [[D:%\S+]] = arith.subf [[G]], [[H]]
// CHECK-NEXT: [[P:%\S+]] = arith.mulf [[D]], [[D]]
// CHECK-NEXT: nest.accumulate "c" add [[P]], %c{{\[.*\]}} : memref<8x6xf32>
func.func @distances(%x: memref<8x?xf32> {nest.dims = [8, "n"]}, %y: memref<6x?xf32> {nest.dims = [6, "n"]}, %c: memref<8x6xf32>) {
  %c1 = arith.constant 1 : index
  %n = memref.dim %x, %c1 : memref<8x?xf32>
  nest.for "o" %o = 0 to %n ceildiv 4 {
    nest.for "i" %i = 0 to 8 {
      nest.for "j" %j = 0 to 6 {
        nest.for "k" %k = 0 to 4 {
          %a = nest.load %x[%i, 4 * %o + %k] : memref<8x?xf32>
          %b = nest.load %y[%j, 4 * %o + %k] : memref<6x?xf32>
          %d = arith.subf %a, %b : f32
          %p = arith.mulf %d, %d : f32
          nest.accumulate "c" add %p, %c[%i, %j] where (4 * %o + %k < %n) : memref<8x6xf32>
        }
      }
    }
  }
  func.return
}

// -----

// The largest of zeros and what is negative would be zero: the domain stays.
// CHECK-LABEL: @largest
// CHECK: nest.store "x_element"
// CHECK: [[P:%\S+]] = arith.minimumf
// CHECK-NEXT: nest.accumulate "c" maximum [[P]], %c{{\[.*\]}} where (4 * {{%\S+}} + {{%\S+}} < %n)
func.func @largest(%x: memref<8x?xf32> {nest.dims = [8, "n"]}, %y: memref<6x?xf32> {nest.dims = [6, "n"]}, %c: memref<8x6xf32>) {
  %c1 = arith.constant 1 : index
  %n = memref.dim %x, %c1 : memref<8x?xf32>
  nest.for "o" %o = 0 to %n ceildiv 4 {
    nest.for "i" %i = 0 to 8 {
      nest.for "j" %j = 0 to 6 {
        nest.for "k" %k = 0 to 4 {
          %a = nest.load %x[%i, 4 * %o + %k] : memref<8x?xf32>
          %b = nest.load %y[%j, 4 * %o + %k] : memref<6x?xf32>
          %p = arith.minimumf %a, %b : f32
          nest.accumulate "c" maximum %p, %c[%i, %j] where (4 * %o + %k < %n) : memref<8x6xf32>
        }
      }
    }
  }
  func.return
}

// -----

// A weight is no factor, and is loaded where it is used: the constraint that says where it ends stays, although terms of
// zeros are zero.
// CHECK-LABEL: @weighted
// CHECK: nest.store "y_element"
// CHECK: [[D:%\S+]] = arith.subi
// CHECK-NEXT: [[W:%\S+]] = nest.load %w[4 * {{%\S+}} + {{%\S+}}]
// CHECK-NEXT: [[P:%\S+]] = arith.muli [[D]], [[W]]
// CHECK-NEXT: nest.accumulate "c" add [[P]], %c{{\[.*\]}} where (4 * {{%\S+}} + {{%\S+}} < %n)
func.func @weighted(%x: memref<8x?xi32> {nest.dims = [8, "n"]}, %y: memref<6x?xi32> {nest.dims = [6, "n"]}, %w: memref<?xi32> {nest.dims = ["n"]}, %c: memref<8x6xi32>) {
  %c1 = arith.constant 1 : index
  %n = memref.dim %x, %c1 : memref<8x?xi32>
  nest.for "o" %o = 0 to %n ceildiv 4 {
    nest.for "i" %i = 0 to 8 {
      nest.for "j" %j = 0 to 6 {
        nest.for "k" %k = 0 to 4 {
          %a = nest.load %x[%i, 4 * %o + %k] : memref<8x?xi32>
          %b = nest.load %y[%j, 4 * %o + %k] : memref<6x?xi32>
          %d = arith.subi %a, %b : i32
          %e = nest.load %w[4 * %o + %k] : memref<?xi32>
          %p = arith.muli %d, %e : i32
          nest.accumulate "c" add %p, %c[%i, %j] where (4 * %o + %k < %n) : memref<8x6xi32>
        }
      }
    }
  }
  func.return
}

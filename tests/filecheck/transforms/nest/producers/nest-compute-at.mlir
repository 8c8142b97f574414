// Each iteration of a loop computes just the part of a buffer that it reads, in the whole buffer or in a small one.
// RUN: opt-tool %s -p 'nest-compute-at{buffer=t loop=o}' --split-input-file | filecheck %s
// RUN: opt-tool %s -p 'nest-compute-at{buffer=t loop=o storage=here}' --split-input-file | filecheck %s --check-prefix=HERE

// Blocks of 16 over a symbolic extent: 17 elements, clamped to the buffer where that is not proved.
// CHECK-LABEL: @stencil
// CHECK: [[T:%\S+]] = nest.alloc "t"(%n)
// CHECK-NEXT: nest.for "o" [[O:%\S+]] = 0 to %n floordiv 16 {
// CHECK-NEXT: nest.for "i.at" [[I:%\S+]] = 16 * [[O]] to min(%n, 16 * [[O]] + 17) {
// CHECK: nest.store "t" {{%\S+}}, [[T]]{{\[}}[[I]]]
// CHECK: nest.for "j" [[J:%\S+]] = 0 to 16 {
// CHECK-NEXT: nest.load [[T]]{{\[}}16 * [[O]] + [[J]]]
// HERE-LABEL: @stencil
// HERE-NOT: nest.alloc "t"(%n)
// HERE: nest.for "o" [[O:%\S+]] = 0 to %n floordiv 16 {
// HERE-NEXT: [[T:%\S+]] = nest.alloc "t" : memref<17xf32>
// HERE-NEXT: nest.for "i.at" [[I:%\S+]] = 16 * [[O]] to min(%n, 16 * [[O]] + 17) {
// HERE: nest.store "t" {{%\S+}}, [[T]]{{\[}}[[I]] - 16 * [[O]]]
// HERE: nest.for "j" [[J:%\S+]] = 0 to 16 {
// HERE-NEXT: nest.load [[T]]{{\[}}[[J]]]
// HERE-NEXT: nest.load [[T]]{{\[}}[[J]] + 1]
func.func @stencil(%n: index, %x: memref<?xf32>, %y: memref<?xf32>) {
  %t = nest.alloc "t"(%n) : memref<?xf32>
  nest.for "i" %i = 0 to %n {
    %a = nest.load %x[%i] : memref<?xf32>
    %b = math.exp %a : f32
    nest.store "t" %b, %t[%i] : memref<?xf32>
  }
  nest.for "o" %o = 0 to %n floordiv 16 {
    nest.for "j" %j = 0 to 16 {
      %p = nest.load %t[16 * %o + %j] : memref<?xf32>
      %q = nest.load %t[16 * %o + %j + 1] : memref<?xf32>
      %s = arith.addf %p, %q : f32
      nest.store "y" %s, %y[16 * %o + %j] where (16 * %o + %j + 1 < %n) : memref<?xf32>
    }
  }
  func.return
}

// -----

// From a nonzero bound, an uneven last block, written backwards; the last block is cut where the writes begin.
// CHECK-LABEL: @backwards
// CHECK: nest.for "o" [[O:%\S+]] = 0 to 3 {
// CHECK-NEXT: nest.for "i.at" [[I:%\S+]] = max(3, 9 - 4 * [[O]]) to 13 - 4 * [[O]] {
// HERE-LABEL: @backwards
// HERE: nest.for "o" [[O:%\S+]] = 0 to 3 {
// HERE-NEXT: [[T:%\S+]] = nest.alloc "t" : memref<4xi32>
// HERE-NEXT: nest.for "i.at" [[I:%\S+]] = max(3, 9 - 4 * [[O]]) to 13 - 4 * [[O]] {
// HERE: nest.store "t" {{%\S+}}, [[T]]{{\[}}12 - [[I]] - 4 * [[O]]]
// HERE: nest.for "j" [[J:%\S+]] = 0 to min(4, {{.+}} - 4 * [[O]]) {
// HERE-NEXT: nest.load [[T]]{{\[}}[[J]]]
func.func @backwards(%x: memref<13xi32>, %y: memref<10xi32>) {
  %c0 = arith.constant 0 : index
  %c10 = arith.constant 10 : index
  %t = nest.alloc "t"(%c10) : memref<?xi32>
  %m = memref.dim %t, %c0 : memref<?xi32>
  nest.for "i" %i = 3 to 13 {
    %a = nest.load %x[%i] : memref<13xi32>
    nest.store "t" %a, %t[12 - %i] : memref<?xi32>
  }
  nest.for "o" %o = 0 to 3 {
    nest.for "j" %j = 0 to min(4, %m - 4 * %o) {
      %p = nest.load %t[4 * %o + %j] : memref<?xi32>
      nest.store "y" %p, %y[4 * %o + %j] : memref<10xi32>
    }
  }
  func.return
}

// -----

// A reduction moves with the nest that initialises it. Rows of symbolic length are a buffer of symbolic size.
// CHECK-LABEL: @reduction
// CHECK: nest.for "o" [[O:%\S+]] = 0 to %n {
// CHECK-NEXT: nest.for "h.at" {{%\S+}} = [[O]] to [[O]] + 1 {
// CHECK-NEXT: nest.for "g.at" {{%\S+}} = 0 to %m {
// CHECK: nest.for "i.at" {{%\S+}} = [[O]] to [[O]] + 1 {
// CHECK-NEXT: nest.for "j.at" {{%\S+}} = 0 to %m {
// CHECK-NEXT: nest.for "k.at" {{%\S+}} = 0 to 5 {
// HERE-LABEL: @reduction
// HERE: nest.for "o" [[O:%\S+]] = 0 to %n {
// HERE: [[T:%\S+]] = nest.alloc "t"({{%\S+}}) : memref<1x?xi64>
// HERE: nest.for "h.at" [[H:%\S+]] = [[O]] to [[O]] + 1 {
// HERE: nest.for "i.at" [[I:%\S+]] = [[O]] to [[O]] + 1 {
// HERE-NEXT: nest.for "j.at" [[J:%\S+]] = 0 to %m {
// HERE: nest.accumulate "t" add {{%\S+}}, [[T]]{{\[}}[[I]] - [[O]], [[J]]]
// HERE: nest.load [[T]][0, {{%\S+}}]
func.func @reduction(%n: index, %m: index, %x: memref<?x?x5xi64>, %y: memref<?x?xi64>) {
  %zero = arith.constant 0 : i64
  %t = nest.alloc "t"(%n, %m) : memref<?x?xi64>
  nest.for "h" %h = 0 to %n {
    nest.for "g" %g = 0 to %m {
      nest.store "t" %zero, %t[%h, %g] : memref<?x?xi64>
    }
  }
  nest.for "i" %i = 0 to %n {
    nest.for "j" %j = 0 to %m {
      nest.for "k" %k = 0 to 5 {
        %a = nest.load %x[%i, %j, %k] : memref<?x?x5xi64>
        nest.accumulate "t" add %a, %t[%i, %j] : memref<?x?xi64>
      }
    }
  }
  nest.for "o" %o = 0 to %n {
    nest.for "l" %l = 0 to %m {
      %p = nest.load %t[%o, %l] : memref<?x?xi64>
      nest.store "y" %p, %y[%o, %l] : memref<?x?xi64>
    }
  }
  func.return
}

// -----

// The nest that writes was split before: its outer loop takes the blocks that are needed, the inner one the rest.
// CHECK-LABEL: @split
// CHECK: nest.for "o" [[O:%\S+]] = 1 to 5 {
// CHECK-NEXT: nest.for "b.at" [[B:%\S+]] = (3 * [[O]] - 7) ceildiv 8 to (3 * [[O]] + 2) floordiv 8 + 1 {
// CHECK-NEXT: nest.for "i.at" [[I:%\S+]] = max(0, 3 * [[O]] - 8 * [[B]]) to min(8, 3 * [[O]] - 8 * [[B]] + 3) {
// HERE-LABEL: @split
// HERE: nest.alloc "t" : memref<3xi64>
func.func @split(%x: memref<16xi64>, %y: memref<16xi64>) {
  %t = nest.alloc "t" : memref<16xi64>
  nest.for "b" %b = 0 to 2 {
    nest.for "i" %i = 0 to 8 {
      %a = nest.load %x[8 * %b + %i] : memref<16xi64>
      nest.store "t" %a, %t[8 * %b + %i] : memref<16xi64>
    }
  }
  nest.for "o" %o = 1 to 5 {
    nest.for "j" %j = 0 to 3 {
      %p = nest.load %t[3 * %o + %j] : memref<16xi64>
      nest.store "y" %p, %y[3 * %o + %j] : memref<16xi64>
    }
  }
  func.return
}

// -----

// Where no shorter loop does it, a domain takes out what is not needed.
// CHECK-LABEL: @domain
// CHECK: nest.for "i.at" [[I:%\S+]] = 0 to 8 {
// CHECK: nest.accumulate "t" add {{%\S+}}, {{%\S+}}{{\[}}[[I]] floordiv 2] where (2 * [[O:%\S+]] < [[I]] floordiv 2 + 1, [[I]] floordiv 2 < 2 * [[O]] + 2)
// HERE-LABEL: @domain
// HERE: nest.alloc "t" : memref<2xi64>
// HERE: nest.accumulate "t" add {{%\S+}}, {{%\S+}}{{\[}}[[I:%\S+]] floordiv 2 - 2 * [[O:%\S+]]] where (2 * [[O]] < [[I]] floordiv 2 + 1, [[I]] floordiv 2 < 2 * [[O]] + 2)
func.func @domain(%x: memref<8xi64>, %y: memref<4xi64>) {
  %zero = arith.constant 0 : i64
  %t = nest.alloc "t" : memref<4xi64>
  nest.for "h" %h = 0 to 4 {
    nest.store "t" %zero, %t[%h] : memref<4xi64>
  }
  nest.for "i" %i = 0 to 8 {
    %a = nest.load %x[%i] : memref<8xi64>
    nest.accumulate "t" add %a, %t[%i floordiv 2] : memref<4xi64>
  }
  nest.for "o" %o = 0 to 2 {
    nest.for "j" %j = 0 to 2 {
      %p = nest.load %t[2 * %o + %j] : memref<4xi64>
      nest.store "y" %p, %y[2 * %o + %j] : memref<4xi64>
    }
  }
  func.return
}

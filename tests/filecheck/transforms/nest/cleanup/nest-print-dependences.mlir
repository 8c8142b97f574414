// Dependences are listed with the loop that carries each and the distance of every loop around both accesses.
// RUN: opt-tool %s -p nest-print-dependences -o /dev/null 2>&1 | filecheck %s
// RUN: opt-tool %s -p 'nest-print-dependences{func=skewed loop=j}' 2>&1 >/dev/null | filecheck %s --check-prefix=LOOP
// RUN: opt-tool %s -p nest-print-dependences 2>/dev/null | filecheck %s --check-prefix=MODULE

// MODULE-NOT: nest i
// MODULE: func.func @skewed

// CHECK:      func @skewed
// CHECK-NEXT: nest i {{ +}}nest-print-dependences.mlir:31
// CHECK-NEXT:   for i = 1 to n
// CHECK-NEXT:     for j = 0 to m - 1 parallel
// CHECK-NEXT:       1  reads   a[i - 1, j + 1] {{ +}}nest-print-dependences.mlir:33
// CHECK-NEXT:       2  writes  a[i, j] {{ +}}nest-print-dependences.mlir:34
// CHECK:        dependence i j carried by
// CHECK-NEXT:   flow a 2 -> 1 [1] -1 i

// LOOP:      func @skewed
// LOOP-NEXT: nest j
// LOOP-NEXT:   in one iteration of i
// LOOP-NEXT:   for j
// LOOP-NEXT:     1 reads
// LOOP-NEXT:     2 writes
// LOOP:        no dependences
// LOOP-NOT:  {{.}}
func.func @skewed(%a: memref<?x?xf32> {nest.dims = ["n", "m"]}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %n = memref.dim %a, %c0 : memref<?x?xf32>
  %m = memref.dim %a, %c1 : memref<?x?xf32>
  nest.for "i" %i = 1 to %n {
    nest.for "j" %j = 0 to %m - 1 parallel {
      %v = nest.load %a[%i - 1, %j + 1] : memref<?x?xf32>
      nest.store "a" %v, %a[%i, %j] : memref<?x?xf32>
    }
  }
  func.return
}

// An uneven extent, a step, a domain, a reduction over a triangle; buffers between nests.
// CHECK:      func @triangle
// CHECK-NEXT: outside of loops
// CHECK-NEXT:   1 writes s[]
// CHECK:      nest i
// CHECK-NEXT:   for i = 3 to 10 step 2
// CHECK-NEXT:     for j = 0 to i
// CHECK-NEXT:       2 reads x[j]
// CHECK-NEXT:       3 updates s[]
// CHECK-NEXT:       4 writes x[i] where (j < 4)
// CHECK:        dependence i j carried by
// CHECK-NEXT:   reduction s 3 -> 3 [<] * i
// CHECK-NEXT:   reduction s 3 -> 3 0 [<] j
// CHECK-NEXT:   flow x 4 -> 2 [<] < i
// CHECK-NEXT:   output x 4 -> 4 0 [<] j
// CHECK-NOT:    {{anti|flow}}
// CHECK:      nest k
// CHECK:        5 reads x[2 * k]
// CHECK:        no dependences
// CHECK:      between nests
// CHECK-NEXT:   dependence
// CHECK-NEXT:   flow s 1 -> 3{{$}}
// CHECK-NOT:    x 4 -> 5
func.func @triangle(%x: memref<10xi32>, %s: memref<i32>) {
  %zero = arith.constant 0 : i32
  nest.store "s" %zero, %s[] : memref<i32>
  nest.for "i" %i = 3 to 10 step 2 {
    nest.for "j" %j = 0 to %i {
      %v = nest.load %x[%j] : memref<10xi32>
      nest.accumulate "s" add %v, %s[] : memref<i32>
      nest.store "x" %v, %x[%i] where (%j < 4) : memref<10xi32>
    }
  }
  nest.for "k" %k = 0 to 5 {
    %v = nest.load %x[2 * %k] : memref<10xi32>
  }
  func.return
}

// A split has more iterations than there are, with the store masked: what is read there feeds nothing. Read where
// something else needs it, it counts.
// CHECK:      func @beyond_the_mask
// CHECK:        dependence k m carried by
// CHECK-NEXT:   anti flat 1 -> 2 0 0 -
// CHECK:      nest l
// CHECK:        dependence l m carried by
// CHECK-NEXT:   anti flat 3 -> 4 0 0 -
// CHECK-NEXT:   anti flat 3 -> 4 [1] -2 l
func.func @beyond_the_mask(%x: memref<100x2xf32>, %y: memref<200xf32>) {
  %flat = memref.collapse_shape %x [[0, 1]] : memref<100x2xf32> into memref<200xf32>
  nest.for "k" %k = 0 to 100 {
    nest.for "m" %m = 0 to 4 {
      %v = nest.load %flat[2 * %k + %m] : memref<200xf32>
      %w = arith.negf %v : f32
      nest.store %w, %flat[2 * %k + %m] where (%m < 2) : memref<200xf32>
    }
  }
  nest.for "l" %l = 0 to 98 {
    nest.for "m" %m = 0 to 4 {
      %v = nest.load %flat[2 * %l + %m] : memref<200xf32>
      %w = arith.negf %v : f32
      nest.store %w, %flat[2 * %l + %m] where (%m < 2) : memref<200xf32>
      nest.store "y" %w, %y[2 * %l] where (%m < 3) : memref<200xf32>
    }
  }
  func.return
}

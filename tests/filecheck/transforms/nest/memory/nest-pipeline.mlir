// Two tiles are copied two iterations ahead, to three parts each; a barrier waits for the copies that the next iteration uses.
// RUN: opt-tool %s --split-input-file -p 'nest-pipeline{loop=k stages=3}' | filecheck %s
// RUN: opt-tool %s --split-input-file -p 'nest-pipeline{loop=k stages=3},nest-insert-barriers' | filecheck %s --check-prefix=WAIT
// RUN: opt-tool %s --split-input-file -p 'nest-pipeline{loop=k},nest-insert-barriers' | filecheck %s --check-prefix=TWO
// RUN: opt-tool %s --split-input-file -p 'nest-insert-barriers' | filecheck %s --check-prefix=ONE

// CHECK:      nest.for "o"
// CHECK-NEXT:   [[U:%.*]] = nest.alloc "u" : memref<3x32x4xf32, 3 : i64>
// CHECK:        nest.for "k.first" [[F:%.*]] = 0 to 2 {
// CHECK:          nest.load %x{{\[}}[[F]], 4 * {{%.*}} + {{%.*}}]
// CHECK-NEXT:     nest.store "u" {{%.*}}, [[U]]{{\[}}[[F]] mod 3, {{%.*}}, {{%.*}}]
// CHECK:        nest.for "k" [[K:%.*]] = 0 to 6 {
// CHECK:          nest.load %x{{\[}}[[K]] + 2, 4 * {{%.*}} + {{%.*}}]
// CHECK-NEXT:     nest.store "u" {{%.*}}, [[U]]{{\[}}([[K]] + 2) mod 3, {{%.*}}, {{%.*}}]
// CHECK:          nest.load [[U]]{{\[}}[[K]] mod 3, 31 - {{%.*}}, 0]
// CHECK:        nest.for "k.tail" [[T:%.*]] = 6 to 8 {
// CHECK-NOT:      nest.store "u"
// CHECK:          nest.load [[U]]{{\[}}[[T]] mod 3, 31 - {{%.*}}, 0]

// Of three parts one may be on its way while the one before it is used, of two none.
// WAIT:      nest.for "k.first"
// WAIT:      nest.barrier {nestor.copies = 0 : i64}
// WAIT-NEXT: nest.for "k" %k
// WAIT:        nest.for "u"
// WAIT-NOT:    nest.barrier
// WAIT:        nest.accumulate
// WAIT:        nest.barrier {nestor.copies = 1 : i64}
// WAIT-NEXT: }
// WAIT-NEXT: nest.barrier {nestor.copies = 0 : i64}
// WAIT-NEXT: nest.for "k.tail"
// WAIT-NOT:    nest.barrier

// TWO:      nest.for "k" %k
// TWO:        nest.accumulate
// TWO:        nest.barrier {nestor.copies = 0 : i64}
// TWO-NEXT: }

// Without stages a barrier waits for the copies of the iteration itself, and another one lets them be made.
// ONE:      nest.for "k" %k
// ONE:        nest.barrier {nestor.copies = 0 : i64}
// ONE-NEXT:   nest.for "u"
// ONE:        nest.accumulate
// ONE:        nest.barrier{{$}}
// ONE-NEXT: }

func.func @f(%x: memref<8x128xf32>, %y: memref<4x32xf32>) {
  nest.for "o" %o = 0 to 4 bind "block.x" {
    nest.for "k" %k = 0 to 8 {
      %u = nest.alloc "u" : memref<32x4xf32, 3>
      nest.for "t" %t = 0 to 32 bind "thread.x" {
        nest.for "v" %v = 0 to 4 vectorized(4) attributes {nestor.async} {
          %a = nest.load %x[%k, 4 * %t + %v] : memref<8x128xf32>
          nest.store "u" %a, %u[%t, %v] : memref<32x4xf32, 3>
        }
      }
      nest.for "u" %s = 0 to 32 bind "thread.x" {
        %b = nest.load %u[31 - %s, 0] : memref<32x4xf32, 3>
        nest.accumulate "y" add %b, %y[%o, %s] : memref<4x32xf32>
      }
    }
  }
  func.return
}

// -----

// The bounds of the loops follow from those of a loop that starts anywhere and ends where it is known at run time.
// CHECK-LABEL: func.func @unknown
// CHECK:         nest.for "k.first" {{%.*}} = 2 to min(%n, 4) {
// CHECK:         nest.for "k" [[K:%.*]] = 2 to %n - 2 {
// CHECK:           nest.load %x{{\[}}[[K]] + 2, {{%.*}}]
// CHECK-NEXT:      nest.store "u" {{%.*}}, %u{{\[}}[[K]] mod 3, {{%.*}}]
// CHECK:         nest.for "k.tail" {{%.*}} = max(2, %n - 2) to %n {

func.func @unknown(%x: memref<?x8xf32>, %y: memref<8xf32>, %n: index) {
  nest.for "k" %k = 2 to %n {
    %u = nest.alloc "u" : memref<8xf32>
    nest.for "i" %i = 0 to 8 {
      %a = nest.load %x[%k, %i] : memref<?x8xf32>
      nest.store "u" %a, %u[%i] : memref<8xf32>
    }
    nest.for "j" %j = 0 to 8 {
      %b = nest.load %u[%j] : memref<8xf32>
      nest.accumulate "y" add %b, %y[%j] : memref<8xf32>
    }
  }
  func.return
}


// -----

// What is copied at an edge, an element or zero, goes through a buffer of its own, which runs ahead with it.
// CHECK-LABEL: func.func @edge
// CHECK:         nest.for "k.first"
// CHECK:           nest.store "e" {{%.*}}, [[E:%.*]][] where
// CHECK:         nest.for "k" [[K:%.*]] = 0 to 7 {
// CHECK:           [[A:%.*]] = nest.load %x{{\[}}[[K]] + 2, {{%.*}}]
// CHECK:           nest.store {{.*}} [[A]], [[E:%.*]][] where
// CHECK:           [[F:%.*]] = nest.load [[E]][]
// CHECK:           nest.store "u" [[F]], %u{{\[}}([[K]] + 2) mod 3, {{%.*}}]

func.func @edge(%x: memref<9x7xf32>, %y: memref<8xf32>) {
  %zero = arith.constant 0.0 : f32
  nest.for "k" %k = 0 to 9 {
    %u = nest.alloc "u" : memref<8xf32>
    nest.for "i" %i = 0 to 8 {
      %e = nest.alloc "e" : memref<f32>
      nest.store "e" %zero, %e[] : memref<f32>
      %a = nest.load %x[%k, %i] : memref<9x7xf32>
      nest.store "e" %a, %e[] where (%i < 7) : memref<f32>
      %f = nest.load %e[] : memref<f32>
      nest.store "u" %f, %u[%i] : memref<8xf32>
    }
    nest.for "j" %j = 0 to 8 {
      %b = nest.load %u[%j] : memref<8xf32>
      nest.accumulate "y" add %b, %y[%j] : memref<8xf32>
    }
  }
  func.return
}

// -----

// What only the copies have read is not read where they are gone: beyond the end of %x, say.
// CHECK-LABEL: func.func @straight
// CHECK:         nest.for "k" [[K:%.*]] = 0 to 7 {
// CHECK:           [[A:%.*]] = nest.load %x{{\[}}[[K]] + 2]
// CHECK:           nest.store "e" [[A]],
// CHECK-NOT:       nest.load %x
// CHECK:         nest.for "k.tail"
// CHECK-NOT:       nest.load %x
// CHECK:         func.return

func.func @straight(%x: memref<7xf32>, %y: memref<9xf32>) {
  %zero = arith.constant 0.0 : f32
  nest.for "k" %k = 0 to 9 {
    %e = nest.alloc "e" : memref<f32>
    nest.store "e" %zero, %e[] : memref<f32>
    %a = nest.load %x[%k] : memref<7xf32>
    nest.store "e" %a, %e[] where (%k < 7) : memref<f32>
    %f = nest.load %e[] : memref<f32>
    nest.store "y" %f, %y[%k] : memref<9xf32>
  }
  func.return
}

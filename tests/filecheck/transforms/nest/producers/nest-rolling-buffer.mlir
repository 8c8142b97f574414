// Each iteration of a loop computes the elements of a buffer that are new; what neighbours share is kept.
// RUN: opt-tool %s -p 'nest-rolling-buffer{buffer=t loop=o}' --split-input-file | filecheck %s
// RUN: opt-tool %s -p 'nest-rolling-buffer{buffer=t loop=o storage=whole}' --split-input-file | filecheck %s --check-prefix=WHOLE

// A symbolic extent: the loop may not run at all, and then nothing is computed before it.
// CHECK-LABEL: @symbolic
// CHECK: [[T:%\S+]] = nest.alloc "t" : memref<3xf32>
// CHECK-NEXT: nest.for "o.first" {{%\S+}} = 0 to min(%n - 2, 1) {
// CHECK-NEXT: nest.for "i.first" [[I:%\S+]] = 0 to 2 {
// CHECK: nest.store "t" {{%\S+}}, [[T]]{{\[}}[[I]] mod 3]
// CHECK: nest.for "o" [[O:%\S+]] = 0 to %n - 2 {
// CHECK-NEXT: nest.for "i" [[I:%\S+]] = [[O]] + 2 to [[O]] + 3 {
// CHECK: nest.store "t" {{%\S+}}, [[T]]{{\[}}[[I]] mod 3]
// CHECK: nest.load [[T]]{{\[}}[[O]] mod 3]
// CHECK-NEXT: nest.load [[T]]{{\[}}([[O]] + 2) mod 3]
// WHOLE-LABEL: @symbolic
// WHOLE: [[T:%\S+]] = nest.alloc "t"(%n) : memref<?xf32>
// WHOLE: nest.for "i.first" [[I:%\S+]] = 0 to 2 {
// WHOLE: nest.store "t" {{%\S+}}, [[T]]{{\[}}[[I]]]
// WHOLE: nest.for "i" {{%\S+}} = [[O:%\S+]] + 2 to [[O]] + 3 {
func.func @symbolic(%n: index, %x: memref<?xf32>, %y: memref<?xf32>) {
  %t = nest.alloc "t"(%n) : memref<?xf32>
  nest.for "o" %o = 0 to %n - 2 {
    nest.for "i" %i = %o to %o + 3 {
      %a = nest.load %x[%i] : memref<?xf32>
      %b = math.exp %a : f32
      nest.store "t" %b, %t[%i] : memref<?xf32>
    }
    %p = nest.load %t[%o] : memref<?xf32>
    %q = nest.load %t[%o + 2] : memref<?xf32>
    %s = arith.addf %p, %q : f32
    nest.store "y" %s, %y[%o] : memref<?xf32>
  }
  func.return
}

// -----

// From a nonzero bound, in blocks, the last of them uneven; the loop is known to run.
// CHECK-LABEL: @blocks
// CHECK: [[T:%\S+]] = nest.alloc "t" : memref<6xi64>
// CHECK-NEXT: nest.for "i.first" {{%\S+}} = 4 to 6 {
// CHECK: nest.for "o" [[O:%\S+]] = 1 to 4 {
// CHECK-NEXT: nest.for "i" {{%\S+}} = 4 * [[O]] + 2 to min(15, 4 * [[O]] + 6) {
// WHOLE-LABEL: @blocks
// WHOLE: nest.alloc "t" : memref<15xi64>
// WHOLE: nest.for "i" {{%\S+}} = 4 * [[O:%\S+]] + 2 to min(15, 4 * [[O]] + 6) {
func.func @blocks(%x: memref<15xi64>, %y: memref<15xi64>) {
  %t = nest.alloc "t" : memref<15xi64>
  nest.for "o" %o = 1 to 4 {
    nest.for "i" %i = 4 * %o to min(15, 4 * %o + 6) {
      %a = nest.load %x[%i] : memref<15xi64>
      nest.store "t" %a, %t[%i] : memref<15xi64>
    }
    nest.for "j" %j = 4 * %o to min(15, 4 * %o + 6) {
      %p = nest.load %t[%j] : memref<15xi64>
      nest.accumulate "y" add %p, %y[%j] : memref<15xi64>
    }
  }
  func.return
}

// -----

// The loop has a step, and the window moves down.
// CHECK-LABEL: @down
// CHECK: nest.alloc "t" : memref<4xi64>
// CHECK-NEXT: nest.for "i.first" {{%\S+}} = 17 to 19 {
// CHECK: nest.for "o" [[O:%\S+]] = 1 to 12 step 2 {
// CHECK-NEXT: nest.for "i" {{%\S+}} = [[A:.*]] to [[B:.*]] {
// WHOLE-LABEL: @down
// WHOLE: nest.alloc "t" : memref<20xi64>
// WHOLE: nest.for "i" {{%\S+}} = 16 - [[O:%\S+]] to 18 - [[O]] {
func.func @down(%x: memref<20xi64>, %y: memref<20xi64>) {
  %t = nest.alloc "t" : memref<20xi64>
  nest.for "o" %o = 1 to 12 step 2 {
    nest.for "i" %i = 16 - %o to 20 - %o {
      %a = nest.load %x[%i] : memref<20xi64>
      nest.store "t" %a, %t[%i] : memref<20xi64>
    }
    %p = nest.load %t[16 - %o] : memref<20xi64>
    %q = nest.load %t[19 - %o] : memref<20xi64>
    %s = arith.subi %p, %q : i64
    nest.store "y" %s, %y[%o] : memref<20xi64>
  }
  func.return
}

// -----

// A reduction is rolled with the nest that starts it; a value of the loop's body goes along.
// CHECK-LABEL: @reduction
// CHECK: nest.alloc "t" : memref<2x4xi64>
// CHECK: nest.for "h.first" {{%\S+}} = 0 to 1 {
// CHECK: nest.for "i.first" {{%\S+}} = 0 to 1 {
// CHECK-NEXT: nest.for "j.first" {{%\S+}} = 0 to 4 {
// CHECK: nest.for "o" [[O:%\S+]] = 0 to 7 {
// CHECK: nest.for "h" {{%\S+}} = [[O]] + 1 to [[O]] + 2 {
// CHECK: nest.for "i" {{%\S+}} = [[O]] + 1 to [[O]] + 2 {
// CHECK-NEXT: nest.for "j" {{%\S+}} = 0 to 4 {
// CHECK-NEXT: nest.for "k" {{%\S+}} = 0 to 5 {
// WHOLE-LABEL: @reduction
// WHOLE: nest.alloc "t" : memref<8x4xi64>
func.func @reduction(%x: memref<8x4x5xi64>, %y: memref<7x4xi64>) {
  %t = nest.alloc "t" : memref<8x4xi64>
  nest.for "o" %o = 0 to 7 {
    %zero = arith.constant 0 : i64
    nest.for "h" %h = %o to %o + 2 {
      nest.for "g" %g = 0 to 4 {
        nest.store "t" %zero, %t[%h, %g] : memref<8x4xi64>
      }
    }
    nest.for "i" %i = %o to %o + 2 {
      nest.for "j" %j = 0 to 4 {
        nest.for "k" %k = 0 to 5 {
          %a = nest.load %x[%i, %j, %k] : memref<8x4x5xi64>
          nest.accumulate "t" add %a, %t[%i, %j] : memref<8x4xi64>
        }
      }
    }
    nest.for "l" %l = 0 to 4 {
      %p = nest.load %t[%o, %l] : memref<8x4xi64>
      %q = nest.load %t[%o + 1, %l] : memref<8x4xi64>
      %s = arith.addi %p, %q : i64
      nest.store "y" %s, %y[%o, %l] : memref<7x4xi64>
    }
  }
  func.return
}

// -----

// Where no shorter loop does it, a domain takes out what is there already.
// CHECK-LABEL: @domain
// CHECK: nest.alloc "t" : memref<3xi64>
// CHECK: nest.store "t" {{%\S+}}, {{%\S+}}[{{.*}} mod 3] where ([[I:%\S+]] floordiv 2 < 2)
// CHECK: nest.for "o" [[O:%\S+]] = 0 to 6 {
// CHECK: nest.store "t" {{%\S+}}, {{%\S+}}[{{.*}} mod 3] where ({{.*}})
// WHOLE-LABEL: @domain
// WHOLE: nest.store "t" {{%\S+}}, {{%\S+}}{{\[}}[[I:%\S+]] floordiv 2] where
func.func @domain(%x: memref<16xi64>, %y: memref<6xi64>) {
  %t = nest.alloc "t" : memref<8xi64>
  nest.for "o" %o = 0 to 6 {
    nest.for "i" %i = 2 * %o to 2 * %o + 6 {
      %a = nest.load %x[%i] : memref<16xi64>
      nest.store "t" %a, %t[%i floordiv 2] : memref<8xi64>
    }
    %p = nest.load %t[%o] : memref<8xi64>
    nest.store "y" %p, %y[%o] : memref<6xi64>
  }
  func.return
}

// -----

// A loop that runs once has nothing to keep: it stays as it is, so that a schedule replays on small shapes.
// CHECK-LABEL: func.func @once
// CHECK-NOT:   first
// CHECK:       nest.for "o" %o = 0 to 1 {
// CHECK-NEXT:    nest.for "i" %i = %o to %o + 3 {
func.func @once(%x: memref<3xf32>, %y: memref<1xf32> {nest.role = "out"}) {
  %t = nest.alloc "t" : memref<3xf32>
  nest.for "o" %o = 0 to 1 {
    nest.for "i" %i = %o to %o + 3 {
      %a = nest.load %x[%i] : memref<3xf32>
      nest.store "t" %a, %t[%i] : memref<3xf32>
    }
    %a = nest.load %t[%o] : memref<3xf32>
    %b = nest.load %t[%o + 2] : memref<3xf32>
    %c = arith.addf %a, %b : f32
    nest.store "y" %c, %y[%o] : memref<1xf32>
  }
  func.return
}

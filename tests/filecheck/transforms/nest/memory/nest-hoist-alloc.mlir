// A buffer made in each iteration is made once, before the loop; what its extent is computed with moves along.
// RUN: opt-tool %s -p 'nest-hoist-alloc{buffer=u loop=i func=symbolic}' | filecheck %s
// RUN: opt-tool %s -p 'nest-hoist-alloc{buffer=t loop=p func=two_loops}' | filecheck %s --check-prefix=TWO
// RUN: opt-tool %s -p 'nest-hoist-alloc{buffer=u loop=i func=never}' | filecheck %s --check-prefix=NEVER

// CHECK-LABEL: func.func @symbolic
// CHECK: %[[M:.*]] = arith.subi %n, %two : index
// CHECK: %[[ZERO:.*]] = arith.constant 0 : index
// CHECK: %[[SIZE:.*]] = arith.maxsi %[[M]], %[[ZERO]] : index
// CHECK: %[[U:.*]] = nest.alloc "u"(%[[SIZE]]) : memref<?xf32>
// CHECK-NEXT: nest.for "i" %i = 2 to %n step 3
// CHECK-NEXT: nest.for "j"
// CHECK: nest.store "u" {{%\S+}}, %[[U]][%j] : memref<?xf32>
func.func @symbolic(%n: index, %x: memref<?xf32>, %y: memref<?xf32>) {
  %two = arith.constant 2 : index
  nest.for "i" %i = 2 to %n step 3 {
    %m = arith.subi %n, %two : index
    %u = nest.alloc "u"(%m) : memref<?xf32>
    nest.for "j" %j = 0 to %n - 2 {
      %a = nest.load %x[%j + 2] : memref<?xf32>
      nest.store "u" %a, %u[%j] : memref<?xf32>
    }
    nest.for "k" %k = 0 to %n - 2 {
      %b = nest.load %u[%k] : memref<?xf32>
      nest.accumulate "y" add %b, %y[%i] : memref<?xf32>
    }
  }
  func.return
}

// TWO-LABEL: func.func @two_loops
// TWO: nest.for "o"
// TWO-NEXT: nest.alloc "t" : memref<7xf32>
// TWO-NEXT: nest.for "p" %p = 1 to 8
// TWO-NEXT: nest.for "q"
// TWO-NEXT: nest.for "r"
func.func @two_loops(%x: memref<64xf32>, %y: memref<64xf32>) {
  nest.for "o" %o = 0 to 4 parallel {
    nest.for "p" %p = 1 to 8 {
      nest.for "q" %q = 0 to 3 unrolled {
        %t = nest.alloc "t" : memref<7xf32>
        nest.for "r" %r = 0 to 7 {
          %a = nest.load %x[%o + %p + %q + %r] : memref<64xf32>
          nest.store "t" %a, %t[%r] : memref<7xf32>
        }
        %b = nest.load %t[3] : memref<7xf32>
        nest.store "y" %b, %y[8 * %o + %p] : memref<64xf32>
      }
    }
  }
  func.return
}

// Where the loop does not run, an extent that is known before it may be negative.
// NEVER-LABEL: func.func @never
// NEVER: %[[SIZE:.*]] = arith.maxsi %m, {{%\S+}} : index
// NEVER-NEXT: nest.alloc "u"(%[[SIZE]]) : memref<?xf32>
// NEVER-NEXT: nest.for "i" %i = 0 to %n - 2
func.func @never(%n: index, %x: memref<?xf32>, %y: memref<?xf32>) {
  %two = arith.constant 2 : index
  %m = arith.subi %n, %two : index
  nest.for "i" %i = 0 to %n - 2 {
    %u = nest.alloc "u"(%m) : memref<?xf32>
    %a = nest.load %x[%i + 2] : memref<?xf32>
    nest.store "u" %a, %u[%i] : memref<?xf32>
    %b = nest.load %u[%i] : memref<?xf32>
    nest.store "y" %b, %y[%i] : memref<?xf32>
  }
  func.return
}

// A buffer made before a loop is made in each iteration: of several loops, with a symbolic extent, and when each iteration
// has elements of its own.
// RUN: opt-tool %s -p 'nest-sink-alloc{buffer=u loop=i func=scratch}' | filecheck %s
// RUN: opt-tool %s -p 'nest-sink-alloc{buffer=t loop=p func=own_elements}' | filecheck %s --check-prefix=OWN
// RUN: opt-tool %s -p 'nest-sink-alloc{buffer=s loop=i func=scratch},nest-sink-alloc{buffer=u loop=i func=scratch},nest-parallel{loop=i func=scratch}' | filecheck %s --check-prefix=SUM

// CHECK-LABEL: func.func @scratch
// CHECK: nest.for "o"
// CHECK-NEXT: nest.for "i"
// CHECK-NEXT: %[[U:.*]] = nest.alloc "u"(%n) : memref<?xf32>
// CHECK-NEXT: nest.store "s"
// SUM-LABEL: func.func @scratch
// SUM: nest.for "i" %i = 1 to 7 parallel
// SUM-NEXT: nest.alloc "u"(%n) : memref<?xf32>
// SUM-NEXT: nest.alloc "s" : memref<f32>
func.func @scratch(%n: index, %x: memref<?xf32>, %y: memref<16x16xf32>) {
  %zero = arith.constant 0.0 : f32
  %u = nest.alloc "u"(%n) : memref<?xf32>
  %s = nest.alloc "s" : memref<f32>
  nest.for "o" %o = 0 to 16 {
    nest.for "i" %i = 1 to 7 {
      nest.store "s" %zero, %s[] : memref<f32>
      nest.for "j" %j = 0 to %n {
        %a = nest.load %x[%j] : memref<?xf32>
        nest.store "u" %a, %u[%j] : memref<?xf32>
        %c = nest.load %u[%j] : memref<?xf32>
        nest.accumulate "s" add %c, %s[] : memref<f32>
      }
      %b = nest.load %s[] : memref<f32>
      nest.store "y" %b, %y[%o, %i] : memref<16x16xf32>
    }
  }
  func.return
}

// OWN-LABEL: func.func @own_elements
// OWN: nest.for "p"
// OWN-NEXT: nest.alloc "t"(%n) : memref<?xf32>
func.func @own_elements(%n: index, %x: memref<?xf32>, %y: memref<?xf32>) {
  %t = nest.alloc "t"(%n) : memref<?xf32>
  nest.for "p" %p = 2 to %n {
    %a = nest.load %x[%p] : memref<?xf32>
    nest.store "t" %a, %t[%p - 2] : memref<?xf32>
    %b = nest.load %t[%p - 2] : memref<?xf32>
    nest.store "y" %b, %y[%p] : memref<?xf32>
  }
  func.return
}

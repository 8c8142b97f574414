// Buffers share memory where no element of one is needed after the other's is written; the rest stay.
// RUN: opt-tool %s -p nest-reuse-buffers --split-input-file | filecheck %s
// RUN: opt-tool %s -p 'nest-reuse-buffers{order=free}' --split-input-file | filecheck %s --check-prefix=FREE

// The intermediate of a softmax goes to the result, row by row.
// CHECK-LABEL: @rows
// CHECK-NOT: nest.alloc "e"
// CHECK: nest.store "e" {{%\S+}}, %out[%i, %j]
// CHECK: nest.load %out[%i, %k]
// CHECK: nest.store "y" {{%\S+}}, %out[%i, %k]
func.func @rows(%x: memref<?x8xf32> {nest.dims = ["n", 8]}, %out: memref<?x8xf32> {nest.role = "out", nest.dims = ["n", 8]}) {
  %c0 = arith.constant 0 : index
  %n = memref.dim %x, %c0 : memref<?x8xf32>
  %e = nest.alloc "e"(%n) : memref<?x8xf32>
  nest.for "i" %i = 0 to %n {
    nest.for "j" %j = 0 to 8 {
      %a = nest.load %x[%i, %j] : memref<?x8xf32>
      nest.store "e" %a, %e[%i, %j] : memref<?x8xf32>
    }
    nest.for "k" %k = 0 to 8 {
      %b = nest.load %e[%i, %k] : memref<?x8xf32>
      %c = math.exp %b : f32
      nest.store "y" %c, %out[%i, %k] : memref<?x8xf32>
    }
  }
  func.return
}

// -----

// A chain in place, and a buffer that is dead by then; what is copied to a result was there already.
// CHECK-LABEL: @chain
// CHECK-NOT: nest.alloc
// CHECK: nest.for "i"
// CHECK: nest.store "a" {{%\S+}}, %out[%i]
// CHECK: nest.for "j"
// CHECK: nest.load %out[%j]
// CHECK: nest.store "b" {{%\S+}}, %out[%j]
// CHECK-NOT: nest.for
func.func @chain(%x: memref<8xf32>, %out: memref<8xf32> {nest.role = "out"}) {
  %a = nest.alloc "a" : memref<8xf32>
  %b = nest.alloc "b" : memref<8xf32>
  nest.for "i" %i = 0 to 8 {
    %v = nest.load %x[%i] : memref<8xf32>
    nest.store "a" %v, %a[%i] : memref<8xf32>
  }
  nest.for "j" %j = 0 to 8 {
    %v = nest.load %a[%j] : memref<8xf32>
    %w = math.exp %v : f32
    nest.store "b" %w, %b[%j] : memref<8xf32>
  }
  nest.for "k" %k = 0 to 8 {
    %v = nest.load %b[%k] : memref<8xf32>
    nest.store "copy" %v, %out[%k] : memref<8xf32>
  }
  func.return
}

// -----

// Two buffers one after the other: the second lives in the first. The third has another type.
// CHECK-LABEL: @one_after_the_other
// CHECK: %a = nest.alloc "a" : memref<8xf32>
// CHECK-NOT: nest.alloc "b"
// CHECK: nest.alloc "c" : memref<8xf64>
// CHECK: nest.store "b" {{%\S+}}, %a[%k]
// CHECK: nest.load %a[7 - %l]
func.func @one_after_the_other(%x: memref<8xf32>, %s: memref<8xf64> {nest.role = "inout"}) {
  %a = nest.alloc "a" : memref<8xf32>
  %b = nest.alloc "b" : memref<8xf32>
  %c = nest.alloc "c" : memref<8xf64>
  nest.for "i" %i = 0 to 8 {
    %v = nest.load %x[%i] : memref<8xf32>
    nest.store "a" %v, %a[%i] : memref<8xf32>
  }
  nest.for "j" %j = 0 to 8 {
    %v = nest.load %a[7 - %j] : memref<8xf32>
    %w = arith.extf %v : f32 to f64
    nest.store "c" %w, %c[%j] : memref<8xf64>
  }
  nest.for "k" %k = 0 to 8 {
    %v = nest.load %x[%k] : memref<8xf32>
    nest.store "b" %v, %b[%k] : memref<8xf32>
  }
  nest.for "l" %l = 0 to 8 {
    %v = nest.load %b[7 - %l] : memref<8xf32>
    %w = arith.extf %v : f32 to f64
    %u = nest.load %c[%l] : memref<8xf64>
    %r = arith.addf %u, %w : f64
    nest.store "s" %r, %s[%l] : memref<8xf64>
  }
  func.return
}

// -----

// Refused: a neighbour is read after its place in the result is written.
// CHECK-LABEL: @stencil
// CHECK: nest.alloc "a"
func.func @stencil(%x: memref<8xf32>, %out: memref<8xf32> {nest.role = "out"}) {
  %a = nest.alloc "a" : memref<8xf32>
  nest.for "i" %i = 0 to 8 {
    %v = nest.load %x[%i] : memref<8xf32>
    nest.store "a" %v, %a[%i] : memref<8xf32>
  }
  nest.for "j" %j = 1 to 8 {
    %v = nest.load %a[%j - 1] : memref<8xf32>
    nest.store "y" %v, %out[%j] : memref<8xf32>
  }
  func.return
}

// -----

// What is read is at even indices, what is written to the result at odd ones.
// CHECK-LABEL: @every_other
// CHECK-NOT: nest.alloc
// CHECK: nest.store "a" {{%\S+}}, %out[2 * %i]
// CHECK: nest.load %out[2 * %i]
// CHECK: nest.store "y" {{%\S+}}, %out[2 * %i + 1]
func.func @every_other(%x: memref<9xf32>, %out: memref<9xf32> {nest.role = "out"}) {
  %a = nest.alloc "a" : memref<9xf32>
  nest.for "i" %i = 1 to 4 {
    %v = nest.load %x[%i] : memref<9xf32>
    nest.store "a" %v, %a[2 * %i] : memref<9xf32>
    %w = nest.load %a[2 * %i] : memref<9xf32>
    nest.store "y" %w, %out[2 * %i + 1] : memref<9xf32>
  }
  func.return
}

// -----

// Refused: the element is read once more after the result is written; an outer loop comes back to it.
// CHECK-LABEL: @read_again
// CHECK: nest.alloc "a"
// CHECK: nest.alloc "b"
func.func @read_again(%x: memref<8xf32>, %y: memref<8xf32> {nest.role = "out"}, %z: memref<8xf32> {nest.role = "out", nest.alias_set = 1 : i64}) {
  %a = nest.alloc "a" : memref<8xf32>
  %b = nest.alloc "b" : memref<8xf32>
  nest.for "i" %i = 0 to 8 {
    %v = nest.load %x[%i] : memref<8xf32>
    nest.store "a" %v, %a[%i] : memref<8xf32>
    nest.store "b" %v, %b[%i] : memref<8xf32>
  }
  nest.for "j" %j = 0 to 8 {
    %v = nest.load %a[%j] : memref<8xf32>
    %w = math.exp %v : f32
    nest.store "y" %w, %y[%j] : memref<8xf32>
    %u = nest.load %a[%j] : memref<8xf32>
    nest.store "z" %u, %z[%j] : memref<8xf32>
  }
  nest.for "t" %t = 0 to 2 {
    nest.for "k" %k = 0 to 8 {
      %v = nest.load %b[%k] : memref<8xf32>
      %w = math.exp %v : f32
      nest.store "y" %w, %y[%k] : memref<8xf32>
    }
  }
  func.return
}

// -----

// Refused: equal types with extents that may differ, a result that may overlap an argument, and a view.
// CHECK-LABEL: @other_reasons
// CHECK: nest.alloc "a"
// CHECK: nest.alloc "b"
// CHECK: nest.alloc "c"
func.func @other_reasons(%n: index, %x: memref<?xf32> {nest.dims = ["m"], nest.alias_set = 0 : i64},
                         %y: memref<?xf32> {nest.role = "out", nest.dims = ["m"]},
                         %z: memref<?xf32> {nest.role = "out", nest.dims = ["m"], nest.alias_set = 0 : i64}) {
  %c0 = arith.constant 0 : index
  %m = memref.dim %x, %c0 : memref<?xf32>
  %a = nest.alloc "a"(%n) : memref<?xf32>
  %b = nest.alloc "b"(%m) : memref<?xf32>
  %c = nest.alloc "c"(%m) : memref<?xf32>
  %view = "memref.cast"(%c) : (memref<?xf32>) -> memref<?xf32>
  nest.for "i" %i = 0 to 4 {
    %v = nest.load %x[%i] : memref<?xf32>
    nest.store "b" %v, %b[%i] : memref<?xf32>
    nest.store "c" %v, %view[%i] : memref<?xf32>
    nest.store "y" %v, %y[%i] : memref<?xf32>
  }
  nest.for "j" %i = 0 to 4 {
    %v = nest.load %b[%i] : memref<?xf32>
    %w = nest.load %c[%i] : memref<?xf32>
    %u = arith.addf %v, %w : f32
    nest.store "z" %u, %z[%i] : memref<?xf32>
    nest.store "a" %u, %a[%i] : memref<?xf32>
  }
  func.return
}

// -----

// Elements from 3 on of symbolic extents: those of the result that are not written may hold anything.
// CHECK-LABEL: @part
// CHECK-NOT: nest.alloc
// CHECK: nest.for "i" [[I:%\S+]] = 3 to %m {
// CHECK: nest.store "e" {{%\S+}}, %out{{\[}}[[I]]]
// CHECK: nest.for "j" [[J:%\S+]] = 3 to %m {
// CHECK-NEXT: nest.load %out{{\[}}[[J]]]
func.func @part(%n: index, %x: memref<?xf32> {nest.dims = ["n"]}, %out: memref<?xf32> {nest.role = "out", nest.dims = ["n"]}) {
  %c0 = arith.constant 0 : index
  %m = memref.dim %x, %c0 : memref<?xf32>
  %e = nest.alloc "e"(%m) : memref<?xf32>
  nest.for "i" %i = 3 to %m {
    %a = nest.load %x[%i] : memref<?xf32>
    nest.store "e" %a, %e[%i] : memref<?xf32>
  }
  nest.for "j" %j = 3 to %m {
    %b = nest.load %e[%j] : memref<?xf32>
    %c = math.exp %b : f32
    nest.store "y" %c, %out[%j] : memref<?xf32>
  }
  func.return
}

// -----

// Scalars stay: they are registers later.
// CHECK-LABEL: @scalar
// CHECK: nest.alloc "e"
// CHECK: nest.alloc "g"
func.func @scalar(%x: memref<8xf32>, %y: memref<8xf32>) {
  %e = nest.alloc "e" : memref<f32>
  %g = nest.alloc "g" : memref<f32>
  nest.for "i" %i = 0 to 8 {
    %a = nest.load %x[%i] : memref<8xf32>
    nest.store "e" %a, %e[] : memref<f32>
    %b = nest.load %e[] : memref<f32>
    nest.store "g" %b, %g[] : memref<f32>
    %c = nest.load %g[] : memref<f32>
    nest.store "y" %c, %y[%i] : memref<8xf32>
  }
  func.return
}

// -----

// A loop that is no nest.for comes back to the elements.
// CHECK-LABEL: @while
// CHECK: nest.alloc "e"
// CHECK: nest.store "e" {{%\S+}}, %e[%i]
func.func @while(%n: index, %c: i1, %x: memref<8xf32>, %y: memref<8xf32> {nest.role = "out"}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %e = nest.alloc "e" : memref<8xf32>
  scf.for %t = %c0 to %n step %c1 {
    nest.for "i" %i = 0 to 8 {
      %a = nest.load %x[%i] : memref<8xf32>
      nest.store "e" %a, %e[%i] : memref<8xf32>
    }
    nest.for "j" %j = 0 to 8 {
      %b = nest.load %e[%j] : memref<8xf32>
      %d = math.exp %b : f32
      nest.store "y" %d, %y[%j] : memref<8xf32>
    }
  }
  func.return
}

// -----

// A copy to itself stays where something is written in between.
// CHECK-LABEL: @between
// CHECK-NOT: nest.alloc
// CHECK: [[B:%\S+]] = nest.load %out[%j]
// CHECK: nest.store "z"
// CHECK-NEXT: nest.store "y" [[B]], %out[%j]
func.func @between(%x: memref<8xf32>, %out: memref<8xf32> {nest.role = "out"}, %z: memref<8xf32> {nest.role = "out"}) {
  %e = nest.alloc "e" : memref<8xf32>
  nest.for "i" %i = 0 to 8 {
    %a = nest.load %x[%i] : memref<8xf32>
    nest.store "e" %a, %e[%i] : memref<8xf32>
  }
  nest.for "j" %j = 0 to 8 {
    %b = nest.load %e[%j] : memref<8xf32>
    %c = math.exp %b : f32
    nest.store "z" %c, %z[%j] : memref<8xf32>
    nest.store "y" %b, %out[%j] : memref<8xf32>
  }
  func.return
}

// -----

// Rows of three that overlap: an element is read before the result is written there, if the loop keeps its order.
// CHECK-LABEL: @window
// CHECK-NOT: nest.alloc
// CHECK: nest.store "a" {{%\S+}}, %out[%i + %j]
// CHECK: nest.load %out[%i + 2]
// CHECK: nest.store "y" {{%\S+}}, %out[%i]
// FREE-LABEL: @window
// FREE: nest.alloc "a"
// FREE: nest.store "a" {{%\S+}}, %a[%i + %j]
func.func @window(%x: memref<?xf32> {nest.dims = ["m"]}, %out: memref<?xf32> {nest.role = "out", nest.dims = ["m"]}) {
  %c0 = arith.constant 0 : index
  %m = memref.dim %x, %c0 : memref<?xf32>
  %a = nest.alloc "a"(%m) : memref<?xf32>
  nest.for "i" %i = 1 to %m - 2 {
    nest.for "j" %j = 0 to 3 {
      %v = nest.load %x[%i + %j] : memref<?xf32>
      nest.store "a" %v, %a[%i + %j] : memref<?xf32>
    }
    %u = nest.load %a[%i + 2] : memref<?xf32>
    %w = nest.load %a[%i] : memref<?xf32>
    %b = arith.addf %u, %w : f32
    nest.store "y" %b, %out[%i] : memref<?xf32>
  }
  func.return
}

// -----

// Refused with either order: the rows run at the same time.
// CHECK-LABEL: @threads
// CHECK: nest.alloc "a"
func.func @threads(%x: memref<10xf32>, %out: memref<10xf32> {nest.role = "out"}) {
  %a = nest.alloc "a" : memref<10xf32>
  nest.for "k" %k = 0 to 10 {
    %v = nest.load %x[%k] : memref<10xf32>
    nest.store "a" %v, %a[%k] : memref<10xf32>
  }
  nest.for "i" %i = 0 to 9 parallel {
    %w = nest.load %a[%i + 1] : memref<10xf32>
    nest.store "y" %w, %out[%i] : memref<10xf32>
  }
  func.return
}

// -----

// The same in a serial loop that runs upwards.
// CHECK-LABEL: @upwards
// CHECK-NOT: nest.alloc
// FREE-LABEL: @upwards
// FREE: nest.alloc "a"
func.func @upwards(%x: memref<10xf32>, %out: memref<10xf32> {nest.role = "out"}) {
  %a = nest.alloc "a" : memref<10xf32>
  nest.for "i" %i = 0 to 9 {
    %v = nest.load %x[%i] : memref<10xf32>
    nest.store "a" %v, %a[%i + 1] : memref<10xf32>
    %w = nest.load %a[%i + 1] : memref<10xf32>
    nest.store "y" %w, %out[%i] : memref<10xf32>
  }
  func.return
}

// -----

// Two nests, the tail of a loop after the loop: what the second one reads is never where the first has written the result.
// CHECK-LABEL: @tail
// CHECK-NOT: nest.alloc
// FREE-LABEL: @tail
// FREE: nest.alloc "a"
func.func @tail(%n: index, %x: memref<?xi32> {nest.dims = ["m"]}, %out: memref<?xi32> {nest.role = "out", nest.dims = ["m"]}) {
  %c0 = arith.constant 0 : index
  %m = memref.dim %x, %c0 : memref<?xi32>
  %a = nest.alloc "a"(%m) : memref<?xi32>
  nest.for "i" %i = 0 to %m floordiv 2 {
    %v = nest.load %x[2 * %i] : memref<?xi32>
    nest.store "a" %v, %a[2 * %i] : memref<?xi32>
    %w = nest.load %a[2 * %i] : memref<?xi32>
    nest.store "y" %w, %out[2 * %i] : memref<?xi32>
  }
  nest.for "t" %t = 2 * (%m floordiv 2) to %m {
    %v = nest.load %x[%t] : memref<?xi32>
    nest.store "a" %v, %a[%t] : memref<?xi32>
    %w = nest.load %a[%t] : memref<?xi32>
    nest.store "y" %w, %out[%t] : memref<?xi32>
  }
  func.return
}

// -----

// A number that is loaded outside of loops is one for all iterations; on a GPU each loads it, and it must be there still.
// CHECK-LABEL: @loaded_outside
// CHECK: nest.alloc "a"
// CHECK-NOT: nest.alloc
// FREE-LABEL: @loaded_outside
// FREE: nest.alloc "a"
// FREE: nest.alloc "b"
func.func @loaded_outside(%x: memref<10xf32>, %out: memref<10xf32> {nest.role = "out"}) {
  %c = arith.constant 1.0 : f32
  %a = nest.alloc "a" : memref<1xf32>
  nest.for "i" %i = 0 to 1 {
    nest.store "a" %c, %a[%i] : memref<1xf32>
  }
  %v = nest.load %a[0] : memref<1xf32>
  %w = math.exp %v : f32
  %b = nest.alloc "b" : memref<1xf32>
  nest.for "j" %j = 0 to 1 {
    nest.store "b" %c, %b[%j] : memref<1xf32>
  }
  %u = nest.load %b[0] : memref<1xf32>
  nest.for "k" %k = 0 to 10 {
    %y = nest.load %x[%k] : memref<10xf32>
    %z = arith.mulf %y, %w : f32
    %t = arith.divf %z, %u : f32
    nest.store "out" %t, %out[%k] : memref<10xf32>
  }
  func.return
}

// -----

// What is computed from frozen arguments alone stays what it is for the whole program: nest-freeze fills it once.
// CHECK-LABEL: @frozen
// CHECK: nest.alloc "t"
// CHECK: nest.alloc "u"
// FREE-LABEL: @frozen
// FREE: nest.alloc "t"
// FREE: nest.alloc "u"
func.func @frozen(%x: memref<8xf32>, %w: memref<8xf32> {nest.frozen}, %y: memref<8xf64> {nest.role = "out"}) {
  %t = nest.alloc "t" : memref<8xf32>
  nest.for "a" %a = 0 to 8 {
    %0 = nest.load %w[%a] : memref<8xf32>
    nest.store "t" %0, %t[%a] : memref<8xf32>
  }
  nest.for "b" %b = 0 to 8 {
    %1 = nest.load %x[%b] : memref<8xf32>
    %2 = nest.load %t[%b] : memref<8xf32>
    %3 = arith.addf %1, %2 : f32
    %4 = arith.extf %3 : f32 to f64
    nest.store "y" %4, %y[%b] : memref<8xf64>
  }
  %u = nest.alloc "u" : memref<8xf32>
  nest.for "c" %c = 0 to 8 {
    %5 = nest.load %w[%c] : memref<8xf32>
    %6 = arith.mulf %5, %5 : f32
    nest.store "u" %6, %u[%c] : memref<8xf32>
  }
  nest.for "d" %d = 0 to 8 {
    %7 = nest.load %u[%d] : memref<8xf32>
    %8 = arith.extf %7 : f32 to f64
    %9 = nest.load %y[%d] : memref<8xf64>
    %10 = arith.mulf %9, %8 : f64
    nest.store "y" %10, %y[%d] : memref<8xf64>
  }
  func.return
}

// -----

// What sums over windows fill and read stays apart, so that it is computed block by block beside them ...
// FREE-LABEL: @windows
// FREE: nest.alloc "t"
// FREE: nest.alloc "s"
func.func @windows(%x: memref<10x10xf32>, %y: memref<6x6xf32> {nest.role = "out"}) {
  %zero = arith.constant 0.0 : f32
  %t = nest.alloc "t" : memref<8x8xf32>
  nest.for "c0" %a = 0 to 8 {
    nest.for "d0" %b = 0 to 8 {
      nest.store "t" %zero, %t[%a, %b] : memref<8x8xf32>
    }
  }
  nest.for "i0" %i = 0 to 8 {
    nest.for "j0" %j = 0 to 8 {
      nest.for "u0" %u = 0 to 3 {
        nest.for "v0" %v = 0 to 3 {
          %e = nest.load %x[%i + %u, %j + %v] : memref<10x10xf32>
          nest.accumulate "t" add %e, %t[%i, %j] : memref<8x8xf32>
        }
      }
    }
  }
  %s = nest.alloc "s" : memref<8x8xf32>
  nest.for "a0" %a = 0 to 8 {
    nest.for "b0" %b = 0 to 8 {
      %e = nest.load %t[%a, %b] : memref<8x8xf32>
      %f = arith.mulf %e, %e : f32
      nest.store "s" %f, %s[%a, %b] : memref<8x8xf32>
    }
  }
  nest.for "c1" %a = 0 to 6 {
    nest.for "d1" %b = 0 to 6 {
      nest.store "y" %zero, %y[%a, %b] : memref<6x6xf32>
    }
  }
  nest.for "i1" %i = 0 to 6 {
    nest.for "j1" %j = 0 to 6 {
      nest.for "u1" %u = 0 to 3 {
        nest.for "v1" %v = 0 to 3 {
          %e = nest.load %s[%i + %u, %j + %v] : memref<8x8xf32>
          nest.accumulate "y" add %e, %y[%i, %j] : memref<6x6xf32>
        }
      }
    }
  }
  func.return
}

// -----

// ... but where two of them read the same.
// FREE-LABEL: @read_twice
// FREE: nest.alloc "t"
// FREE-NOT: nest.alloc
func.func @read_twice(%x: memref<10x10xf32>, %y: memref<6x6xf32> {nest.role = "out"}, %z: memref<6x6xf32> {nest.role = "out"}) {
  %zero = arith.constant 0.0 : f32
  %t = nest.alloc "t" : memref<8x8xf32>
  nest.for "c0" %a = 0 to 8 {
    nest.for "d0" %b = 0 to 8 {
      nest.store "t" %zero, %t[%a, %b] : memref<8x8xf32>
    }
  }
  nest.for "i0" %i = 0 to 8 {
    nest.for "j0" %j = 0 to 8 {
      nest.for "u0" %u = 0 to 3 {
        nest.for "v0" %v = 0 to 3 {
          %e = nest.load %x[%i + %u, %j + %v] : memref<10x10xf32>
          nest.accumulate "t" add %e, %t[%i, %j] : memref<8x8xf32>
        }
      }
    }
  }
  %s = nest.alloc "s" : memref<8x8xf32>
  nest.for "a0" %a = 0 to 8 {
    nest.for "b0" %b = 0 to 8 {
      %e = nest.load %t[%a, %b] : memref<8x8xf32>
      %f = arith.mulf %e, %e : f32
      nest.store "s" %f, %s[%a, %b] : memref<8x8xf32>
    }
  }
  nest.for "c1" %a = 0 to 6 {
    nest.for "d1" %b = 0 to 6 {
      nest.store "y" %zero, %y[%a, %b] : memref<6x6xf32>
    }
  }
  nest.for "i1" %i = 0 to 6 {
    nest.for "j1" %j = 0 to 6 {
      nest.for "u1" %u = 0 to 3 {
        nest.for "v1" %v = 0 to 3 {
          %e = nest.load %s[%i + %u, %j + %v] : memref<8x8xf32>
          nest.accumulate "y" add %e, %y[%i, %j] : memref<6x6xf32>
        }
      }
    }
  }
  nest.for "c2" %a = 0 to 6 {
    nest.for "d2" %b = 0 to 6 {
      nest.store "z" %zero, %z[%a, %b] : memref<6x6xf32>
    }
  }
  nest.for "i2" %i = 0 to 6 {
    nest.for "j2" %j = 0 to 6 {
      nest.for "u2" %u = 0 to 3 {
        nest.for "v2" %v = 0 to 3 {
          %e = nest.load %s[%i + %u, %j + %v] : memref<8x8xf32>
          nest.accumulate "z" add %e, %z[%i, %j] : memref<6x6xf32>
        }
      }
    }
  }
  func.return
}

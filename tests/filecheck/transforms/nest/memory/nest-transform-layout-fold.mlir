// Elements share a place where none is written to it between a write and the last read of another one.
// RUN: opt-tool %s -p 'nest-transform-layout{buffer=u layout="i -> i%3"}' --split-input-file | filecheck %s

// Three neighbours are needed at the same time, whatever the extent.
// CHECK-LABEL: @window
// CHECK: %u = nest.alloc "u" : memref<3xf32>
// CHECK: nest.store "u" {{%\S+}}, %u[(%i + 2) mod 3]
// CHECK: nest.load %u[%i mod 3]
func.func @window(%n: index, %x: memref<?xf32>, %y: memref<?xf32>) {
  %u = nest.alloc "u"(%n) : memref<?xf32>
  nest.for "k" %k = 0 to 2 {
    %a = nest.load %x[%k] : memref<?xf32>
    nest.store "u" %a, %u[%k] : memref<?xf32>
  }
  nest.for "i" %i = 0 to %n - 2 {
    %a = nest.load %x[%i + 2] : memref<?xf32>
    nest.store "u" %a, %u[%i + 2] : memref<?xf32>
    %b = nest.load %u[%i] : memref<?xf32>
    %c = nest.load %u[%i + 1] : memref<?xf32>
    %d = arith.addf %b, %c : f32
    nest.store "y" %d, %y[%i] : memref<?xf32>
  }
  func.return
}

// -----

// A row of blocks of three that do not divide the extent; each is written, updated and read before the next one is.
// CHECK-LABEL: @blocks
// CHECK: nest.alloc "u" : memref<3xi32>
// CHECK: nest.accumulate "u" add {{%\S+}}, %u{{\[}}[[V:%\S+]]] where
func.func @blocks(%m: index, %zero: i32, %x: memref<?xi32>, %y: memref<?xi32>) {
  %u = nest.alloc "u"(%m) : memref<?xi32>
  nest.for "o" %o = 1 to %m ceildiv 3 {
    nest.for "v" %v = 0 to 3 {
      %a = nest.load %x[3 * %o + %v] : memref<?xi32>
      nest.store "u" %zero, %u[3 * %o + %v] where (3 * %o + %v < %m) : memref<?xi32>
      nest.accumulate "u" add %a, %u[3 * %o + %v] where (3 * %o + %v < %m) : memref<?xi32>
      %b = nest.load %u[3 * %o + %v] : memref<?xi32>
      nest.store "y" %b, %y[3 * %o + %v] where (3 * %o + %v < %m) : memref<?xi32>
    }
  }
  func.return
}

// -----

// What is written last is never read.
// CHECK-LABEL: @unread
// CHECK: nest.alloc "u" : memref<3xf32>
func.func @unread(%a: f32, %y: memref<8xf32>) {
  %u = nest.alloc "u" : memref<8xf32>
  nest.for "i" %i = 0 to 3 {
    nest.store "u" %a, %u[%i] : memref<8xf32>
    %b = nest.load %u[%i] : memref<8xf32>
    nest.store "y" %b, %y[%i] : memref<8xf32>
  }
  nest.for "k" %k = 3 to 8 {
    nest.store "u" %a, %u[%k] : memref<8xf32>
  }
  func.return
}

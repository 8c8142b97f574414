// Circular buffers: rows of which two are needed at the same time, and a window of three elements over an extent that the factor
// does not divide.
// RUN: opt-tool %s -p 'nest-fold-buffer{buffer=u factor=2 func=rows}' | filecheck %s
// RUN: opt-tool %s -p 'nest-fold-buffer{buffer=t dimension=1 factor=3 func=window}' | filecheck %s --check-prefix=WINDOW

// CHECK-LABEL: func.func @rows
// CHECK: %[[U:.*]] = nest.alloc "u" : memref<2x64xf32>
// CHECK: nest.store "u" {{%\S+}}, %[[U]][%i mod 2, %j] : memref<2x64xf32>
// CHECK: nest.load %[[U]][(%i - 1) mod 2, %k] : memref<2x64xf32>
// CHECK: arith.addi {{.*}}%n
func.func @rows(%n: index, %x: memref<?x64xf32>, %y: memref<?x64xf32>, %z: memref<1xindex>) {
  %c0 = arith.constant 0 : index
  %zero = arith.constant 0.0 : f32
  %u = nest.alloc "u"(%n) : memref<?x64xf32>
  nest.for "z" %z0 = 0 to 64 {
    nest.store "u" %zero, %u[0, %z0] : memref<?x64xf32>
  }
  nest.for "i" %i = 1 to %n {
    nest.for "j" %j = 0 to 64 {
      %a = nest.load %x[%i, %j] : memref<?x64xf32>
      nest.store "u" %a, %u[%i, %j] : memref<?x64xf32>
    }
    nest.for "k" %k = 0 to 64 {
      %b = nest.load %u[%i - 1, %k] : memref<?x64xf32>
      nest.store "y" %b, %y[%i, %k] : memref<?x64xf32>
    }
  }
  %m = memref.dim %u, %c0 : memref<?x64xf32>
  %s = arith.addi %m, %m : index
  nest.store "z" %s, %z[0] : memref<1xindex>
  func.return
}

// WINDOW-LABEL: func.func @window
// WINDOW: nest.for "r"
// WINDOW-NEXT: %[[T:.*]] = nest.alloc "t" : memref<1x3xi32>
// WINDOW: nest.for "i" %i = 2 to 10
// WINDOW: nest.store "t" {{%\S+}}, %[[T]][0, %i mod 3] : memref<1x3xi32>
// WINDOW: nest.load %[[T]][0, (%i - 2) mod 3] : memref<1x3xi32>
func.func @window(%x: memref<10xi32>, %y: memref<4x10xi32>) {
  nest.for "r" %r = 0 to 4 {
    %t = nest.alloc "t" : memref<1x10xi32>
    nest.for "w" %w = 0 to 2 {
      %a = nest.load %x[%w] : memref<10xi32>
      nest.store "t" %a, %t[0, %w] : memref<1x10xi32>
    }
    nest.for "i" %i = 2 to 10 {
      %a = nest.load %x[%i] : memref<10xi32>
      nest.store "t" %a, %t[0, %i] : memref<1x10xi32>
      %b = nest.load %t[0, %i - 2] : memref<1x10xi32>
      %c = nest.load %t[0, %i - 1] : memref<1x10xi32>
      %d = arith.addi %b, %c : i32
      nest.store "y" %d, %y[%r, %i] : memref<4x10xi32>
    }
  }
  func.return
}

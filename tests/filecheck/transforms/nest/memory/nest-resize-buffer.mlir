// A buffer has the window that an iteration uses, or a window that is given: shorter ones, and a longer one.
// RUN: opt-tool %s -p 'nest-resize-buffer{buffer=u func=window}' | filecheck %s
// RUN: opt-tool %s -p 'nest-resize-buffer{buffer=t dimension=1 size=4 offset=3 func=given}' | filecheck %s --check-prefix=SHORT
// RUN: opt-tool %s -p 'nest-resize-buffer{buffer=t size=24 offset=-2 func=given}' | filecheck %s --check-prefix=LONG

// CHECK-LABEL: func.func @window
// CHECK: nest.for "o"
// CHECK-NEXT: %[[U:.*]] = nest.alloc "u" : memref<16xf32>
// CHECK: nest.store "u" {{%\S+}}, %[[U]][%j - 16 * %o] : memref<16xf32>
// CHECK: nest.load %[[U]][%k] : memref<16xf32>
func.func @window(%n: index, %x: memref<?xf32>, %y: memref<?xf32>) {
  nest.for "o" %o = 0 to %n ceildiv 16 {
    %u = nest.alloc "u"(%n) : memref<?xf32>
    nest.for "j" %j = 16 * %o to min(%n, 16 * %o + 16) {
      %a = nest.load %x[%j] : memref<?xf32>
      nest.store "u" %a, %u[%j] : memref<?xf32>
    }
    nest.for "k" %k = 0 to min(16, %n - 16 * %o) {
      %b = nest.load %u[16 * %o + %k] : memref<?xf32>
      nest.store "y" %b, %y[16 * %o + %k] : memref<?xf32>
    }
  }
  func.return
}

// SHORT-LABEL: func.func @given
// SHORT: %[[T:.*]] = nest.alloc "t" : memref<20x4xf32>
// SHORT: nest.store "t" {{%\S+}}, %[[T]][%i, %j - 3] where (%j < 7) : memref<20x4xf32>
// SHORT: nest.load %[[T]][%i, 3] : memref<20x4xf32>
// LONG-LABEL: func.func @given
// LONG: %[[T:.*]] = nest.alloc "t" : memref<24x8xf32>
// LONG: nest.store "t" {{%\S+}}, %[[T]][%i + 2, %j] where (%j < 7) : memref<24x8xf32>
func.func @given(%x: memref<20xf32>, %y: memref<20xf32>) {
  %t = nest.alloc "t" : memref<20x8xf32>
  nest.for "i" %i = 1 to 20 step 3 {
    nest.for "j" %j = 3 to 8 {
      %a = nest.load %x[%i] : memref<20xf32>
      nest.store "t" %a, %t[%i, %j] where (%j < 7) : memref<20x8xf32>
    }
    %b = nest.load %t[%i, 6] : memref<20x8xf32>
    nest.store "y" %b, %y[%i] : memref<20xf32>
  }
  func.return
}

// A buffer that each iteration makes for itself, and both parts of the body use, gets an axis for the iterations.
// RUN: opt-tool %s -p 'nest-distribute{loop=i after=t}' --split-input-file | filecheck %s
// RUN: opt-tool %s -p 'nest-distribute{loop=i}' --split-input-file | filecheck %s --check-prefix=EVERY

// CHECK-LABEL: @symbolic
// CHECK:      %[[T:.*]] = nest.alloc "t"({{%\S+}}) : memref<?xf32>
// CHECK-NEXT: nest.for "i" %[[I:.*]] = 2 to %n step 3 {
// CHECK-NEXT:   nest.store "t" %x, %[[T]][(%[[I]] - 2) floordiv 3] : memref<?xf32>
// CHECK-NEXT: }
// CHECK-NEXT: nest.for "i.1" %[[K:.*]] = 2 to %n step 3 {
// CHECK-NEXT:   nest.load %[[T]][(%[[K]] - 2) floordiv 3]
// CHECK-NEXT:   nest.store "z"
func.func @symbolic(%n: index, %x: f32, %y: memref<?xf32>) {
  nest.for "i" %i = 2 to %n step 3 {
    %t = nest.alloc "t" : memref<f32>
    nest.store "t" %x, %t[] : memref<f32>
    %a = nest.load %t[] : memref<f32>
    nest.store "z" %a, %y[%i] : memref<?xf32>
  }
  func.return
}

// -----

// Without a place given, the loop is cut where no buffer has to be expanded.
// CHECK-LABEL: @rows
// CHECK:      nest.alloc "line" : memref<8x5xf32>
// EVERY-LABEL: @rows
// EVERY:      nest.for "i"
// EVERY-NEXT:   nest.alloc "line" : memref<5xf32>
// EVERY:      nest.for "i.1"
// EVERY-NEXT:   nest.store "w"
func.func @rows(%x: memref<8x5xf32>, %y: memref<8x5xf32>, %z: memref<8xf32>, %w: memref<8xf32>, %v: f32) {
  nest.for "i" %i = 0 to 8 {
    %line = nest.alloc "line" : memref<5xf32>
    nest.for "t" %j = 0 to 5 {
      %a = nest.load %x[%i, %j] : memref<8x5xf32>
      nest.store "l" %a, %line[%j] : memref<5xf32>
    }
    nest.for "k" %k = 0 to 5 {
      %b = nest.load %line[4 - %k] : memref<5xf32>
      nest.store "y" %b, %y[%i, %k] : memref<8x5xf32>
    }
    nest.store "w" %v, %w[%i] : memref<8xf32>
  }
  func.return
}

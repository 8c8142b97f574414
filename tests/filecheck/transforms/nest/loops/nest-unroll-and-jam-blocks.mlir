// Bodies without loops, and loops inside whose bounds depend on the outer loop and are the same in a block of it.
// RUN: opt-tool %s -p 'nest-unroll-and-jam{loop=i factor=4}' --split-input-file | filecheck %s

// Every fourth element is far enough away.
// CHECK-LABEL: @straight
// CHECK:      nest.for "i.o" {{%\S+}} = 0 to (%n - 4) floordiv 4 {
// CHECK-COUNT-4: nest.load %y
// CHECK-NOT:  nest.load
// CHECK-COUNT-4: nest.store "y"
// CHECK:      nest.for "i.t"
func.func @straight(%n: index, %y: memref<?xf32>) {
  nest.for "i" %i = 4 to %n {
    %a = nest.load %y[%i - 4] : memref<?xf32>
    nest.store "y" %a, %y[%i] : memref<?xf32>
  }
  func.return
}

// -----

// CHECK-LABEL: @steps
// CHECK:      nest.for "i.o" %[[O:.*]] = 0 to %n floordiv 4 {
// CHECK-NEXT:   nest.for "j" {{%\S+}} = %[[O]] to %n {
// CHECK-COUNT-4:  nest.store "y"
// CHECK:      nest.for "i.t"
func.func @steps(%n: index, %x: f32, %y: memref<?x?xf32>) {
  nest.for "i" %i = 0 to %n {
    nest.for "j" %j = %i floordiv 4 to %n {
      nest.store "y" %x, %y[%i, %j] : memref<?x?xf32>
    }
  }
  func.return
}

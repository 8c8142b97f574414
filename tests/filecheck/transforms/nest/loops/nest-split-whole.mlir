// Splits that need to know where the loop stands: whole blocks by what is around, bounds that never count, checks of what does not change.
// RUN: opt-tool %s -p 'nest-split{loop=i factor=2 tail=perfect func=blocks},nest-split{loop=i factor=2 tail=perfect func=branch},nest-split{loop=i factor=2 func=smaller},nest-split{loop=i factor=16 tail=mask func=checked}' | filecheck %s

// Inside of the blocks of an extent there are whole ones.
// CHECK-LABEL: @blocks
// CHECK:      nest.for "i.o" {{%\S+}} = 0 to 2 {
// CHECK-NEXT:   nest.for "i.i" {{%\S+}} = 0 to 2 {
// CHECK-NOT:  i.t
func.func @blocks(%n: index, %x: f32, %y: memref<?xf32>) {
  nest.for "o" %o = 0 to %n floordiv 4 {
    nest.for "i" %i = 4 * %o to min(4 * %o + 4, %n) {
      nest.store "y" %x, %y[%i] : memref<?xf32>
    }
  }
  func.return
}

// CHECK-LABEL: @branch
// CHECK:      nest.for "i.o" {{%\S+}} = 0 to %n floordiv 2 {
// CHECK-NEXT:   nest.for "i.i" {{%\S+}} = 0 to 2 {
// CHECK-NOT:  i.t
func.func @branch(%n: index, %x: f32, %y: memref<?xf32>) {
  %six = arith.constant 6 : index
  %is_six = arith.cmpi eq, %n, %six : index
  nest.if %is_six {
    nest.for "i" %i = 0 to %n {
      nest.store "y" %x, %y[%i] : memref<?xf32>
    }
  }
  func.return
}

// The larger of two lower bounds and the smaller of two upper ones are known.
// CHECK-LABEL: @smaller
// CHECK:      nest.for "i.o" {{%\S+}} = 0 to 3 {
// CHECK:      nest.for "i.t" {{%\S+}} = 0 to 1 {
func.func @smaller(%x: f32, %y: memref<9xf32>) {
  nest.for "i" %i = max(2, 1) to min(9, 12) {
    nest.store "y" %x, %y[%i] : memref<9xf32>
  }
  func.return
}

// An iteration outside of the bounds checks what the first one of its block has checked.
// CHECK-LABEL: @checked
// CHECK:      nest.for "i.i" {{%\S+}} = 0 to 16 {
// CHECK-NEXT:   nest.index
// CHECK:        where
func.func @checked(%n: index, %x: memref<?xf32>, %e: index, %y: memref<?x?xf32>) {
  nest.for "j" %j = 0 to %n {
    nest.for "i" %i = 1 to %n {
      %at = nest.index %j - 1 of %e axis 0 of "x"
      %v = nest.load %x[%at] : memref<?xf32>
      nest.store "y" %v, %y[%j, %i] : memref<?x?xf32>
    }
  }
  func.return
}

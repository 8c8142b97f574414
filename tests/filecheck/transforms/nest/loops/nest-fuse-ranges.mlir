// Loops of different iterations become one: the one with fewer gives its statements a domain.
// RUN: opt-tool %s -p 'nest-fuse{first=i second=j}' --split-input-file | filecheck %s

// CHECK-LABEL: @inside
// CHECK:      nest.for "i" %[[I:.*]] = 0 to %n {
// CHECK-NEXT:   nest.store "y" %x, %y[%[[I]]] : memref<?xf32>
// CHECK-NEXT:   nest.load %y[%[[I]] - 1]
// CHECK-NEXT:   nest.store "z" {{%\S+}}, %z[%[[I]]] where (%[[I]] >= 1) : memref<?xf32>
// CHECK-NOT:  nest.for
func.func @inside(%x: f32, %n: index, %y: memref<?xf32>, %z: memref<?xf32>) {
  nest.for "i" %i = 0 to %n {
    nest.store "y" %x, %y[%i] : memref<?xf32>
  }
  nest.for "j" %j = 1 to %n {
    %v = nest.load %y[%j - 1] : memref<?xf32>
    nest.store "z" %v, %z[%j] : memref<?xf32>
  }
  func.return
}

// -----

// The second loop's range holds for both; a bound that is known between the loops moves before them.
// CHECK-LABEL: @second
// CHECK:      %[[M:.*]] = arith.addi %n, %n
// CHECK-NEXT: nest.for "i" %[[I:.*]] = 0 to %[[M]] {
// CHECK-NEXT:   nest.store "y" %x, %y[%[[I]]] where (%[[I]] < %n) : memref<?xf32>
// CHECK-NEXT:   nest.store "z" %x, %z[%[[I]]] : memref<?xf32>
func.func @second(%x: f32, %y: memref<?xf32>, %z: memref<?xf32>) {
  %c0 = arith.constant 0 : index
  %n = memref.dim %y, %c0 : memref<?xf32>
  nest.for "i" %i = 0 to %n {
    nest.store "y" %x, %y[%i] : memref<?xf32>
  }
  %m = arith.addi %n, %n : index
  nest.for "j" %j = 0 to %m {
    nest.store "z" %x, %z[%j] : memref<?xf32>
  }
  func.return
}

// -----

// A triangle in which iteration 0 of the rows does nothing; steps that are the same.
// CHECK-LABEL: @triangle
// CHECK:      nest.for "i" %[[I:.*]] = 1 to %n {
// CHECK:        nest.for "k" %[[K:.*]] = 0 to %[[I]] {
// CHECK-NEXT:     nest.store "z" %x, %z[%[[I]], %[[K]]] : memref<?x?xf32>
func.func @triangle(%x: f32, %n: index, %y: memref<?xf32>, %z: memref<?x?xf32>) {
  nest.for "i" %i = 1 to %n {
    nest.store "y" %x, %y[%i] : memref<?xf32>
  }
  nest.for "j" %j = 0 to %n {
    nest.for "k" %k = 0 to %j {
      nest.store "z" %x, %z[%j, %k] : memref<?x?xf32>
    }
  }
  func.return
}

// -----

// CHECK-LABEL: @steps
// CHECK:      nest.for "i" %[[I:.*]] = 0 to 20 step 4 {
// CHECK:        nest.store "z" %x, %z[%[[I]]] where (%[[I]] >= 8, %[[I]] < 15)
func.func @steps(%x: f32, %y: memref<20xf32>, %z: memref<20xf32>) {
  nest.for "i" %i = 0 to 20 step 4 {
    nest.store "y" %x, %y[%i] : memref<20xf32>
  }
  nest.for "j" %j = 8 to 15 step 4 {
    nest.store "z" %x, %z[%j] : memref<20xf32>
  }
  func.return
}

// -----

// Where domains do not do, the body becomes a branch: a buffer of another extent in each iteration, another step.
// CHECK-LABEL: @extents
// CHECK:      nest.for "i" %[[I:.*]] = 0 to %n {
// CHECK-NEXT:   nest.store "y"
// CHECK:        %[[C:.*]] = arith.cmpi sge
// CHECK-NEXT:   nest.if %[[C]] {
// CHECK-NEXT:     nest.alloc "t"(%[[I]])
func.func @extents(%x: f32, %n: index, %y: memref<?xf32>, %z: memref<?xf32>) {
  nest.for "i" %i = 0 to %n {
    nest.store "y" %x, %y[%i] : memref<?xf32>
  }
  nest.for "j" %j = 1 to %n {
    %t = nest.alloc "t"(%j) : memref<?xf32>
    nest.store "t" %x, %t[%j - 1] : memref<?xf32>
    %v = nest.load %t[%j - 1] : memref<?xf32>
    nest.store "z" %v, %z[%j] : memref<?xf32>
  }
  func.return
}

// -----

// CHECK-LABEL: @multiples
// CHECK:      nest.for "i" %[[I:.*]] = 2 to %n {
// CHECK-NEXT:   nest.store "y"
// CHECK:        %[[C:.*]] = arith.cmpi slt
// CHECK-NEXT:   nest.if %[[C]] {
// CHECK-NEXT:     nest.store "z" %x, %z[%[[I]]] : memref<?xf32>
func.func @multiples(%n: index, %x: f32, %y: memref<?xf32>, %z: memref<?xf32>) {
  nest.for "i" %i = 2 to %n {
    nest.store "y" %x, %y[%i] : memref<?xf32>
  }
  nest.for "j" %j = 2 to %n step 2 {
    nest.store "z" %x, %z[%j] : memref<?xf32>
  }
  func.return
}

// -----

// The first loop has the longer step: it runs through the iterations of the second.
// CHECK-LABEL: @first_multiples
// CHECK:      nest.for "i" %[[I:.*]] = 2 to %n {
// CHECK:        nest.if
// CHECK-NEXT:     nest.store "y" %x, %y[%[[I]]] : memref<?xf32>
// CHECK:        nest.store "z" %x, %z[%[[I]]] : memref<?xf32>
func.func @first_multiples(%n: index, %x: f32, %y: memref<?xf32>, %z: memref<?xf32>) {
  nest.for "i" %i = 2 to %n step 2 {
    nest.store "y" %x, %y[%i] : memref<?xf32>
  }
  nest.for "j" %j = 2 to %n {
    nest.store "z" %x, %z[%j] : memref<?xf32>
  }
  func.return
}

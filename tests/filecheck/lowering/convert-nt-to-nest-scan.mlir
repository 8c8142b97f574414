// Running results: the first element of each row, then each from the one before it; in the order of memory.
// RUN: opt-tool %s -p to-nest | filecheck %s

// An unknown extent may be 0: there is a first element where the loop over it runs.
// CHECK-LABEL: func.func @rows
// CHECK:       nest.for "i" %[[I:.*]] = 0 to 4 {
// CHECK:         nest.for "j" %[[F:.*]] = 0 to min(1, %[[N:.*]]) {
// CHECK:           nest.load %x[%[[I]], %[[F]]] : memref<4x?xf32>
// CHECK:       nest.for "i.1" %[[I:.*]] = 0 to 4 {
// CHECK-NEXT:    nest.for "j.1" %[[J:.*]] = 0 to %[[N]] - 1 {
// CHECK-NEXT:      %[[OLD:.*]] = nest.load %y[%[[I]], %[[J]]] : memref<4x?xf32>
// CHECK-NEXT:      %[[X:.*]] = nest.load %x[%[[I]], %[[J]] + 1] : memref<4x?xf32>
// CHECK-NEXT:      %[[NEW:.*]] = arith.addf %[[OLD]], %[[X]] : f32
// CHECK-NEXT:      nest.store "y" %[[NEW]], %y[%[[I]], %[[J]] + 1] : memref<4x?xf32>
func.func @rows(%x: tensor<4x?xf32>) -> tensor<4x?xf32> {
  %y = nt.scan add %x along 1 : tensor<4x?xf32>
  func.return %y : tensor<4x?xf32>
}

// Down the columns, of truth values, of what a view shows.
// CHECK-LABEL: func.func @columns
// CHECK:       nest.store "y" %{{.*}}, %y[0, %{{.*}}] : memref<5x6xi8>
// CHECK:       nest.for "i{{.*}}" %[[I:.*]] = 0 to 4 {
// CHECK:         nest.for "j{{.*}}" %[[J:.*]] = 0 to 6 {
// CHECK:           nest.load %y[%[[I]], %[[J]]] : memref<5x6xi8>
// CHECK:           nest.load %x[%[[J]], %[[I]] + 1] : memref<6x5xi8>
// CHECK:           arith.andi
// CHECK:           nest.store "y" %{{.*}}, %y[%[[I]] + 1, %[[J]]] : memref<5x6xi8>
func.func @columns(%x: tensor<6x5xi1>) -> tensor<5x6xi1> {
  %t = nt.transpose %x perm [1, 0] : tensor<6x5xi1> -> tensor<5x6xi1>
  %y = nt.scan logical_and %t along 0 : tensor<5x6xi1>
  func.return %y : tensor<5x6xi1>
}

// Nothing to do.
// CHECK-LABEL: func.func @empty
// CHECK-NOT:   nest.
// CHECK:       func.return
func.func @empty(%x: tensor<0x3xf32>) {
  %y = nt.scan add %x along 0 : tensor<0x3xf32>
  %n = nt.dim %y[1] : tensor<0x3xf32>
  func.return
}

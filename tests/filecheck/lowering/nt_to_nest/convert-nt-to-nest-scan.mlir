// Running results: rows have a variable for the result so far; else the first element, then each from the one before it.
// RUN: opt-tool %s -p to-nest | filecheck %s
// RUN: opt-tool %s -p 'convert-nt-to-nest{scans-as-updates=true}' | filecheck %s --check-prefix=UPDATES

// CHECK-LABEL: func.func @rows
// CHECK:       nest.for "i" %[[I:.*]] = 0 to 4 {
// CHECK:         %[[S:.*]] = nest.alloc "y" : memref<f32>
// CHECK:         nest.store "y" %{{.*}}, %[[S]][]
// CHECK:         nest.for "j" %[[J:.*]] = 0 to %[[N:.*]] {
// CHECK-NEXT:      %[[X:.*]] = nest.load %x[%[[I]], %[[J]]] : memref<4x?xf32>
// CHECK-NEXT:      nest.accumulate "y" add %[[X]], %[[S]][] : memref<f32>
// CHECK-NEXT:      %[[NEW:.*]] = nest.load %[[S]][] : memref<f32>
// CHECK-NEXT:      nest.store "y" %[[NEW]], %y[%[[I]], %[[J]]] : memref<4x?xf32>
func.func @rows(%x: tensor<4x?xf32>) -> tensor<4x?xf32> {
  %y = nt.scan add %x along 1 : tensor<4x?xf32>
  func.return %y : tensor<4x?xf32>
}

// An operation without an identity. An unknown extent may be 0: there is a first element where the loop over it runs.
// CHECK-LABEL: func.func @differences
// CHECK:       nest.for "i" %[[F:.*]] = 0 to min(1, %[[N:.*]]) {
// CHECK:         nest.load %x[%[[F]]] : memref<?xf32>
// CHECK:       nest.for "i.1" %[[I:.*]] = 0 to %[[N]] - 1 {
// CHECK-NEXT:    %[[OLD:.*]] = nest.load %y[%[[I]]] : memref<?xf32>
// CHECK-NEXT:    %[[X:.*]] = nest.load %x[%[[I]] + 1] : memref<?xf32>
// CHECK-NEXT:    %[[NEW:.*]] = arith.subf %[[OLD]], %[[X]] : f32
// CHECK-NEXT:    nest.store "y" %[[NEW]], %y[%[[I]] + 1] : memref<?xf32>
func.func @differences(%x: tensor<?xf32>) -> tensor<?xf32> {
  %y = nt.scan subtract %x along 0 : tensor<?xf32>
  func.return %y : tensor<?xf32>
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

// As updates of the results so far, which are side by side.
// UPDATES-LABEL: func.func @down
// UPDATES:         %[[S:.*]] = nest.alloc "y"(%{{.*}}) : memref<?xf32>
// UPDATES:         nest.for "j" %j = 0 to %m {
// UPDATES-NEXT:      nest.store "y" %{{.*}}, %[[S]][%j]
// UPDATES:         nest.for "i" %i = 0 to %n {
// UPDATES-NEXT:      nest.for "j.1" %[[J:.*]] = 0 to %m {
// UPDATES-NEXT:        %[[A:.*]] = nest.load %x[%i, %[[J]]]
// UPDATES-NEXT:        nest.accumulate "y" add %[[A]], %[[S]][%[[J]]]
// UPDATES-NEXT:        %[[B:.*]] = nest.load %[[S]][%[[J]]]
// UPDATES-NEXT:        nest.store "y" %[[B]], %{{.*}}[%i, %[[J]]]
func.func @down(%x: tensor<?x?xf32> {nt.dims = ["n", "m"]}) -> tensor<?x?xf32> {
  %y = nt.scan add %x along 0 : tensor<?x?xf32>
  func.return %y : tensor<?x?xf32>
}

// An island: tensors enter as memrefs (bool as i8, integers signless), ins then outs; index values are used directly.
// RUN: opt-tool %s --verify-roundtrip | filecheck %s

// CHECK-LABEL: func.func @loops
// CHECK-NEXT:    %n = nt.dim %a[0]
// CHECK-NEXT:    %{{.*}} = nt.loops ins(%b, %p : tensor<?xui8>, tensor<?xi1>) outs(%a : tensor<?xf64>) {
// CHECK-NEXT:    ^{{.*}}(%bm: memref<?xi8>, %pm: memref<?xi8>, %am: memref<?xf64>):
// CHECK-NEXT:      nest.for "i" %i = 1 to %n {
// CHECK:             nest.store %{{.*}}, %am[%i] : memref<?xf64>
// CHECK:           nt.loops ins() outs() attributes {note} {
func.func @loops(%a: tensor<?xf64>, %b: tensor<?xui8>, %p: tensor<?xi1>) -> tensor<?xf64> {
  %n = nt.dim %a[0] : tensor<?xf64>
  %0 = nt.loops ins(%b, %p : tensor<?xui8>, tensor<?xi1>) outs(%a : tensor<?xf64>) {
  ^bb0(%bm: memref<?xi8>, %pm: memref<?xi8>, %am: memref<?xf64>):
    nest.for "i" %i = 1 to %n {
      %v = nest.load %am[%i - 1] : memref<?xf64>
      nest.store %v, %am[%i] : memref<?xf64>
    }
  }
  nt.loops ins() outs() attributes {note} {
  }
  func.return %0 : tensor<?xf64>
}

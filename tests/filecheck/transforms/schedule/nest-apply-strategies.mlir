// The first strategy that takes a nest, and of which no step is refused, is done to it; parameters have their values.
// RUN: opt-tool %s -p nest-apply-strategies | filecheck %s
// RUN: opt-tool %s -p 'nest-apply-strategies{file=%S/Inputs/strategies.mlir}' | filecheck %s --check-prefix=FILE

builtin.module attributes {nestor.strategies = [
    "schedule.sequence @products takes \"product\" { %t = schedule.match loops role \"term\"\n schedule.parallel %t }",
    "schedule.sequence @by_four takes \"column sums\" params {rows = 4} {\n %row = schedule.match loops role \"row\"\n %column = schedule.match loops role \"column\"\n %rows, %four = schedule.split %row by @rows tail(clamp)\n schedule.reorder %rows, %column, %four\n }",
    "schedule.sequence @rest takes \"loops\" {\n %i = schedule.match loops role \"outer\"\n schedule.parallel %i\n }"]} {

// CHECK: builtin.module {
// CHECK-LABEL: func.func @sums
// CHECK: nest.for "i.o" %{{.*}} = 0 to %{{.*}} ceildiv 4 {
// CHECK-NEXT: nest.for "j" %{{.*}} = 0 to %{{.*}} {
// CHECK-NEXT: nest.for "i.i"
// FILE-LABEL: func.func @sums
// FILE: nest.for "j.o"
// FILE-NEXT: nest.for "i"
// FILE-NEXT: nest.for "j.i" %{{.*}} vectorized(8) {
func.func @sums(%x: memref<?x?xf64>, %s: memref<?xf64> {nest.role = "inout"}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %n = memref.dim %x, %c0 : memref<?x?xf64>
  %m = memref.dim %x, %c1 : memref<?x?xf64>
  nest.for "i" %i = 0 to %n {
    nest.for "j" %j = 0 to %m {
      %a = nest.load %x[%i, %j] : memref<?x?xf64>
      nest.accumulate "s" add %a, %s[%j] : memref<?xf64>
    }
  }
  func.return
}

// What is no sum of columns is for the next; what is marked already stays as it is.
// CHECK-LABEL: func.func @copies
// CHECK: nest.for "i" %{{.*}} parallel {
// CHECK: nest.for "k" %{{.*}} vectorized(8) {
// FILE-LABEL: func.func @copies
func.func @copies(%x: memref<8xf64>, %y: memref<8xf64> {nest.role = "inout"}, %z: memref<8xf64> {nest.role = "inout"}) {
  nest.for "i" %i = 0 to 8 {
    %a = nest.load %x[%i] : memref<8xf64>
    nest.store "y" %a, %y[%i] : memref<8xf64>
  }
  nest.for "k" %i = 0 to 8 vectorized(8) {
    %a = nest.load %x[%i] : memref<8xf64>
    nest.store "z" %a, %z[%i] : memref<8xf64>
  }
  func.return
}
}

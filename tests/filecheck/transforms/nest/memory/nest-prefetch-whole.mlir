// Everything that an iteration loads through loops inside of it is fetched at its start, once a line.
// RUN: opt-tool %s -p 'nest-prefetch{loop=k buffer=x distance=8 whole=true func=tile}' | filecheck %s
// RUN: opt-tool %s -p 'nest-prefetch{loop=k buffer=x distance=1 whole=true func=added}' | filecheck %s --check-prefix=ADDED

// CHECK-LABEL: @tile
// CHECK:      nest.for "k" [[K:%\S+]] = 0 to %n {
// CHECK-NEXT:   nest.prefetch %x{{\[}}[[K]] + 8, 0] : memref<?x32xf32>
// CHECK-NEXT:   nest.prefetch %x{{\[}}[[K]] + 8, 16] : memref<?x32xf32>
// CHECK-NEXT:   nest.for "i" {{.*}} unrolled {
// CHECK-NEXT:     nest.for "j" {{.*}} vectorized(32) {
// CHECK-NOT:        nest.prefetch
func.func @tile(%x: memref<?x32xf32>, %y: memref<6x32xf32>, %n: index) {
  nest.for "k" %k = 0 to %n {
    nest.for "i" %i = 0 to 6 unrolled {
      nest.for "j" %j = 0 to 32 vectorized(32) {
        %a = nest.load %x[%k, %j] : memref<?x32xf32>
        nest.accumulate "y" add %a, %y[%i, %j] : memref<6x32xf32>
      }
    }
  }
  func.return
}

// What it adds to is fetched too, to be written; as much as a whole tile has, where the last one has less.
// ADDED-LABEL: @added
// ADDED:      nest.for "k" [[K:%\S+]] = 0 to 9 {
// ADDED-NEXT:   nest.prefetch %x[4 * [[K]] + 4, 0] {nestor.write} : memref<34x16xf32>
// ADDED-NEXT:   nest.prefetch %x[4 * [[K]] + 5, 0] {nestor.write} : memref<34x16xf32>
// ADDED-NEXT:   nest.prefetch %x[4 * [[K]] + 6, 0] {nestor.write} : memref<34x16xf32>
// ADDED-NEXT:   nest.prefetch %x[4 * [[K]] + 7, 0] {nestor.write} : memref<34x16xf32>
// ADDED-NEXT:   nest.for "i"
func.func @added(%x: memref<34x16xf32>, %y: memref<34x16xf32>) {
  nest.for "k" %k = 0 to 9 {
    nest.for "i" %i = 0 to min(4, 34 - 4 * %k) {
      nest.for "j" %j = 0 to 16 vectorized(16) {
        %a = nest.load %y[4 * %k + %i, %j] : memref<34x16xf32>
        nest.accumulate "x" add %a, %x[4 * %k + %i, %j] : memref<34x16xf32>
      }
    }
  }
  func.return
}

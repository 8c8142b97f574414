// Everything that an iteration loads through loops inside of it is fetched at its start, once a line.
// RUN: opt-tool %s -p 'nest-prefetch{loop=k buffer=x distance=8 whole=true}' | filecheck %s

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

// With at=k only accesses in that loop inside are fetched ahead; a line that is loaded and stored is fetched to be written.
// RUN: opt-tool %s -p 'nest-prefetch{loop=i buffer=x distance=2 at=k}' | filecheck %s
// RUN: not opt-tool %s -p 'nest-prefetch{loop=i buffer=y distance=1 at=k}' 2>&1 | filecheck %s --check-prefix=ELSEWHERE
// RUN: not opt-tool %s -p 'nest-prefetch{loop=i buffer=x distance=1 at=l}' 2>&1 | filecheck %s --check-prefix=MISSING
// RUN: not opt-tool %s -p 'nest-prefetch{loop=i buffer=x distance=1 at=k whole=true}' 2>&1 | filecheck %s --check-prefix=WHOLE

// CHECK-LABEL: @f
// CHECK:     nest.for "i" [[I:%\S+]] = 0 to %n
// CHECK:     nest.for "v"
// CHECK-NOT: nest.prefetch
// CHECK:     nest.for "k" [[K:%\S+]] = 0 to 100
// CHECK:     nest.prefetch %x{{\[}}[[I]] + 2, [[K]]] {nestor.write} : memref<?x100xf32>
// CHECK-NEXT: nest.load
// CHECK-NOT: nest.prefetch
// CHECK:     func.return

// ELSEWHERE: error: cannot prefetch "y" in the loop "i": nothing in the loop "k" loads from it or stores to it
// MISSING: error: cannot prefetch "x" in the loop "i": there is no loop "l" in it
// WHOLE: error: cannot prefetch "x" in the loop "i": what a whole iteration loads is fetched at its start, not in a loop inside of it
func.func @f(%x: memref<?x100xf32>, %y: memref<?x24xf64>, %n: index) {
  nest.for "i" %i = 0 to %n {
    nest.for "v" %v = 0 to 24 vectorized(24) {
      %a = nest.load %y[%i, %v] : memref<?x24xf64>
      %b = arith.truncf %a : f64 to f32
      nest.store "x" %b, %x[%i, %v] : memref<?x100xf32>
    }
    nest.for "k" %k = 0 to 100 {
      %a = nest.load %x[%i, %k] : memref<?x100xf32>
      %b = arith.addf %a, %a : f32
      nest.store "x" %b, %x[%i, %k] : memref<?x100xf32>
    }
  }
  func.return
}

// The two ways in which a copy of a buffer that is accumulated into can start: loaded, or from the combiner's identity.
// RUN: opt-tool %s -p 'nest-cache-write{buffer=y loop=o}' | filecheck %s
// RUN: opt-tool %s -p 'nest-cache-write{buffer=y loop=o init=identity}' | filecheck %s --check-prefix=ID

// CHECK-LABEL: @sums
// CHECK: nest.for "y_local.load.ax0" {{%\S+}} = 0 to 4 {
// CHECK: nest.store "y"
// ID-LABEL: @sums
// ID: [[C:%\S+]] = nest.alloc "y_local" : memref<4xf32>
// ID-NEXT: [[ZERO:%\S+]] = arith.constant -0.000000e+00 : f32
// ID-NEXT: nest.for "y_local.init.ax0" [[A:%\S+]] = 0 to 4 {
// ID-NEXT: nest.store "y" [[ZERO]], [[C]]{{\[}}[[A]]]
// ID: nest.accumulate "y" add {{%\S+}}, [[C]]{{\[}}%j]
// ID: nest.for "y_local.back.ax0" [[B:%\S+]] = 0 to 4 {
// ID-NEXT: [[E:%\S+]] = nest.load [[C]]{{\[}}[[B]]]
// ID-NEXT: nest.accumulate "y" add [[E]], %y{{\[}}[[B]]]
func.func @sums(%n: index, %x: memref<?x4xf32>, %y: memref<4xf32>) {
  nest.for "o" %o = 0 to %n {
    nest.for "k" %k = 0 to 8 {
      nest.for "j" %j = 0 to 4 {
        %a = nest.load %x[8 * %o + %k, %j] : memref<?x4xf32>
        nest.accumulate "y" add %a, %y[%j] : memref<4xf32>
      }
    }
  }
  func.return
}

// A tile of sums of rows that are a known number for each of an unknown one, as a view with merged axes has.
// RUN: opt-tool %s -p 'nest-cache-write{buffer=y loop=o init=identity}' | filecheck %s

// CHECK-LABEL: @rows_of_a_view
// CHECK: nest.alloc "y_local" : memref<6x4xf32>
// CHECK: nest.for "y_local.back.ax0" {{%\S+}} = 0 to min(6, {{%\S+}} - 6 * %o) {
func.func @rows_of_a_view(%x: memref<?x128x4xf32> {nest.dims = ["n", 128, 4]},
                          %r: memref<?x128x4xf32> {nest.role = "out", nest.dims = ["n", 128, 4]}) {
  %c0 = arith.constant 0 : index
  %n = memref.dim %x, %c0 : memref<?x128x4xf32>
  %v = memref.collapse_shape %x [[0, 1], [2]] : memref<?x128x4xf32> into memref<?x4xf32>
  %y = memref.collapse_shape %r [[0, 1], [2]] : memref<?x128x4xf32> into memref<?x4xf32>
  nest.for "o" %o = 0 to 128 * %n ceildiv 6 {
    nest.for "i" %i = 0 to 6 {
      nest.for "j" %j = 0 to 4 {
        %a = nest.load %v[6 * %o + %i, %j] : memref<?x4xf32>
        nest.accumulate "y" add %a, %y[6 * %o + %i, %j] where (6 * %o + %i < 128 * %n) : memref<?x4xf32>
      }
    }
  }
  func.return
}

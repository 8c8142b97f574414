// A matrix product as an algorithm, with nothing said about how it runs: examples/schedules/matmul.mlir says that.

func.func @matmul(%a: memref<?x?xf32> {nest.dims = ["m", "k"]}, %b: memref<?x?xf32> {nest.dims = ["k", "n"]},
                  %c: memref<?x?xf32> {nest.role = "out", nest.dims = ["m", "n"]}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0.0 : f32
  %m = memref.dim %a, %c0 : memref<?x?xf32>
  %k = memref.dim %a, %c1 : memref<?x?xf32>
  %n = memref.dim %b, %c1 : memref<?x?xf32>
  nest.for "row" %i = 0 to %m {
    nest.for "column" %j = 0 to %n {
      nest.store "c" %zero, %c[%i, %j] : memref<?x?xf32>
    }
  }
  nest.for "i" %i = 0 to %m {
    nest.for "j" %j = 0 to %n {
      nest.for "k" %l = 0 to %k {
        %x = nest.load %a[%i, %l] : memref<?x?xf32>
        %y = nest.load %b[%l, %j] : memref<?x?xf32>
        %p = arith.mulf %x, %y : f32
        nest.accumulate "c" add %p, %c[%i, %j] : memref<?x?xf32>
      }
    }
  }
  func.return
}

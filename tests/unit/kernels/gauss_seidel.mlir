// One in-place Gauss-Seidel sweep: the value just written is the left neighbour of the next point.
func.func @sweep(%a: memref<?x?xf64> {nestor.noalias}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %quarter = arith.constant 0.25 : f64
  %n = memref.dim %a, %c0 : memref<?x?xf64>
  %m = memref.dim %a, %c1 : memref<?x?xf64>
  %n1 = arith.subi %n, %c1 : index
  %m1 = arith.subi %m, %c1 : index
  scf.for %i = %c1 to %n1 step %c1 {
    scf.for %j = %c1 to %m1 step %c1 {
      %up = arith.subi %i, %c1 : index
      %down = arith.addi %i, %c1 : index
      %left = arith.subi %j, %c1 : index
      %right = arith.addi %j, %c1 : index
      %u = memref.load %a[%up, %j] : memref<?x?xf64>
      %d = memref.load %a[%down, %j] : memref<?x?xf64>
      %l = memref.load %a[%i, %left] : memref<?x?xf64>
      %r = memref.load %a[%i, %right] : memref<?x?xf64>
      %0 = arith.addf %u, %d : f64
      %1 = arith.addf %0, %l : f64
      %2 = arith.addf %1, %r : f64
      %3 = arith.mulf %2, %quarter : f64
      memref.store %3, %a[%i, %j] : memref<?x?xf64>
    }
  }
  func.return
}

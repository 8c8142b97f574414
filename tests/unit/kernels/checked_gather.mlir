// An index that is checked in a loop while a temporary buffer is live.
func.func @checked(%idx: memref<?xi64> {nestor.noalias}, %x: memref<?xf64> {nestor.noalias}, %out: memref<?xf64> {nestor.noalias}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %n = memref.dim %idx, %c0 : memref<?xi64>
  %m = memref.dim %x, %c0 : memref<?xf64>
  %t = memref.alloc(%n) : memref<?xf64>
  scf.for %i = %c0 to %n step %c1 {
    %k64 = memref.load %idx[%i] : memref<?xi64>
    %k = arith.index_cast %k64 : i64 to index
    %ok = arith.cmpi ult, %k, %m : index
    cf.assert %ok, "IndexError: index out of range" {nestor.kind = "IndexError", nestor.site = 7 : i64}
    %v = memref.load %x[%k] : memref<?xf64>
    memref.store %v, %t[%i] : memref<?xf64>
  }
  scf.for %i = %c0 to %n step %c1 {
    %v = memref.load %t[%i] : memref<?xf64>
    memref.store %v, %out[%i] : memref<?xf64>
  }
  memref.dealloc %t : memref<?xf64>
  func.return
}

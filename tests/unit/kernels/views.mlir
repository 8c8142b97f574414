// Strided arguments, views that share memory, a temporary buffer, and a gather along a column.
func.func @views(%x: memref<?x?xf64, strided<[?, ?]>>, %idx: memref<?xi64> {nestor.noalias}, %out: memref<?x?xf64> {nestor.noalias}, %col: memref<8xf64> {nestor.noalias}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %n = memref.dim %out, %c0 : memref<?x?xf64>
  %m = memref.dim %out, %c1 : memref<?x?xf64>
  %t = memref.alloc(%n, %m) : memref<?x?xf64>
  scf.for %i = %c0 to %n step %c1 {
    scf.for %j = %c0 to %m step %c1 {
      %v = memref.load %x[%i, %j] : memref<?x?xf64, strided<[?, ?]>>
      memref.store %v, %t[%i, %j] : memref<?x?xf64>
    }
  }
  %flat = memref.collapse_shape %t [[0, 1]] : memref<?x?xf64> into memref<?xf64>
  %size = memref.dim %flat, %c0 : memref<?xf64>
  %to = memref.collapse_shape %out [[0, 1]] : memref<?x?xf64> into memref<?xf64>
  scf.for %k = %c0 to %size step %c1 {
    %v = memref.load %flat[%k] : memref<?xf64>
    %w = arith.negf %v : f64
    memref.store %w, %to[%k] : memref<?xf64>
  }
  %all = arith.constant dense<true> : vector<8xi1>
  %none = arith.constant dense<0.0> : vector<8xf64>
  %lanes = vector.step : vector<8xindex>
  %g = vector.gather %flat[%c1] [%lanes], %all, %none : memref<?xf64>, vector<8xindex>, vector<8xi1>, vector<8xf64> into vector<8xf64>
  vector.store %g, %col[%c0] : memref<8xf64>, vector<8xf64>
  memref.dealloc %t : memref<?x?xf64>
  func.return
}

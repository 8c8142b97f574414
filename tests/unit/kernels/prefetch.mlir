// A column is fetched eight rows ahead, also behind the last one; for reading often and once, and for writing.
func.func @f(%x: memref<?x?xf32> {nestor.noalias}, %out: memref<?xf32> {nestor.noalias}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %n = memref.dim %x, %c0 : memref<?x?xf32>
  scf.for %i = %c0 to %n step %c1 {
    %ahead = arith.addi %i, %c8 : index
    memref.prefetch %x[%ahead, %c0], read, locality<3>, data : memref<?x?xf32>
    memref.prefetch %x[%ahead, %c1], read, locality<0>, data : memref<?x?xf32>
    memref.prefetch %out[%ahead], write, locality<2>, data : memref<?xf32>
    %a = memref.load %x[%i, %c0] : memref<?x?xf32>
    %b = memref.load %x[%i, %c1] : memref<?x?xf32>
    %c = arith.addf %a, %b : f32
    memref.store %c, %out[%i] : memref<?xf32>
  }
  func.return
}

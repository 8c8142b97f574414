// Row sums and maxima: a carried vector, reduced at the end; a rank-0 accumulator on the stack.
func.func @reductions(%x: memref<?x64xf32> {nestor.noalias}, %sum: memref<?xf32> {nestor.noalias}, %top: memref<?xf32> {nestor.noalias}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c16 = arith.constant 16 : index
  %c64 = arith.constant 64 : index
  %zero = arith.constant dense<0.0> : vector<16xf32>
  %low = arith.constant 0xFF800000 : f32
  %n = memref.dim %x, %c0 : memref<?x64xf32>
  %acc = memref.alloca() : memref<f32>
  scf.for %i = %c0 to %n step %c1 {
    memref.store %low, %acc[] : memref<f32>
    %s = scf.for %j = %c0 to %c64 step %c16 iter_args(%t = %zero) -> (vector<16xf32>) {
      %v = vector.load %x[%i, %j] : memref<?x64xf32>, vector<16xf32>
      %t1 = arith.addf %t, %v : vector<16xf32>
      %m = vector.reduction <maximumf>, %v : vector<16xf32> into f32
      %old = memref.load %acc[] : memref<f32>
      %new = arith.maximumf %old, %m : f32
      memref.store %new, %acc[] : memref<f32>
      scf.yield %t1 : vector<16xf32>
    }
    %total = vector.reduction <add>, %s fastmath<reassoc> : vector<16xf32> into f32
    memref.store %total, %sum[%i] : memref<?xf32>
    %best = memref.load %acc[] : memref<f32>
    memref.store %best, %top[%i] : memref<?xf32>
  }
  func.return
}

// A scratch buffer on the heap and an accumulator on the stack for each iteration of a parallel loop; captured vector.
func.func @prefix_sums(%x: memref<?x?xf64> {nestor.noalias}, %scale: f64, %out: memref<?x?xf64> {nestor.noalias}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %zero = arith.constant 0.0 : f64
  %n = memref.dim %x, %c0 : memref<?x?xf64>
  %m = memref.dim %x, %c1 : memref<?x?xf64>
  %splat = vector.broadcast %scale : f64 to vector<4xf64>
  "scf.parallel"(%c0, %n, %c3) <{operandSegmentSizes = array<i32: 1, 1, 1, 0>}> ({
  ^bb0(%i0: index):
    %end = arith.addi %i0, %c3 : index
    %stop = arith.minsi %end, %n : index
    %t = memref.alloc(%m) : memref<?xf64>
    %acc = memref.alloca() : memref<f64>
    scf.for %i = %i0 to %stop step %c1 {
      memref.store %zero, %acc[] : memref<f64>
      scf.for %j = %c0 to %m step %c1 {
        %v = memref.load %x[%i, %j] : memref<?x?xf64>
        %lane = vector.extract %splat[2] : f64 from vector<4xf64>
        %w = arith.mulf %v, %lane : f64
        %a = memref.load %acc[] : memref<f64>
        %s = arith.addf %a, %w : f64
        memref.store %s, %acc[] : memref<f64>
        memref.store %s, %t[%j] : memref<?xf64>
      }
      scf.for %j = %c0 to %m step %c1 {
        %v = memref.load %t[%j] : memref<?xf64>
        memref.store %v, %out[%i, %j] : memref<?x?xf64>
      }
    }
    scf.reduce
  }) {nestor.grain = 2 : i64} : (index, index, index) -> ()
  func.return
}

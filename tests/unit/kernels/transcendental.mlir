// Expanded functions on vectors and scalars; f16 is computed in f32.
func.func @transcendental(%x: memref<?xf32> {nestor.noalias}, %y: memref<?xf64> {nestor.noalias}, %e: memref<?xf32> {nestor.noalias}, %l: memref<?xf64> {nestor.noalias}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %n = memref.dim %x, %c0 : memref<?xf32>
  %rest = arith.remsi %n, %c4 : index
  %main = arith.subi %n, %rest : index
  scf.for %i = %c0 to %main step %c4 {
    %v = vector.load %x[%i] : memref<?xf32>, vector<4xf32>
    %a = math.exp %v : vector<4xf32>
    %b = math.tanh %a : vector<4xf32>
    %c = math.sin %b : vector<4xf32>
    %h = arith.truncf %c : vector<4xf32> to vector<4xf16>
    %d = math.log1p %h : vector<4xf16>
    %r = arith.extf %d : vector<4xf16> to vector<4xf32>
    vector.store %r, %e[%i] : memref<?xf32>, vector<4xf32>
  }
  scf.for %i = %c0 to %n step %c1 {
    %v = memref.load %y[%i] : memref<?xf64>
    %a = math.absf %v : f64
    %b = math.log %a : f64
    %c = math.powf %a, %b : f64
    memref.store %c, %l[%i] : memref<?xf64>
  }
  func.return
}

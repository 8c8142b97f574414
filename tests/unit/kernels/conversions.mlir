// Every change of element type, scalar and vector: f64, f32, f16, bf16, integers, bool in memory.
func.func @conversions(%x: memref<?xf64> {nestor.noalias}, %h: memref<?xf16> {nestor.noalias}, %s: memref<?xf32> {nestor.noalias}, %k: memref<?xi64> {nestor.noalias}, %flag: memref<?xi8> {nestor.noalias}, %bits: memref<?xi16> {nestor.noalias}) {
  %c0 = arith.constant 0 : index
  %c4 = arith.constant 4 : index
  %c1 = arith.constant 1 : index
  %n = memref.dim %x, %c0 : memref<?xf64>
  scf.for %i = %c0 to %n step %c1 {
    %v = memref.load %x[%i] : memref<?xf64>
    %half = arith.truncf %v : f64 to f16
    memref.store %half, %h[%i] : memref<?xf16>
    %b = arith.truncf %v : f64 to bf16
    %b2 = arith.mulf %b, %b : bf16
    %raw = arith.bitcast %b2 : bf16 to i16
    memref.store %raw, %bits[%i] : memref<?xi16>
  }
  %rest = arith.remsi %n, %c4 : index
  %main = arith.subi %n, %rest : index
  scf.for %i = %c0 to %main step %c4 {
    %v = vector.load %x[%i] : memref<?xf64>, vector<4xf64>
    %t = arith.truncf %v : vector<4xf64> to vector<4xf32>
    vector.store %t, %s[%i] : memref<?xf32>, vector<4xf32>
    %int = arith.fptosi %v : vector<4xf64> to vector<4xi32>
    %wide = arith.extsi %int : vector<4xi32> to vector<4xi64>
    vector.store %wide, %k[%i] : memref<?xi64>, vector<4xi64>
    %back = arith.sitofp %wide : vector<4xi64> to vector<4xf64>
    %neg = arith.cmpf olt, %back, %v : vector<4xf64>
    %byte = arith.extui %neg : vector<4xi1> to vector<4xi8>
    vector.store %byte, %flag[%i] : memref<?xi8>, vector<4xi8>
  }
  func.return
}

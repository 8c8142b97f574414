// A non-temporal store, to memory that may or may not be aligned to a machine register.
func.func @double(%x: memref<?xf32> {nestor.noalias}, %out: memref<?xf32> {nestor.noalias}) {
  %c0 = arith.constant 0 : index
  %c16 = arith.constant 16 : index
  %n = memref.dim %x, %c0 : memref<?xf32>
  %rest = arith.remui %n, %c16 : index
  %main = arith.subi %n, %rest : index
  scf.for %i = %c0 to %main step %c16 {
    %v = vector.load %x[%i] : memref<?xf32>, vector<16xf32>
    %w = arith.addf %v, %v : vector<16xf32>
    vector.store %w, %out[%i] {nestor.nontemporal} : memref<?xf32>, vector<16xf32>
  }
  func.return
}

// A column read by vectors: rank-reducing subviews and gathers, with a masked tail.
builtin.module {
  func.func @col(%x: memref<?x?xf64> {nestor.noalias}, %out: memref<?xf64> {nestor.noalias}) {
    %c0 = arith.constant 0 : index
    %c8 = arith.constant 8 : index
    %c1 = arith.constant 1 : index
    %c3 = arith.constant 3 : index
    %0 = arith.constant dense<[0, 1, 2, 3, 4, 5, 6, 7]> : vector<8xindex>
    %1 = arith.constant dense<true> : vector<8xi1>
    %2 = arith.constant dense<0.000000e+00> : vector<8xf64>
    %n = memref.dim %x, %c0 : memref<?x?xf64>
    %3 = arith.divui %n, %c8 : index
    scf.for %i_o = %c0 to %3 step %c1 {
      %4 = arith.muli %i_o, %c8 : index
      %5 = memref.subview %x[%4, %c3] [8, 1] [1, 1] : memref<?x?xf64> to memref<8xf64, strided<[?], offset: ?>>
      %a = vector.gather %5[%c0] [%0], %1, %2 : memref<8xf64, strided<[?], offset: ?>>, vector<8xindex>, vector<8xi1>, vector<8xf64> into vector<8xf64>
      vector.store %a, %out[%4] : memref<?xf64>, vector<8xf64>
    }
    %6 = arith.remui %n, %c8 : index
    %7 = vector.create_mask %6 : vector<8xi1>
    %8 = arith.muli %3, %c8 : index
    %9 = memref.subview %x[%8, %c3] [8, 1] [1, 1] : memref<?x?xf64> to memref<8xf64, strided<[?], offset: ?>>
    %a_1 = vector.gather %9[%c0] [%0], %7, %2 : memref<8xf64, strided<[?], offset: ?>>, vector<8xindex>, vector<8xi1>, vector<8xf64> into vector<8xf64>
    vector.maskedstore %out[%8], %7, %a_1 : memref<?xf64>, vector<8xi1>, vector<8xf64>
    func.return
  }
}

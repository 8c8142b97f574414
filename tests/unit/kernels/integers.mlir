// Integer arithmetic with its corners: floor division, shifts, min and max, extensions, bits.
func.func @integers(%a: memref<?xi32> {nestor.noalias}, %b: memref<?xi32> {nestor.noalias}, %q: memref<?xi32> {nestor.noalias}, %w: memref<?xi64> {nestor.noalias}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %one = arith.constant 1 : i32
  %seven = arith.constant 7 : i32
  %n = memref.dim %a, %c0 : memref<?xi32>
  scf.for %i = %c0 to %n step %c1 {
    %x = memref.load %a[%i] : memref<?xi32>
    %y0 = memref.load %b[%i] : memref<?xi32>
    %y1 = arith.ori %y0, %one : i32
    %y = arith.remsi %y1, %seven : i32
    %odd = arith.ori %y, %one : i32
    %f = arith.floordivsi %x, %odd : i32
    %c = arith.ceildivsi %x, %odd : i32
    %s = arith.andi %y0, %seven : i32
    %l = arith.shli %f, %s : i32
    %r = arith.shrsi %c, %s : i32
    %u = arith.shrui %x, %s : i32
    %mx = arith.maxsi %l, %r : i32
    %mn = arith.minui %mx, %u : i32
    %abs = math.absi %mn : i32
    %p = math.ctpop %abs : i32
    memref.store %p, %q[%i] : memref<?xi32>
    %wide = arith.extsi %x : i32 to i64
    %zwide = arith.extui %y0 : i32 to i64
    %lo, %hi = arith.mului_extended %wide, %zwide : i64
    %sum = arith.addi %lo, %hi : i64
    %less = arith.cmpi ult, %wide, %sum : i64
    %pick = arith.select %less, %sum, %wide : i64
    memref.store %pick, %w[%i] : memref<?xi64>
  }
  func.return
}

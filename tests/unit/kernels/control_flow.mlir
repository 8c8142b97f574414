// scf.while inside scf.for, scf.if with and without results: Collatz steps, capped.
func.func @collatz(%a: memref<?xi64> {nestor.noalias}, %limit: i64, %steps: memref<?xi64> {nestor.noalias}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0 : i64
  %one = arith.constant 1 : i64
  %two = arith.constant 2 : i64
  %three = arith.constant 3 : i64
  %mask = arith.constant 65535 : i64
  %n = memref.dim %a, %c0 : memref<?xi64>
  scf.for %i = %c0 to %n step %c1 {
    %raw = memref.load %a[%i] : memref<?xi64>
    %low = arith.andi %raw, %mask : i64
    %start = arith.addi %low, %one : i64
    %last, %count = scf.while (%v = %start, %k = %zero) : (i64, i64) -> (i64, i64) {
      %more = arith.cmpi ne, %v, %one : i64
      %room = arith.cmpi slt, %k, %limit : i64
      %go = arith.andi %more, %room : i1
      scf.condition(%go) %v, %k : i64, i64
    } do {
    ^bb0(%v: i64, %k: i64):
      %bit = arith.andi %v, %one : i64
      %odd = arith.cmpi eq, %bit, %one : i64
      %next = scf.if %odd -> (i64) {
        %t = arith.muli %v, %three : i64
        %u = arith.addi %t, %one : i64
        scf.yield %u : i64
      } else {
        %h = arith.divsi %v, %two : i64
        scf.yield %h : i64
      }
      %k1 = arith.addi %k, %one : i64
      scf.yield %next, %k1 : i64, i64
    }
    memref.store %count, %steps[%i] : memref<?xi64>
    %done = arith.cmpi eq, %last, %one : i64
    scf.if %done {
      memref.store %last, %a[%i] : memref<?xi64>
    }
  }
  func.return
}

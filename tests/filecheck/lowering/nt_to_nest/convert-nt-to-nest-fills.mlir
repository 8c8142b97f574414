// convert-nt-to-nest: what an island only writes over an array is computed there, not in a buffer of its own.
// RUN: opt-tool %s -p convert-nt-to-nest --split-input-file | filecheck %s

func.func @scaled(%a: tensor<8xf64> {nt.mutated}, %x: tensor<8xf64>) -> (tensor<8xf64> {nt.writes_arg = 0 : i64}) {
  %0 = nt.multiply %a, %x : tensor<8xf64>
  %a1 = nt.loops ins(%0 : tensor<8xf64>) outs(%a : tensor<8xf64>) {
  ^bb0(%v: memref<8xf64>, %m: memref<8xf64>):
    nest.for "i" %i = 0 to 8 {
      %1 = nest.load %v[%i] : memref<8xf64>
      nest.store "a" %1, %m[%i] : memref<8xf64>
    }
  }
  func.return %a1 : tensor<8xf64>
}
// CHECK-LABEL: func.func @scaled
// CHECK-NOT:     nest.alloc
// CHECK:         nest.for "i"
// CHECK:           nest.store "multiply" %{{.*}}, %a[%i] : memref<8xf64>
// CHECK-NOT:     nest.for

// -----

// An index that may be outside of its axis stands between: the caller must not see the product then.
func.func @checked(%a: tensor<8xf64> {nt.mutated}, %x: tensor<8xf64>, %n: index) -> (tensor<8xf64> {nt.writes_arg = 0 : i64}) {
  %0 = nt.multiply %a, %x : tensor<8xf64>
  %k = nest.index %n of 8 axis 0 of "x"
  %a1 = nt.loops ins(%0 : tensor<8xf64>) outs(%a : tensor<8xf64>) {
  ^bb0(%v: memref<8xf64>, %m: memref<8xf64>):
    nest.for "i" %i = 0 to 8 {
      %1 = nest.load %v[%i] : memref<8xf64>
      nest.store "a" %1, %m[%i] : memref<8xf64>
    }
  }
  func.return %a1 : tensor<8xf64>
}
// CHECK-LABEL: func.func @checked
// CHECK:         %[[T:.*]] = nest.alloc "t"
// CHECK:           nest.store "multiply" %{{.*}}, %[[T]][%i]
// CHECK:         nest.index
// CHECK:           nest.store "a" %{{.*}}, %a[%

// -----

// What the product reads of the array in another place, and what is read of it later, is as it was before.
func.func @needed(%a: tensor<8xf64> {nt.mutated}, %x: tensor<8xf64>) -> (tensor<8xf64>, tensor<8xf64> {nt.writes_arg = 0 : i64}) {
  %0 = nt.multiply %a, %x : tensor<8xf64>
  %a1 = nt.loops ins(%0 : tensor<8xf64>) outs(%a : tensor<8xf64>) {
  ^bb0(%v: memref<8xf64>, %m: memref<8xf64>):
    nest.for "i" %i = 0 to 8 {
      %1 = nest.load %v[%i] : memref<8xf64>
      nest.store "a" %1, %m[%i] : memref<8xf64>
    }
  }
  %2 = nt.sin %a : tensor<8xf64>
  func.return %2, %a1 : tensor<8xf64>, tensor<8xf64>
}
// CHECK-LABEL: func.func @needed
// CHECK:         nest.store "multiply" %{{.*}}, %t[%i]

// -----

// Another argument may be in the same memory.
func.func @shared(%a: tensor<8xf64> {nt.mutated, nt.alias_set = 0 : i64}, %x: tensor<8xf64> {nt.alias_set = 0 : i64}) -> (tensor<8xf64> {nt.writes_arg = 0 : i64}) {
  %0 = nt.multiply %a, %x : tensor<8xf64>
  %a1 = nt.loops ins(%0 : tensor<8xf64>) outs(%a : tensor<8xf64>) {
  ^bb0(%v: memref<8xf64>, %m: memref<8xf64>):
    nest.for "i" %i = 0 to 8 {
      %1 = nest.load %v[%i] : memref<8xf64>
      nest.store "a" %1, %m[%i] : memref<8xf64>
    }
  }
  func.return %a1 : tensor<8xf64>
}
// CHECK-LABEL: func.func @shared
// CHECK:         nest.store "multiply" %{{.*}}, %t[%i]

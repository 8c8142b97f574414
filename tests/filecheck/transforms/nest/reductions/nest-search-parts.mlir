// The place of an extreme is looked for in the part of the row that has it.
// RUN: opt-tool %s -p 'nest-search-parts{extreme=j search=j.1 parts=4}' --split-input-file | filecheck %s

// CHECK-LABEL: @f
// CHECK: [[PARTS:%\S+]] = nest.alloc "m_parts" : memref<4xf32>
// CHECK: nest.for "j.p" [[P:%\S+]] = 0 to 4 {
// CHECK: nest.for "j" [[J:%\S+]] = 0 to 3 {
// CHECK-NEXT: [[A:%\S+]] = nest.load %x[%i, 3 * [[P]] + [[J]]]
// CHECK-NEXT: nest.accumulate "m" maximum [[A]], [[PARTS]]{{\[}}[[P]]]
// CHECK: nest.for "j.combine" [[C:%\S+]] = 0 to 4 {
// CHECK: [[LARGEST:%\S+]] = nest.load %m[]
// CHECK: [[LAST:%\S+]] = arith.constant 3 : i32
// CHECK-NEXT: nest.store "place" [[LAST]], [[FOUND:%\S+]][]
// CHECK-NEXT: nest.for "j.1.p" [[Q:%\S+]] = 0 to 4 {
// CHECK-NEXT: [[B:%\S+]] = nest.load [[PARTS]]{{\[}}[[Q]]]
// CHECK-NEXT: arith.cmpf oeq, [[B]], [[LARGEST]] : f32
// CHECK-NEXT: arith.cmpf uno, [[B]], [[B]] : f32
// CHECK: [[K:%\S+]] = arith.index_cast [[Q]] : index to i32
// CHECK-NEXT: [[S:%\S+]] = arith.select {{%\S+}}, [[K]], [[LAST]] : i32
// CHECK-NEXT: nest.accumulate "place" minsi [[S]], [[FOUND]][]
// CHECK: [[N:%\S+]] = nest.load [[FOUND]][]
// CHECK-NEXT: [[PART:%\S+]] = arith.index_cast [[N]] : i32 to index
// CHECK-NEXT: nest.for "j.1" [[L:%\S+]] = 0 to 3 {
// CHECK: nest.load %x[%i, 3 * [[PART]] + [[L]]]
func.func @f(%x: memref<5x12xf32>, %out: memref<5xi32> {nest.role = "out"}) {
  %lowest = arith.constant 0xff800000 : f32
  %none = arith.constant 2147483647 : i32
  nest.for "i" %i = 0 to 5 {
    %m = nest.alloc "m" : memref<f32>
    nest.store "m" %lowest, %m[] : memref<f32>
    nest.for "j" %j = 0 to 12 {
      %a = nest.load %x[%i, %j] : memref<5x12xf32>
      nest.accumulate "m" maximum %a, %m[] : memref<f32>
    }
    %p = nest.alloc "p" : memref<i32>
    nest.store "place" %none, %p[] : memref<i32>
    %largest = nest.load %m[] : memref<f32>
    nest.for "j.1" %j = 0 to 12 {
      %a = nest.load %x[%i, %j] : memref<5x12xf32>
      %equal = arith.cmpf oeq, %a, %largest : f32
      %nan = arith.cmpf uno, %a, %a : f32
      %found = arith.ori %equal, %nan : i1
      %k = arith.index_cast %j : index to i32
      %place = arith.select %found, %k, %none : i32
      nest.accumulate "place" minsi %place, %p[] : memref<i32>
    }
    %first = nest.load %p[] : memref<i32>
    nest.store "place" %first, %out[%i] : memref<5xi32>
  }
  func.return
}

// -----

// Integers, from the back: no element is a NaN.
// CHECK-LABEL: @smallest
// CHECK: nest.load %x[7 - 2 * {{%\S+}} - {{%\S+}}]
// CHECK: arith.cmpi eq
// CHECK: nest.load %x[7 - 2 * %part{{\S*}} - {{%\S+}}]
// CHECK-NEXT: arith.cmpi eq
func.func @smallest(%x: memref<8xi32>, %out: memref<i64> {nest.role = "out"}) {
  %highest = arith.constant 2147483647 : i32
  %none = arith.constant 9223372036854775807 : i64
  %m = nest.alloc "m" : memref<i32>
  nest.store "m" %highest, %m[] : memref<i32>
  nest.for "j" %j = 0 to 8 {
    %a = nest.load %x[7 - %j] : memref<8xi32>
    nest.accumulate "m" minsi %a, %m[] : memref<i32>
  }
  %p = nest.alloc "p" : memref<i64>
  nest.store "place" %none, %p[] : memref<i64>
  %least = nest.load %m[] : memref<i32>
  nest.for "j.1" %j = 0 to 8 {
    %a = nest.load %x[7 - %j] : memref<8xi32>
    %found = arith.cmpi eq, %a, %least : i32
    %k = arith.index_cast %j : index to i64
    %place = arith.select %found, %k, %none : i64
    nest.accumulate "place" minsi %place, %p[] : memref<i64>
  }
  %first = nest.load %p[] : memref<i64>
  nest.store "place" %first, %out[] : memref<i64>
  func.return
}

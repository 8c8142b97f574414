// A nest is copied for a case, and the copy simplified by it: loops whose splits leave no remainder, no domains.
// RUN: opt-tool %s -p 'nest-specialise{loop=i when="n == 64"}' | filecheck %s
// RUN: opt-tool %s -p 'nest-specialise{loop=i when="m % 4 == 2 and n >= 8"}' | filecheck %s --check-prefix=BLOCKS
// RUN: opt-tool %s -p 'nest-specialise{loop=i when="(n + 2) % 4 == 0"},nest-split{loop=i.1 factor=4 tail=remainder}' | filecheck %s --check-prefix=EVEN
// RUN: opt-tool %s -p 'nest-specialise{loop=i when="n == 64"},nest-split{loop=i.1 factor=16 tail=perfect}' | filecheck %s --check-prefix=PERFECT
// RUN: opt-tool %s -p 'nest-specialise{loop=i when="n == m"}' | filecheck %s --check-prefix=SQUARE
// RUN: opt-tool %s -p 'nest-specialise{loop=j when="2 * i == 6 and k != 3"}' | filecheck %s --check-prefix=ROW
// RUN: opt-tool %s -p 'nest-specialise{loop=i when="upper(i) == 32 and lower(j) + extent(k.in) < 9"}' | filecheck %s --check-prefix=BOUNDS

// CHECK-LABEL: @f
// CHECK: [[IS:%\S+]] = arith.cmpi eq, %n, {{%\S+}} : index
// CHECK-NEXT: nest.if [[IS]] {
// CHECK-NEXT: nest.for "i.1" [[I:%\S+]] = 0 to 64 {
// CHECK-NEXT: [[T:%\S+]] = nest.alloc "t.1" : memref<4xf32>
// CHECK-NEXT: nest.for "k.in.1" {{%\S+}} = 0 to 4 {
// CHECK: nest.for "j.1" [[J:%\S+]] = 2 to min(%m2, 100) {
// CHECK: nest.store "y" {{%\S+}}, %y{{\[}}[[I]], [[J]]] : memref
// CHECK: } else {
// CHECK-NEXT: nest.for "i" [[I:%\S+]] = 0 to %n {
// CHECK: nest.alloc "t" :
// CHECK: nest.for "j" [[J:%\S+]] = 2 to min(%m2, 100) {
// CHECK: nest.store {{.*}} where ([[I]] + [[J]] < 300)

// BLOCKS: nest.if
// BLOCKS: [[Q:%\S+]] = arith.floordivsi
// BLOCKS-NEXT: nest.for "i.1" {{%\S+}} = 0 to %n {
// BLOCKS: nest.for "j.1" {{%\S+}} = 2 to min(4 * [[Q]] + 2, 100) {

// EVEN: nest.for "i.1.o" {{%\S+}} = 0 to {{(%\S+ \+ )?%\S+}}{{.*}} {
// EVEN-NEXT: nest.for "i.1.i" {{%\S+}} = 0 to 4 {
// EVEN: nest.for "i.1.t" {{%\S+}} = 0 to 2 {

// PERFECT: nest.for "i.1.o" {{%\S+}} = 0 to 4 {
// PERFECT-NEXT: nest.for "i.1.i" {{%\S+}} = 0 to 16 {

// SQUARE: nest.for "i.1" {{%\S+}} = 0 to %m2 {

// ROW: nest.for "i" %i = 0 to %n {
// ROW: arith.cmpi ne
// ROW: nest.if
// ROW-NEXT: nest.for "j.1" [[J:%\S+]] = 2 to min(%m2, 100) {
// ROW-NEXT: nest.load %a[3, [[J]]]
// ROW: nest.store {{.*}}, %y[3, [[J]]] : memref

// BOUNDS: nest.if
// BOUNDS-NEXT: nest.for "i.1" {{%\S+}} = 0 to 32 {
func.func @f(%a: memref<?x?xf32> {nest.dims = ["n", "m"]}, %y: memref<?x?xf32> {nest.dims = ["n", "m"]}, %k: i64) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0.0 : f32
  %n = memref.dim %a, %c0 : memref<?x?xf32>
  %m2 = memref.dim %y, %c1 : memref<?x?xf32>
  %steps = arith.index_cast %k : i64 to index
  nest.for "i" %i = 0 to %n {
    %t = nest.alloc "t" : memref<4xf32>
    nest.for "k.in" %u = 0 to 4 {
      nest.store "t" %zero, %t[%u] : memref<4xf32>
    }
    nest.for "j" %j = 2 to min(%m2, 100) {
      %v = nest.load %a[%i, %j] : memref<?x?xf32>
      nest.store "y" %v, %y[%i, %j] where (%i + %j < 300) : memref<?x?xf32>
    }
  }
  func.return
}

// Loops over tiles stand outside of the loops in a tile; what is left over is clamped, masked, or done in loops of its own.
// RUN: opt-tool %s -p 'nest-tile{loops=i,j sizes=4,3}' --split-input-file | filecheck %s
// RUN: opt-tool %s -p 'nest-tile{loops=i,j sizes=4,3 tail=mask}' --split-input-file | filecheck %s --check-prefix=MASK
// RUN: opt-tool %s -p 'nest-tile{loops=i,j sizes=4,3 tail=clamp}' --split-input-file | filecheck %s --check-prefix=CLAMP

// CHECK-LABEL: @even
// CHECK: nest.for "i.o" [[IO:%\S+]] = 0 to 2 {
// CHECK-NEXT: nest.for "j.o" [[JO:%\S+]] = 0 to 3 {
// CHECK-NEXT: nest.for "i.i" [[II:%\S+]] = 0 to 4 {
// CHECK-NEXT: nest.for "j.i" [[JI:%\S+]] = 0 to 3 {
// CHECK-NEXT: nest.store "y" {{.*}}[4 * [[IO]] + [[II]], 3 * [[JO]] + [[JI]]]
// CHECK-NOT: nest.for
// MASK-LABEL: @even
// MASK-NOT: where
// CLAMP-LABEL: @even
// CLAMP-NOT: min
func.func @even(%x: f32, %y: memref<8x9xf32>) {
  nest.for "i" %i = 0 to 8 {
    nest.for "j" %j = 0 to 9 {
      nest.store "y" %x, %y[%i, %j] : memref<8x9xf32>
    }
  }
  func.return
}

// -----

// One iteration of "i.t" is left: it is no loop.
// CHECK-LABEL: @uneven
// CHECK: nest.for "i.o" {{%\S+}} = 0 to 2 {
// CHECK: nest.for "j.o" {{%\S+}} = 0 to 3 {
// CHECK: nest.for "i.i" {{%\S+}} = 0 to 4 {
// CHECK: nest.for "j.i" {{%\S+}} = 0 to 3 {
// CHECK: nest.for "j.o.1" {{%\S+}} = 0 to 3 {
// CHECK-NEXT: nest.for "i.i.1" [[II:%\S+]] = 0 to 2 {
// CHECK-NEXT: nest.for "j.i.1" {{%\S+}} = 0 to 3 {
// CHECK-NEXT: nest.store "y" {{.*}}[[[II]] + 9, {{.*}} + 2]
// CHECK-NOT: nest.for
// MASK-LABEL: @uneven
// MASK: nest.store "y" {{.*}} where (4 * [[IO:%\S+]] + [[II:%\S+]] < 10)
// CLAMP-LABEL: @uneven
// CLAMP: nest.for "i.i" {{%\S+}} = 0 to min(4, 10 - 4 * {{%\S+}}) {
// CLAMP-NEXT: nest.for "j.i" {{%\S+}} = 0 to 3 {
func.func @uneven(%x: f32, %y: memref<11x11xf32>) {
  nest.for "i" %i = 1 to 11 {
    nest.for "j" %j = 2 to 11 {
      nest.store "y" %x, %y[%i, %j] : memref<11x11xf32>
    }
  }
  func.return
}

// -----

// CHECK-LABEL: @symbolic
// CHECK: nest.for "i.o" {{%\S+}} = 0 to %n floordiv 4 {
// CHECK-NEXT: nest.for "j.o" {{%\S+}} = 0 to %m floordiv 3 {
// CHECK-NEXT: nest.for "i.i" {{%\S+}} = 0 to 4 {
// CHECK-NEXT: nest.for "j.i" {{%\S+}} = 0 to 3 {
// CHECK: nest.for "j.t" [[JT:%\S+]] = {{.*}}%m floordiv 3{{.*}} to %m ceildiv 3 {
// CHECK-NEXT: nest.for "i.i.1" {{%\S+}} = 0 to 4 {
// CHECK-NEXT: nest.for "j.i.1" {{%\S+}} = 0 to %m - 3 * [[JT]] {
// CHECK: nest.for "i.t" [[IT:%\S+]] = {{.*}}%n floordiv 4{{.*}} to %n ceildiv 4 {
// CHECK-NEXT: nest.for "j.o.1"
// CHECK-NEXT: nest.for "i.i.2" {{%\S+}} = 0 to %n - 4 * [[IT]] {
// CHECK: nest.for "j.t.1"
// MASK-LABEL: @symbolic
// MASK: nest.for "i.o" [[IO:%\S+]] = 0 to %n ceildiv 4 {
// MASK-NEXT: nest.for "j.o" [[JO:%\S+]] = 0 to %m ceildiv 3 {
// MASK-NEXT: nest.for "i.i" [[II:%\S+]] = 0 to 4 {
// MASK-NEXT: nest.for "j.i" [[JI:%\S+]] = 0 to 3 {
// MASK: where (4 * [[IO]] + [[II]] < %n, 3 * [[JO]] + [[JI]] < %m)
// CLAMP-LABEL: @symbolic
// CLAMP: nest.for "i.i" {{%\S+}} = 0 to min(4, %n - 4 * {{%\S+}}) {
// CLAMP-NEXT: nest.for "j.i" {{%\S+}} = 0 to min(3, %m - 3 * {{%\S+}}) {
func.func @symbolic(%x: memref<?x?xf32>, %y: memref<?x?xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %n = memref.dim %x, %c0 : memref<?x?xf32>
  %m = memref.dim %x, %c1 : memref<?x?xf32>
  nest.for "i" %i = 0 to %n {
    nest.for "j" %j = 0 to %m {
      %a = nest.load %x[%i, %j] : memref<?x?xf32>
      nest.store "y" %a, %y[%j, %i] : memref<?x?xf32>
    }
  }
  func.return
}

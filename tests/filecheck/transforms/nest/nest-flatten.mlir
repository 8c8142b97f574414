// Two loops over contiguous buffers become one over collapsed views.
// RUN: opt-tool %s -p 'nest-flatten{loop=i}' --split-input-file | filecheck %s

// CHECK-LABEL: @static
// CHECK: [[X:%\S+]] = memref.collapse_shape %x {{.*}} into memref<35xf32>
// CHECK: nest.for "i_j" [[K:%\S+]] = 0 to 35 {
// CHECK-NEXT: nest.load [[X]]{{\[}}[[K]]]
func.func @static(%x: memref<5x7xf32>, %y: memref<5x7xf32>) {
  nest.for "i" %i = 0 to 5 {
    nest.for "j" %j = 0 to 7 {
      %a = nest.load %x[%i, %j] : memref<5x7xf32>
      nest.store "y" %a, %y[%i, %j] : memref<5x7xf32>
    }
  }
  func.return
}

// -----

// Extents of one name are one extent; an access that uses neither variable stays.
// CHECK-LABEL: @symbolic
// CHECK: [[NM:%\S+]] = arith.muli %n, %m : index
// CHECK: nest.for "i_j" [[K:%\S+]] = 0 to [[NM]] {
// CHECK: nest.load %s[0]
// CHECK: nest.store "y" {{.*}}{{\[}}[[K]], 1]
func.func @symbolic(%x: memref<?x?xf32> {nest.dims = ["n", "m"]}, %s: memref<1xf32>,
                    %y: memref<?x?x2xf32> {nest.dims = ["n", "m", 2]}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %n = memref.dim %x, %c0 : memref<?x?xf32>
  %m = memref.dim %x, %c1 : memref<?x?xf32>
  nest.for "i" %i = 0 to %n {
    nest.for "j" %j = 0 to %m {
      %a = nest.load %x[%i, %j] : memref<?x?xf32>
      %b = nest.load %s[0] : memref<1xf32>
      %c = arith.addf %a, %b : f32
      nest.store "y" %c, %y[%i, %j, 1] : memref<?x?x2xf32>
    }
  }
  func.return
}

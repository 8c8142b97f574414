// Two loops over the same iterations become one, also where each iteration reads what earlier ones wrote.
// RUN: opt-tool %s -p 'nest-fuse{first=i second=j}' --split-input-file | filecheck %s

// What stands between the loops moves before them.
// CHECK-LABEL: @symbolic
// CHECK: [[S:%\S+]] = nest.alloc "s"
// CHECK-NEXT: [[ZERO:%\S+]] = arith.constant 0.000000e+00 : f32
// CHECK-NEXT: nest.store "s" [[ZERO]], [[S]][]
// CHECK-NEXT: nest.for "i" [[I:%\S+]] = 0 to %n {
// CHECK-NEXT: [[V:%\S+]] = nest.load %x{{\[}}[[I]]]
// CHECK-NEXT: nest.store "y" [[V]], %y{{\[}}[[I]]]
// CHECK-NEXT: [[W:%\S+]] = nest.load %y{{\[}}[[I]]]
// CHECK-NEXT: nest.accumulate "s" add [[W]], [[S]][]
// CHECK-NOT: nest.for
func.func @symbolic(%n: index, %x: memref<?xf32>, %y: memref<?xf32>) {
  nest.for "i" %i = 0 to %n {
    %v = nest.load %x[%i] : memref<?xf32>
    nest.store "y" %v, %y[%i] : memref<?xf32>
  }
  %s = nest.alloc "s" : memref<f32>
  %zero = arith.constant 0.0 : f32
  nest.store "s" %zero, %s[] : memref<f32>
  nest.for "j" %j = 0 to %n {
    %v = nest.load %y[%j] : memref<?xf32>
    nest.accumulate "s" add %v, %s[] : memref<f32>
  }
  func.return
}

// -----

// A lower bound and a step; the bounds differ, the iterations 3, 5 and 7 are the same. The second loop looks back.
// CHECK-LABEL: @uneven
// CHECK: nest.for "i" [[I:%\S+]] = 3 to 9 step 2 {
// CHECK: nest.load %y{{\[}}[[I]] - 2]
// CHECK: nest.for "k"
// CHECK-NEXT: nest.store "z" {{%\S+}}, %z{{\[}}[[I]],
// CHECK-NOT: nest.for
func.func @uneven(%x: f32, %y: memref<9xf32>, %z: memref<9x5xf32>) {
  nest.for "i" %i = 3 to 9 step 2 {
    nest.store "y" %x, %y[%i] : memref<9xf32>
  }
  nest.for "j" %j = 3 to 8 step 2 {
    %v = nest.load %y[%j - 2] : memref<9xf32>
    nest.for "k" %k = 0 to 5 {
      nest.store "z" %v, %z[%j, %k] : memref<9x5xf32>
    }
  }
  func.return
}

// -----

// Equal names of extents are equal extents, inside of other loops too; reductions into one element commute.
// CHECK-LABEL: @named
// CHECK: nest.for "t"
// CHECK-NEXT: nest.for "i"
// CHECK: nest.accumulate "s" add
// CHECK: nest.accumulate "s" add
// CHECK-NOT: nest.for
func.func @named(%x: memref<?xi32> {nest.dims = ["n"]}, %y: memref<?xi32> {nest.dims = ["n"]}, %s: memref<?xi32>) {
  %c0 = arith.constant 0 : index
  %n = memref.dim %x, %c0 : memref<?xi32>
  %m = memref.dim %y, %c0 : memref<?xi32>
  nest.for "t" %t = 0 to 4 {
    nest.for "i" %i = %t to %n {
      %v = nest.load %x[%i] : memref<?xi32>
      nest.accumulate "s" add %v, %s[%t] : memref<?xi32>
    }
    nest.for "j" %j = %t to %m {
      %v = nest.load %y[%j] : memref<?xi32>
      nest.accumulate "s" add %v, %s[%t] : memref<?xi32>
    }
  }
  func.return
}

// -----

// What a domain or a branch excludes is no dependence.
// CHECK-LABEL: @domains
// CHECK: nest.for "i"
// CHECK-NOT: nest.for
func.func @domains(%x: f32, %n: index, %y: memref<?xf32>, %z: memref<?xf32>) {
  %c8 = arith.constant 8 : index
  nest.for "i" %i = 0 to %n {
    nest.store "y" %x, %y[%i] where (%i < 8) : memref<?xf32>
  }
  nest.for "j" %j = 0 to %n {
    %late = arith.cmpi sge, %j, %c8 : index
    nest.if %late {
      %v = nest.load %y[%j + 1] : memref<?xf32>
      nest.store "z" %v, %z[%j] : memref<?xf32>
    }
  }
  func.return
}

// -----

// Attributes of both stay, those of the first where both have one.
// CHECK-LABEL: @attributes
// CHECK: nest.for "i" {{%\S+}} = 2 to %n attributes {nestor.note = "first", nestor.other = 3 : i64} {
func.func @attributes(%n: index, %x: memref<?xf32>, %y: memref<?xf32>, %z: memref<?xf32>) {
  nest.for "i" %i = 2 to %n attributes {nestor.note = "first"} {
    %a = nest.load %x[%i] : memref<?xf32>
    nest.store "y" %a, %y[%i] : memref<?xf32>
  }
  nest.for "j" %j = 2 to %n attributes {nestor.note = "second", nestor.other = 3 : i64} {
    %a = nest.load %x[%j] : memref<?xf32>
    nest.store "z" %a, %z[%j] : memref<?xf32>
  }
  func.return
}

// -----

// So does a nest that touches nothing of the first loop.
// CHECK-LABEL: @nest_between
// CHECK-NEXT:    nest.for "k"
// CHECK:         nest.for "i" [[I:%\S+]] = 0 to 32 {
// CHECK-NEXT:      nest.store "y" %x, %y{{\[}}[[I]]]
// CHECK-NEXT:      nest.load %z{{\[}}[[I]]]
func.func @nest_between(%x: f32, %y: memref<32xf32>, %z: memref<32xf32>) {
  nest.for "i" %i = 0 to 32 {
    nest.store "y" %x, %y[%i] : memref<32xf32>
  }
  nest.for "k" %k = 0 to 32 {
    nest.store "z" %x, %z[%k] : memref<32xf32>
  }
  nest.for "j" %j = 0 to 32 {
    %a = nest.load %z[%j] : memref<32xf32>
    nest.accumulate "y" add %a, %y[%j] : memref<32xf32>
  }
  func.return
}

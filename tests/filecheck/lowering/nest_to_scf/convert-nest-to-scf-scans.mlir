// A loop annotated as a scan: each lane and all before it, by shuffles; the variable is updated once a vector.
// RUN: opt-tool %s -p convert-nest-to-scf | filecheck %s

// CHECK-LABEL: @sums
// CHECK:       scf.for
// CHECK:         [[A:%\S+]] = vector.load %x
// CHECK-NEXT:    [[B:%\S+]] = vector.shuffle [[ID:%\S+]], [[A]] [3, 4, 5, 6]
// CHECK-NEXT:    [[C:%\S+]] = arith.addf [[B]], [[A]] : vector<4xf32>
// CHECK-NEXT:    [[D:%\S+]] = vector.shuffle [[ID]], [[C]] [2, 3, 4, 5]
// CHECK-NEXT:    [[E:%\S+]] = arith.addf [[D]], [[C]] : vector<4xf32>
// CHECK-NEXT:    [[S:%\S+]] = memref.load %s[]
// CHECK-NEXT:    [[T:%\S+]] = vector.extract [[E]][3]
// CHECK-NEXT:    [[U:%\S+]] = arith.addf [[S]], [[T]] : f32
// CHECK-NEXT:    memref.store [[U]], %s[]
// CHECK-NEXT:    [[V:%\S+]] = vector.broadcast [[S]]
// CHECK-NEXT:    [[W:%\S+]] = arith.addf [[V]], [[E]] : vector<4xf32>
// CHECK-NEXT:    vector.store [[W]], %y
func.func @sums(%x: memref<64xf32>, %y: memref<64xf32>, %s: memref<f32>) {
  nest.for "o" %o = 0 to 16 {
    nest.for "i" %i = 0 to 4 attributes {nestor.scan} {
      %a = nest.load %x[4 * %o + %i] : memref<64xf32>
      nest.accumulate "s" add %a, %s[] : memref<f32>
      %b = nest.load %s[] : memref<f32>
      nest.store "y" %b, %y[4 * %o + %i] : memref<64xf32>
    }
  }
  func.return
}

// What the result so far is used for is done in lanes as well; elements of the type of the largest.
// CHECK-LABEL: @used
// CHECK-COUNT-3: arith.maxsi {{.*}} : vector<8xi64>
// CHECK:         arith.muli {{.*}} : vector<8xi64>
func.func @used(%x: memref<8xi64>, %y: memref<8xi64>, %s: memref<3xi64>) {
  %two = arith.constant 2 : i64
  nest.for "i" %i = 0 to 8 attributes {nestor.scan} {
    %a = nest.load %x[%i] : memref<8xi64>
    nest.accumulate "s" maxsi %a, %s[1] : memref<3xi64>
    %b = nest.load %s[1] : memref<3xi64>
    %c = arith.muli %b, %two : i64
    nest.store "y" %c, %y[%i] : memref<8xi64>
  }
  func.return
}

// In a given order, or in place: a loop.
// CHECK-LABEL: @in_order
// CHECK-NOT:   vector
// CHECK-LABEL: @in_place
// CHECK-NOT:   vector
func.func @in_order(%x: memref<8xf32>, %y: memref<8xf32>, %s: memref<f32>) {
  nest.for "i" %i = 0 to 8 attributes {nestor.scan} {
    %a = nest.load %x[%i] : memref<8xf32>
    nest.accumulate "s" add %a, %s[] order(sequential) : memref<f32>
    %b = nest.load %s[] : memref<f32>
    nest.store "y" %b, %y[%i] : memref<8xf32>
  }
  func.return
}
func.func @in_place(%x: memref<8xf32>, %s: memref<f32>) {
  nest.for "i" %i = 0 to 8 attributes {nestor.scan} {
    %a = nest.load %x[%i] : memref<8xf32>
    nest.accumulate "s" add %a, %s[] : memref<f32>
    %b = nest.load %s[] : memref<f32>
    nest.store "x" %b, %x[%i] : memref<8xf32>
  }
  func.return
}

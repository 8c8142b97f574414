// A branch that is counted adds one to its false or true number; one that was counted before says how often each was.
// RUN: opt-tool %s -p convert-to-llvm -t llvm-ir | filecheck %s

// CHECK-LABEL: @counted
// CHECK: [[WAY:%\S+]] = zext i1 %c to i64
// CHECK-NEXT: [[AT:%\S+]] = getelementptr i64, ptr inttoptr (i64 4096 to ptr), i64 [[WAY]]
// CHECK-NEXT: [[N:%\S+]] = load i64, ptr [[AT]]
// CHECK-NEXT: [[M:%\S+]] = add i64 [[N]], 1
// CHECK-NEXT: store i64 [[M]], ptr [[AT]]
// CHECK-NEXT: br i1 %c
func.func @counted(%c: i1, %x: memref<4xf32>, %v: f32) {
  %i = arith.constant 0 : index
  scf.if %c {
    memref.store %v, %x[%i] : memref<4xf32>
  } {nestor.branch_counts = 4096 : i64}
  func.return
}

// CHECK-LABEL: @weighed
// CHECK: br i1 %c, label %{{.*}}, label %{{.*}}, !prof ![[W:[0-9]+]]
// CHECK: ![[W]] = !{!"branch_weights", i32 25, i32 2977}
func.func @weighed(%c: i1, %x: memref<4xf32>, %v: f32) {
  %i = arith.constant 0 : index
  scf.if %c {
    memref.store %v, %x[%i] : memref<4xf32>
  } {nestor.branch_weights = array<i64: 25, 2977>}
  func.return
}

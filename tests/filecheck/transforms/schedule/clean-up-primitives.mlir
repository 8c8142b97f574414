// Annotating, specialising, hoisting, decomposing a reduction and cleaning up, as steps of schedules.
// RUN: opt-tool %s -p apply-schedule | filecheck %s
// RUN: opt-tool %s -p 'apply-schedule,convert-nest-to-scf,canonicalize,cse,expand-math,convert-to-llvm' | filecheck %s --check-prefix=LLVM

// CHECK-LABEL: func.func @cases
// CHECK: nest.if
// CHECK-NEXT: nest.for "i.1.o" {{%\S+}} = 0 to 4 {
// CHECK-NEXT: nest.for "i.1.i" {{%\S+}} = 0 to 16 unrolled {
// CHECK: } else {
// CHECK-NEXT: nest.for "i" {{%\S+}} = 0 to %n attributes {nestor.note = "general"} {
// LLVM: llvm.func @cases
func.func @cases(%x: memref<?xf32>, %n: index) {
  nest.for "i" %i = 0 to %n {
    %v = nest.load %x[%i] : memref<?xf32>
    nest.store "x" %v, %x[%i] : memref<?xf32>
  }
  func.return
}
schedule.sequence @of_cases for @cases {
  %i = schedule.match loops ["i"]
  %special, %general = schedule.specialise %i when "n == 64"
  %o, %v = schedule.split %special by 16 tail(perfect)
  schedule.annotate %v with "unrolled"
  schedule.annotate %general with "nestor.note" text("general")
}

// CHECK-LABEL: func.func @sums
// CHECK: nest.for "i.init" [[I:%\S+]] = 0 to 8 {
// CHECK-NEXT: nest.store "s" %zero
// CHECK-NEXT: }
// CHECK-NEXT: nest.for "k" [[K:%\S+]] = 0 to 6 {
// CHECK-NEXT: [[W:%\S+]] = nest.load %w{{\[}}[[K]]]
// CHECK-NEXT: nest.for "i" [[I:%\S+]] = 0 to 8 {
// CHECK-NEXT: nest.load %x{{\[}}[[I]], [[K]]]
// CHECK-NOT: nest.load
// CHECK: nest.accumulate "s"
// CHECK-NOT: nest.store
// LLVM: llvm.func @sums
func.func @sums(%x: memref<8x6xf32>, %w: memref<6xf32>, %s: memref<8xf32>, %zero: f32) {
  %t = nest.alloc "t" : memref<8xf32>
  nest.for "i" %i = 0 to min(8, 9) {
    nest.store "s" %zero, %s[%i] : memref<8xf32>
    nest.for "k" %k = 0 to 6 {
      %a = nest.load %x[%i, %k] : memref<8x6xf32>
      %b = nest.load %w[%k] : memref<6xf32>
      %c = arith.mulf %a, %b : f32
      nest.accumulate "s" add %c, %s[%i] where (%i < 8) : memref<8xf32>
      nest.store "t" %c, %t[%i] : memref<8xf32>
    }
  }
  func.return
}
schedule.sequence @of_sums for @sums {
  schedule.eliminate_dead
  schedule.simplify
  %i = schedule.match loops ["i"]
  %init, %update = schedule.decompose_reduction %i
  %k = schedule.match loops ["k"]
  schedule.reorder %k, %update
  schedule.hoist %update
}

// The schedule of an operation is done to the loops whose statements are all its own; its names are those without other nests.
// RUN: opt-tool %s -p nest-schedule-own | filecheck %s
// RUN: opt-tool %s -p 'nest-schedule-own{target=cuda}' | filecheck %s --check-prefix=CUDA

builtin.module attributes {nestor.own_schedules = {
    "twice#1" = {cpu = "schedule.sequence @cpu {\n %i = schedule.match loops [\"i\"]\n %o, %v, %r = schedule.split %i by 4\n schedule.vectorize %v\n}"},
    "twice#2" = {cpu = "schedule.sequence @cpu {\n %i = schedule.match loops [\"i\"]\n %o, %v, %r = schedule.split %i by 4\n}"},
    "wrong#3" = {cpu = "schedule.sequence @cpu {\n %i = schedule.match loops [\"i\"]\n %o, %v, %r = schedule.split %i by 4\n %k = schedule.match loops [\"k\"]\n}"}}} {

// CHECK-LABEL: func.func @f
// CHECK: nest.for "i" %{{.*}} = 0 to 8 {
// CHECK: nest.for "i.1.o" %{{.*}} = 0 to 2 {
// CHECK-NEXT: nest.for "i.1.i" %{{.*}} = 0 to 4 vectorized(4) {
// Another statement is in the loop, or a step is refused.
// CHECK: nest.for "i.2" %{{.*}} = 0 to 8 {
// CHECK: nest.for "i.3" %{{.*}} = 0 to 8 {
// CUDA-LABEL: func.func @f
// CUDA-NOT: i.1.o
func.func @f(%x: memref<8xf32>, %y: memref<8xf32> {nest.role = "inout"}, %z: memref<8xf32> {nest.role = "inout"}) {
  nest.for "i" %i = 0 to 8 {
    %a = nest.load %x[%i] : memref<8xf32>
    nest.store "y" %a, %y[%i] : memref<8xf32>
  }
  nest.for "i.1" %i = 0 to 8 {
    %a = nest.load %y[%i] : memref<8xf32>
    nest.store "y" %a, %z[%i] : memref<8xf32> loc("nt.op twice#1"("p.py":3:1))
  }
  nest.for "i.2" %i = 0 to 8 {
    %a = nest.load %z[%i] : memref<8xf32>
    nest.store "y" %a, %y[%i] : memref<8xf32> loc("nt.op twice#2"("p.py":3:1))
    nest.store "z" %a, %z[%i] : memref<8xf32>
  }
  nest.for "i.3" %i = 0 to 8 {
    %a = nest.load %z[%i] : memref<8xf32>
    nest.store "y" %a, %y[%i] : memref<8xf32> loc("nt.op wrong#3"("p.py":3:1))
  }
  func.return
}
}

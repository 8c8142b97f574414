// A scalar gets an element for each iteration: of a loop with steps, of one with several ends, of one of an even extent.
// RUN: opt-tool %s -p 'nest-expand-buffer{buffer=s loop=i func=steps}' | filecheck %s
// RUN: opt-tool %s -p 'nest-expand-buffer{buffer=t loop=p func=ends}' | filecheck %s --check-prefix=ENDS
// RUN: opt-tool %s -p 'nest-expand-buffer{buffer=s loop=i func=steps},nest-distribute{loop=i func=steps}' | filecheck %s --check-prefix=APART

// CHECK-LABEL: func.func @steps
// CHECK: %[[M:.*]] = arith.ceildivsi {{%\S+}}, {{%\S+}} : index
// CHECK: %[[S:.*]] = nest.alloc "s"({{%\S+}}) : memref<?xf32>
// CHECK-NEXT: nest.for "i" %i = 2 to %n step 3
// CHECK: nest.store "s" {{%\S+}}, %[[S]][(%i - 2) floordiv 3] : memref<?xf32>
// CHECK: nest.load %[[S]][(%i - 2) floordiv 3] : memref<?xf32>
// APART-LABEL: func.func @steps
// APART: nest.for "i{{.*}}" %[[I:.*]] = 2 to %n step 3
// APART: nest.store "s"
// APART-NOT: nest.load %s
// APART: nest.for "i{{.*}}" %{{.*}} = 2 to %n step 3
// APART: nest.load %s
func.func @steps(%n: index, %x: memref<?xf32>, %y: memref<?xf32>) {
  nest.for "i" %i = 2 to %n step 3 {
    %s = nest.alloc "s" : memref<f32>
    %a = nest.load %x[%i] : memref<?xf32>
    nest.store "s" %a, %s[] : memref<f32>
    %b = nest.load %s[] : memref<f32>
    nest.store "y" %b, %y[%i] : memref<?xf32>
  }
  func.return
}

// ENDS-LABEL: func.func @ends
// ENDS: arith.minsi
// ENDS: %[[T:.*]] = nest.alloc "t"({{%\S+}}) : memref<?x7xf32>
// ENDS-NEXT: nest.for "p" %p = 1 to min(%n, %m) parallel
// ENDS: nest.store "t" {{%\S+}}, %[[T]][%p - 1, %q] : memref<?x7xf32>
// ENDS: nest.load %[[T]][%p - 1, 6] : memref<?x7xf32>
func.func @ends(%n: index, %m: index, %x: memref<?xf32>, %y: memref<?xf32>) {
  nest.for "p" %p = 1 to min(%n, %m) parallel {
    %t = nest.alloc "t" : memref<7xf32>
    nest.for "q" %q = 0 to 7 {
      %a = nest.load %x[%q] : memref<?xf32>
      nest.store "t" %a, %t[%q] : memref<7xf32>
    }
    %b = nest.load %t[6] : memref<7xf32>
    nest.store "y" %b, %y[%p] : memref<?xf32>
  }
  func.return
}

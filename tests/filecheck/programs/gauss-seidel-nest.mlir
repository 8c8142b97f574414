// A Gauss-Seidel sweep works on the caller's array: no buffer, no copy, every index proved in bounds, the loops Python's.
// RUN: opt-tool --emit-nt %S/../../../examples/gauss_seidel.py:gauss_seidel --spec "f64[?,?], int" -p to-nest,nest-schedule-cpu | filecheck %s

// CHECK:      func.func @gauss_seidel(%[[A:.*]]: memref<?x?xf64> {{.*}}nest.role = "inout"
// CHECK-NOT:  nest.alloc
// CHECK-NOT:  nest.index
// CHECK-NOT:  "copy"
// CHECK:      nest.for "i" %[[I:.*]] = 1 to %{{.*}} - 1 {
// CHECK-NEXT:   nest.for "j" %[[J:.*]] = 1 to %{{.*}} - 1 {
// CHECK:          nest.load %[[A]][%[[I]] - 1, %[[J]]]
// CHECK:          nest.load %[[A]][%[[I]] + 1, %[[J]]]
// CHECK:          nest.load %[[A]][%[[I]], %[[J]] - 1]
// CHECK:          nest.load %[[A]][%[[I]], %[[J]] + 1]
// CHECK:          nest.store "a" %{{.*}}, %[[A]][%[[I]], %[[J]]]
// CHECK-NOT:  nest.store

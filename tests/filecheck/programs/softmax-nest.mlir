// Softmax of unknown extents is one parallel loop over the rows and no temporary: the exponentials live in the result.
// RUN: opt-tool --emit-nt %S/../../../examples/softmax.py:softmax --spec "f32[?,?]" -p to-nest | filecheck %s

// CHECK:      func.func @softmax(%[[X:.*]]: memref<?x?xf32> {{.*}}, %[[OUT:.*]]: memref<?x?xf32>
// CHECK-NOT:  nest.alloc "e"
// CHECK:      nest.for "i" %[[I:.*]] = 0 to
// CHECK:        nest.accumulate "maximum" maximum
// CHECK:        math.exp
// CHECK-NEXT:   nest.store "e" %{{.*}}, %[[OUT]][%[[I]], %{{.*}}]
// CHECK-NEXT:   nest.accumulate "add" add
// CHECK:        nest.load %[[OUT]]
// CHECK-NEXT:   arith.divf
// CHECK-NEXT:   nest.store "result" %{{.*}}, %[[OUT]]
// CHECK-NOT:  nest.for "i.1"

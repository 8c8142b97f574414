// IoU and its gradients are one loop of explicit vectors: 9 loads, 9 stores (of 2 registers each), nothing else touched.
// RUN: opt-tool --emit-nt %S/../../../examples/iou.py:iou_and_gradients --spec "9x f32[100,1000]" -p cpu -t llvm-ir | filecheck %s

// CHECK:      define internal void @iou_and_gradients.parallel0.body(i64 %lo, i64 %hi, i64 %step, ptr noalias readonly %x1
// CHECK:      [[LOOP:bb[0-9]+]]:
// CHECK-NEXT:   phi i64
// CHECK-COUNT-8: load <32 x float>, ptr %{{.*}}, align 4
// CHECK-COUNT-2: store <16 x float>
// CHECK:        load <32 x float>, ptr %{{.*}}, align 4
// CHECK-NOT:    load
// CHECK-COUNT-16: store <16 x float>
// CHECK-NOT:    load
// CHECK-NOT:    store
// CHECK:        br i1 %{{.*}}, label %[[LOOP]], label

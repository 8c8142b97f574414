// IoU from NumPy source is one loop of explicit vectors: 8 loads and 1 store (of 2 registers) an element, nothing masked, nothing left over, nothing else touched.
// RUN: opt-tool --emit-nt %S/../../../examples/iou.py:ratio_iou --spec "8x f32[100,1000]" -p cpu -t llvm-ir | filecheck %s

// CHECK:      define internal void @ratio_iou.parallel0.body(i64 %lo, i64 %hi, i64 %step, ptr noalias readonly %x1
// CHECK-SAME: ptr noalias writeonly %result)
// CHECK:      [[LOOP:bb[0-9]+]]:
// CHECK-NEXT:   phi i64
// CHECK-COUNT-8: load <{{[0-9]+}} x float>, ptr %{{.*}}, align 4
// CHECK-NOT:    load
// CHECK:        [[RESULT:%.*]] = fdiv <32 x float>
// CHECK-NOT:    load
// CHECK:        [[PART:%.*]] = shufflevector <32 x float> [[RESULT]]
// CHECK-NEXT:   store <16 x float> [[PART]], ptr %{{.*}}, align 4
// CHECK:        store <16 x float> %{{.*}}, ptr %{{.*}}, align 4
// CHECK-NOT:    load
// CHECK-NOT:    store
// CHECK:        br i1 %{{.*}}, label %[[LOOP]], label

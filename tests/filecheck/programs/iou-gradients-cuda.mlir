// IoU and its gradients are one CUDA kernel: each of the 8 arrays and the cotangent is read once, 9 results are written once.
// RUN: opt-tool --emit-nt %S/../../../examples/iou.py:iou_and_gradients --spec "9x f32[100,1000]" -p cuda -t cuda | filecheck %s

// CHECK:      extern "C" __global__ void {{.*}} iou_and_gradients{{.*}}(
// CHECK:        const float *__restrict__ x1
// CHECK:        return;
// CHECK-COUNT-9: nt_load<2>(&
// CHECK-NOT:    nt_load
// CHECK-COUNT-9: nt_store(&
// CHECK-NOT:    nt_store
// CHECK:      }
// CHECK-NOT:  __global__

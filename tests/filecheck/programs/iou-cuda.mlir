// IoU from NumPy source is one CUDA kernel: each of the 8 arrays is read once, the result is written once, and the names are Python's.
// RUN: opt-tool --emit-nt %S/../../../examples/iou.py:ratio_iou --spec "8x f32[100,1000]" -p cuda -t cuda | filecheck %s

// CHECK:      extern "C" __global__ void __launch_bounds__(256) ratio_iou{{.*}}(
// CHECK:        const float *__restrict__ x1
// CHECK:        float *__restrict__ result
// CHECK:        return;
// CHECK-COUNT-8: = {{[xywh][12].*}}[{{.*}}];
// CHECK:        const float area_i = wi * hi;
// CHECK-NOT:    = {{[xywh][12].*}}[{{.*}}];
// CHECK:        result{{.*}}[{{.*}}] = area_i / nt_maximum(area_u, 1e-5f);
// CHECK-NOT:    ] =
// CHECK:      }
// CHECK-NOT:  __global__

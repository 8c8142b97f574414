// `-t nt-svg` draws both halves of derivatives and what is kept between them; names are escaped, nothing external is used.
// RUN: opt-tool %s -t nt-svg | filecheck %s
// RUN: opt-tool %s -t nt-svg -o %t.svg && python -c "import xml.dom.minidom; xml.dom.minidom.parse('%t.svg')"
// RUN: opt-tool %s -t nt-svg | filecheck %s --check-prefix=SELF
// RUN: not opt-tool %S/nest-svg.mlir -t nt-svg 2>&1 | filecheck %s --check-prefix=NONE
// RUN: not opt-tool %s -t nt-svg --split-input-file 2>&1 | filecheck %s --check-prefix=SPLIT

// NONE:  nest-svg.mlir:{{[0-9]+:[0-9]+}}: error: there is no derivative to draw
// SPLIT: error: target 'nt-svg' makes one document, and --split-input-file would make several

// SELF-NOT: {{href|@import|url\([^#]}}

// The product %h is kept for the gradient of %v; that of %w is a product of its own.
// CHECK:      <svg xmlns="http://www.w3.org/2000/svg"
// CHECK:      prefers-color-scheme:dark
// CHECK:      >derivative of f&amp;g</text>
// CHECK:      >kept: 48 bytes</text>
// CHECK:      >read, and there anyway: c, v, x</text>
// CHECK:      >forward half</text>
// CHECK:      >backward half</text>
// CHECK:      <title>h is computed</title>
// CHECK:      <title>h is read</title>
// CHECK:      <rect class="forward"{{.*}}<title>nt-svg.mlir:33</title>
// CHECK-NEXT: >h</text>
// CHECK:      <rect class="backward"
// CHECK:      <rect class="backward"
// CHECK:      <rect class="kept"{{.*}}<title>nt-svg.mlir:33</title>
// CHECK-NEXT: >h</text>
// CHECK-NEXT: >f32[4, 3]</text>
// CHECK-NEXT: >48 bytes</text>
// CHECK:      </svg>
func.func private @"f&g"(%w: tensor<2x3xf32>, %v: tensor<3x5xf32>, %x: tensor<4x2xf32>) -> tensor<4x5xf32> {
  %h = nt.dot %x, %w contract [1] x [0] : tensor<4x2xf32>, tensor<2x3xf32> -> tensor<4x3xf32>
  %y = nt.dot %h, %v contract [1] x [0] : tensor<4x3xf32>, tensor<3x5xf32> -> tensor<4x5xf32>
  func.return %y : tensor<4x5xf32>
}
func.func @gradients(%w: tensor<2x3xf32>, %v: tensor<3x5xf32>, %x: tensor<4x2xf32>, %c: tensor<4x5xf32>) -> (tensor<2x3xf32>, tensor<3x5xf32>) {
  %y, %dw, %dv = nt.vjp @"f&g"(%w, %v, %x : tensor<2x3xf32>, tensor<3x5xf32>, tensor<4x2xf32>) cotangents(%c : tensor<4x5xf32>)
                 wrt [0, 1] of [0] -> (tensor<4x5xf32>, tensor<2x3xf32>, tensor<3x5xf32>)
  func.return %dw, %dv : tensor<2x3xf32>, tensor<3x5xf32>
}

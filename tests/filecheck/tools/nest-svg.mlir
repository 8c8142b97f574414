// `-t nest-svg` draws loops as boxes by mark and dependences as arrows by kind; names are escaped, nothing external is used.
// RUN: opt-tool %s -t nest-svg | filecheck %s
// RUN: opt-tool %s -t nest-svg -o %t.svg && python -c "import xml.dom.minidom; xml.dom.minidom.parse('%t.svg')"
// RUN: opt-tool %s -t nest-svg | filecheck %s --check-prefix=SELF
// RUN: opt-tool %s -t nest-html | filecheck %s --check-prefix=HTML
// RUN: not opt-tool %S/timing.mlir -t nest-svg 2>&1 | filecheck %s --check-prefix=LEVEL
// RUN: not opt-tool %s -t nest-svg --split-input-file 2>&1 | filecheck %s --check-prefix=SPLIT

// LEVEL: error: target 'nest-svg' needs functions at the nest level, and there is none
// SPLIT: error: target 'nest-svg' makes one document, and --split-input-file would make several

// HTML:      <!DOCTYPE html>
// HTML:      <svg xmlns
// HTML:      </svg>
// HTML-NEXT: </body></html>

// SELF-NOT: {{href|@import|url\([^#]}}

// CHECK:      <svg xmlns="http://www.w3.org/2000/svg"
// CHECK:      prefers-color-scheme:dark
// CHECK:      <text class="head"{{.*}}>func @f(a: f32[n])</text>
// CHECK:      <rect class="serial"{{.*}}<title>nest-svg.mlir:37</title>
// CHECK:      <text class="head"{{.*}}>for i&lt;1&gt; = 1 to n</text>
// CHECK:      <text class="reads"{{.*}}>read a[i&lt;1&gt; - 1]</text>
// CHECK:      <text class="statement"{{.*}}>write a[i&lt;1&gt;]  "b&amp;c"</text>
// CHECK:      <rect class="vectorized"
// CHECK:      <text class="mark"{{.*}}>vectorized(4)</text>
// CHECK:      <path class="arrow flow" marker-end="url(#flow)"{{.*}}<title>flow dependence on a, carried by i&lt;1&gt;, distance (i&lt;1&gt;) = (1)</title>
// CHECK-NEXT: <text class="label flow"{{.*}}>i&lt;1&gt;</text>
// CHECK:      <path class="arrow flow same"{{.*}}<title>flow dependence on a, in one iteration
// CHECK:      >vectorized</text>
// CHECK:      >in one iteration</text>
// CHECK:      </svg>
func.func @f(%a: memref<?xf32> {nest.dims = ["n"]}) {
  %c0 = arith.constant 0 : index
  %n = memref.dim %a, %c0 : memref<?xf32>
  nest.for "i<1>" %i = 1 to %n {
    %v = nest.load %a[%i - 1] : memref<?xf32>
    nest.store "b&c" %v, %a[%i] : memref<?xf32>
  }
  nest.for "j" %j = 0 to 4 vectorized(4) {
    %v = nest.load %a[%j] : memref<?xf32>
  }
  func.return
}

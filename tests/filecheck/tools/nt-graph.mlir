// `-t nt-graph` draws operations, with fusions, loops and branches as boxes around others; names are escaped.
// RUN: opt-tool %s -t nt-graph | filecheck %s
// RUN: opt-tool %s -t nt-graph -o %t.svg && python -c "import xml.dom.minidom; xml.dom.minidom.parse('%t.svg')"
// RUN: opt-tool %s -t nt-graph-html | filecheck %s --check-prefix=PAGE
// RUN: not opt-tool %s -p to-nest -t nt-graph 2>&1 | filecheck %s --check-prefix=LATER

// CHECK: <svg xmlns="http://www.w3.org/2000/svg" class="nt-graph"
// CHECK: <text class="g-head"{{.*}}>@f</text>
// CHECK: <rect class="g-control"{{.*}} stroke-dasharray="4 3"><title>nt-graph.mlir:[[#]]</title></rect>
// CHECK: >for i</text>
// CHECK: >fusion a&lt;b</text>
// CHECK: <path class="g-edge"
// CHECK: >x</text>
// CHECK: >f64[n, 4]</text>
// CHECK: >sine = sin</text>
// CHECK: >z = multiply</text>
// CHECK-NEXT: >with 2</text>
// CHECK: >return</text>
// CHECK: >element by element</text>

// PAGE: <!DOCTYPE html>
// PAGE: <svg
// PAGE: </body></html>

// LATER: error: target 'nt-graph' draws programs of the nt level, and there is no operation of it

func.func @f(%x: tensor<?x4xf64> {nt.dims = ["n", 4]}, %k: index) -> tensor<?x4xf64> {
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %axis = arith.constant 0 : index
  %r = scf.for %i = %zero to %k step %one iter_args(%carried = %x) -> (tensor<?x4xf64>) {
    %y = nt.fusion "a<b" {
      %sine = nt.sin %carried : tensor<?x4xf64>
      %two = nt.constant dense<2.0> : tensor<f64>
      %n = nt.dim %carried[0] : tensor<?x4xf64>
      %all = nt.broadcast %two along [] sizes(%n) : tensor<f64> -> tensor<?x4xf64>
      %z = nt.multiply %sine, %all : tensor<?x4xf64>
      nt.yield %z : tensor<?x4xf64>
    } : tensor<?x4xf64>
    scf.yield %y : tensor<?x4xf64>
  }
  func.return %r : tensor<?x4xf64>
}

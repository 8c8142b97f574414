// Copies that go back by one update go back where they are in each of its buffers, of whatever extents.
// RUN: opt-tool %s -p 'nest-cache-write{buffer=s loop=o init=identity}' | filecheck %s
// RUN: opt-tool %s -p 'nest-cache-write{buffer=s loop=o init=identity tail=mask}' | filecheck %s --check-prefix=MASK

// CHECK-DAG: [[S:%\S+]] = memref.dim %s
// CHECK-DAG: [[T:%\S+]] = memref.dim %t
// CHECK: nest.for "s_local.back.ax0" %{{.*}} = 0 to min(7, [[S]], [[T]]) {
// CHECK: nest.accumulate "s" custom {{.*}}, (%s, %t)[%ax0{{.*}}] identity

// MASK-DAG: [[S:%\S+]] = memref.dim %s
// MASK-DAG: [[T:%\S+]] = memref.dim %t
// MASK: nest.for "s_local.back.ax0" [[K:%\S+]] = 0 to 7 {
// MASK: nest.accumulate "s" custom {{.*}}, (%s, %t){{\[}}[[K]]] where ([[K]] < [[S]], [[K]] < [[T]]) identity
func.func @f(%x: memref<6x?xi64>, %s: memref<?xi64> {nest.role = "inout"}, %t: memref<?xi64> {nest.role = "inout"}) {
  %c1 = arith.constant 1 : index
  %m = memref.dim %x, %c1 : memref<6x?xi64>
  nest.for "o" %o = 0 to 3 {
    nest.for "i" %i = 0 to 2 {
      nest.for "j" %j = 0 to min(%m, 7) {
        %a = nest.load %x[2 * %o + %i, %j] : memref<6x?xi64>
        nest.accumulate "s" custom (%a, %a), (%s, %t)[%j] identity [0 : i64, 0 : i64] {
        ^bb0(%p: i64, %q: i64, %u: i64, %v: i64):
          %r = arith.addi %p, %u : i64
          %w = arith.addi %q, %v : i64
          nest.yield %r, %w : i64, i64
        } : memref<?xi64>, memref<?xi64>
      }
    }
  }
  func.return
}

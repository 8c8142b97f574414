// Of several bounds, all but one multiples of the factor: the rest begins behind the whole blocks of that one, and is empty
// where another bound is less.
// RUN: opt-tool %s -p 'nest-split{loop=i factor=16}' | filecheck %s

// CHECK-LABEL: @blocks
// CHECK: nest.for "i.o" [[O:%\S+]] = 0 to min(4, {{.*}}) {
// CHECK-NEXT: nest.for "i.i" [[V:%\S+]] = 0 to 16 {
// CHECK: nest.for "i.t" [[T:%\S+]] = max(0, 16 * (%n floordiv 16) - 64 * %b) to min(64, %n - 64 * %b) {
// CHECK-NEXT: nest.load %x[64 * %b + [[T]]]
func.func @blocks(%x: memref<?xf32>, %y: memref<?xf32>, %n: index) {
  nest.for "b" %b = 0 to %n ceildiv 64 {
    nest.for "i" %i = 0 to min(64, %n - 64 * %b) {
      %a = nest.load %x[64 * %b + %i] : memref<?xf32>
      nest.store "y" %a, %y[64 * %b + %i] : memref<?xf32>
    }
  }
  func.return
}

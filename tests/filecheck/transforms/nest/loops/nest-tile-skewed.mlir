// Blocks of a skewed loop line up, with the inner loop clamped on both sides or masked.
// RUN: opt-tool %s -p 'nest-tile{loops=i,j sizes=4,3 tail=mask}' | filecheck %s --check-prefix=MASK
// RUN: opt-tool %s -p 'nest-tile{loops=i,j sizes=4,3 tail=clamp}' | filecheck %s --check-prefix=CLAMP

// The band of a sweep, skewed so that it can be tiled: the blocks of "j" line up at multiples of 3, whatever "i" is.
// CLAMP-LABEL: @skewed
// CLAMP: nest.for "i.o" [[IO:%\S+]] = 0 to (%n - 1) ceildiv 4 {
// CLAMP-NEXT: nest.for "j.o" [[JO:%\S+]] = 4 * [[IO]] ceildiv 3 to
// CLAMP-NEXT: nest.for "i.i" [[II:%\S+]] = max(0, 3 * [[JO]] - 4 * [[IO]] - %m) to min(4, %n - 4 * [[IO]] - 1, 3 * [[JO]] - 4 * [[IO]] + 1) {
// CLAMP-NEXT: nest.for "j.i" [[JI:%\S+]] = max(0, 4 * [[IO]] + [[II]] - 3 * [[JO]] + 2) to min(3, 4 * [[IO]] + [[II]] + %m - 3 * [[JO]] + 1) {
// CLAMP: nest.store "y" {{%\S+}}, %y[4 * [[IO]] + [[II]] + 1, 3 * [[JO]] + [[JI]] - 4 * [[IO]] - [[II]] - 1]
// MASK-LABEL: @skewed
// MASK: nest.for "j.o" [[JO:%\S+]] = 4 * [[IO:%\S+]] ceildiv 3 to
// MASK-NEXT: nest.for "i.i" [[II:%\S+]] = max(
// MASK-NEXT: nest.for "j.i" [[JI:%\S+]] = 0 to 3 {
// MASK: nest.store "y" {{.*}} where (4 * [[IO]] + [[II]] < %n - 1, 4 * [[IO]] + [[II]] < 3 * [[JO]] + [[JI]] - 1, 3 * [[JO]] + [[JI]] < 4 * [[IO]] + [[II]] + %m + 1)
func.func @skewed(%n: index, %m: index, %y: memref<?x?xi64>) {
  nest.for "i" %i = 1 to %n {
    nest.for "j" %j = %i + 1 to %i + %m {
      %a = nest.load %y[%i - 1, %j - %i] : memref<?x?xi64>
      %b = nest.load %y[%i, %j - %i - 1] : memref<?x?xi64>
      %c = arith.addi %a, %b : i64
      nest.store "y" %c, %y[%i, %j - %i] : memref<?x?xi64>
    }
  }
  func.return
}

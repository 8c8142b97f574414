// A loop is put into a new one that runs once; a name that is taken gets a number.
// RUN: opt-tool %s -p 'nest-add-unit-loop{loop=i}' --split-input-file | filecheck %s
// RUN: opt-tool %s -p 'nest-add-unit-loop{loop=i new=k}' --split-input-file | filecheck %s --check-prefix=NAMED
// RUN: not opt-tool %s -p 'nest-add-unit-loop{loop=q}' --split-input-file 2>&1 | filecheck %s --check-prefix=UNKNOWN

// CHECK: nest.for "k" [[K:%\S+]] = 1 to %n {
// CHECK-NEXT: nest.for "one" {{%\S+}} = 0 to 1 {
// CHECK-NEXT: nest.for "i" [[I:%\S+]] = [[K]] to 7 parallel {
// CHECK-NEXT: nest.store "y" {{.*}}[[[K]], [[I]]]
// NAMED: nest.for "k.1" {{%\S+}} = 0 to 1 {
// UNKNOWN: error: unknown loop "q"
func.func @f(%n: index, %x: f32, %y: memref<?x?xf32>) {
  nest.for "k" %k = 1 to %n {
    nest.for "i" %i = %k to 7 parallel {
      nest.store "y" %x, %y[%k, %i] : memref<?x?xf32>
    }
  }
  func.return
}

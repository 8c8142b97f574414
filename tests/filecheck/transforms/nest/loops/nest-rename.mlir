// A loop gets another name; its variable is called like it.
// RUN: opt-tool %s -p 'nest-rename{loop=i to=rows}' | filecheck %s

// CHECK-LABEL: func.func @f
func.func @f(%x: memref<?xf32>, %n: index) {
  // CHECK: nest.for "rows" %rows = 2 to %n step 3 {
  // CHECK-NEXT: nest.load %x[%rows]
  nest.for "i" %i = 2 to %n step 3 {
    %v = nest.load %x[%i] : memref<?xf32>
    nest.store "x" %v, %x[%i] : memref<?xf32>
  }
  func.return
}

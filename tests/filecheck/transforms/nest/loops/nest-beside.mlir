// Two loops that follow each other as the iterations of one loop, which threads may share where they are independent.
// RUN: opt-tool %s -p 'nest-beside{first=i second=j}' | filecheck %s
// RUN: opt-tool %s -p 'nest-beside{first=i second=j},nest-parallel{loop=i_j}' | filecheck %s --check-prefix=THREADS

// CHECK-LABEL: func.func @apart
// CHECK-NEXT: %s = nest.alloc "s"
// CHECK-NEXT: nest.for "i_j" [[W:%.+]] = 0 to 2 {
// CHECK-NEXT:   nest.for "i" %i = 2 to 100 - 98 * [[W]] {
// CHECK-NEXT:     nest.store "a" %v, %a[%i]
// CHECK:        nest.for "j" %j = 403 - 400 * [[W]] to 400 step 5 {
// CHECK-NEXT:     nest.store "b" %v, %b[%j]
// THREADS: nest.for "i_j" {{.*}} = 0 to 2 parallel
func.func @apart(%a: memref<100xf32>, %b: memref<400xf32>, %v: f32) {
  nest.for "i" %i = 2 to 100 {
    nest.store "a" %v, %a[%i] : memref<100xf32>
  }
  %s = nest.alloc "s" : memref<f32>
  nest.for "j" %j = 3 to 400 step 5 {
    nest.store "b" %v, %b[%j] : memref<400xf32>
  }
  nest.store "s" %v, %s[] : memref<f32>
  func.return
}

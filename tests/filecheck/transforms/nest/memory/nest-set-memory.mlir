// A buffer in another memory space: the type of the allocation says so, and that of every access.
// RUN: opt-tool %s -p 'nest-set-memory{buffer=u space=shared}' | filecheck %s
// RUN: opt-tool %s -p 'nest-set-memory{buffer=u space=local}' | filecheck %s --check-prefix=LOCAL
// RUN: opt-tool %s -p 'nest-set-memory{buffer=u space=shared},nest-set-memory{buffer=u space=global}' | filecheck %s --check-prefix=GLOBAL

// CHECK: nest.alloc "u" : memref<4xf32, 3 : i64>
// CHECK: nest.store "u" {{%\S+}}, %u[%j] : memref<4xf32, 3 : i64>
// CHECK: nest.load %u[%k] : memref<4xf32, 3 : i64>
// LOCAL: nest.alloc "u" : memref<4xf32, 5 : i64>
// LOCAL: nest.load %u[%k] : memref<4xf32, 5 : i64>
// GLOBAL: nest.alloc "u" : memref<4xf32>
// GLOBAL: nest.load %u[%k] : memref<4xf32>
func.func @f(%x: memref<8xf32>, %y: memref<8xf32>) {
  nest.for "i" %i = 0 to 2 {
    %u = nest.alloc "u" : memref<4xf32>
    nest.for "j" %j = 0 to 4 {
      %a = nest.load %x[4 * %i + %j] : memref<8xf32>
      nest.store "u" %a, %u[%j] : memref<4xf32>
    }
    nest.for "k" %k = 0 to 4 {
      %b = nest.load %u[%k] : memref<4xf32>
      nest.store "y" %b, %y[4 * %i + %k] : memref<8xf32>
    }
  }
  func.return
}

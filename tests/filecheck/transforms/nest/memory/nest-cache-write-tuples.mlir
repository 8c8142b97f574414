// Buffers that are reduced together have copies together: both are loaded and stored back, or both start from the identity and
// are combined by one update.
// RUN: opt-tool %s -p 'nest-cache-write{buffer=y loop=o}' | filecheck %s
// RUN: opt-tool %s -p 'nest-cache-write{buffer=y loop=o init=identity}' | filecheck %s --check-prefix=ID
// RUN: opt-tool %s -p 'nest-cache-write{buffer=k loop=o init=identity}' | filecheck %s --check-prefix=OTHER

// CHECK-LABEL: @rows
// CHECK: nest.for "o" %o = 0 to 4 {
// CHECK-NEXT: %y_local = nest.alloc "y_local" : memref<f32>
// CHECK-NEXT: %k_local = nest.alloc "k_local" : memref<i64>
// CHECK-NEXT: [[Y:%\S+]] = nest.load %y[%o]
// CHECK-NEXT: nest.store "y_local" [[Y]], %y_local[]
// CHECK-NEXT: [[K:%\S+]] = nest.load %k[%o]
// CHECK-NEXT: nest.store "k_local" [[K]], %k_local[]
// CHECK: nest.accumulate "y" custom (%a, %p), (%y_local, %k_local)[]
// CHECK: [[A:%\S+]] = nest.load %y_local[]
// CHECK-NEXT: nest.store {{.*}}, %y[%o]
// CHECK-NEXT: [[B:%\S+]] = nest.load %k_local[]
// CHECK-NEXT: nest.store {{.*}}, %k[%o]

// ID-LABEL: @rows
// ID: %y_local = nest.alloc "y_local" : memref<f32>
// ID: %k_local = nest.alloc "k_local" : memref<i64>
// ID: arith.constant 0xff800000 : f32
// ID-NEXT: nest.store "y" {{.*}}, %y_local[]
// ID: arith.constant 0 : i64
// ID-NEXT: nest.store "y" {{.*}}, %k_local[]
// ID: nest.accumulate "y" custom (%a, %p), (%y_local, %k_local)[] identity
// ID: [[A:%\S+]] = nest.load %y_local[]
// ID-NEXT: [[B:%\S+]] = nest.load %k_local[]
// ID-NEXT: nest.accumulate "y" custom ([[A]], [[B]]), (%y, %k)[%o] identity

// OTHER-LABEL: @rows
// OTHER: [[B:%\S+]] = nest.load %y_local[]
// OTHER-NEXT: [[A:%\S+]] = nest.load %k_local[]
// OTHER-NEXT: nest.accumulate "y" custom ([[B]], [[A]]), (%y, %k)[%o] identity
func.func @rows(%x: memref<4x8xf32>, %y: memref<4xf32>, %k: memref<4xi64>) {
  nest.for "o" %o = 0 to 4 {
    nest.for "j" %j = 0 to 8 {
      %a = nest.load %x[%o, %j] : memref<4x8xf32>
      %p = arith.index_cast %j : index to i64
      nest.accumulate "y" custom (%a, %p), (%y, %k)[%o] identity [0xff800000 : f32, 0 : i64] {
      ^bb0(%best: f32, %first: i64, %element: f32, %place: i64):
        %more = arith.cmpf ogt, %element, %best : f32
        %value = arith.select %more, %element, %best : f32
        %where = arith.select %more, %place, %first : i64
        nest.yield %value, %where : f32, i64
      } : memref<4xf32>, memref<4xi64>
    }
  }
  func.return
}

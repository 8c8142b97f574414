// Big arrays: fetched ahead, and written past the caches where much is read for it.
// RUN: opt-tool %s -p nest-schedule-cpu | filecheck %s
// RUN: opt-tool %s -p nest-schedule-cpu,convert-nest-to-scf,canonicalize,cse | filecheck %s --check-prefix=LINES
// RUN: opt-tool %s -p 'nest-schedule-cpu{non-temporal=true}' | filecheck %s --check-prefix=PAST

// Five arrays are read: 819 bytes of each, whole iterations, are fetched ahead; the result needs no fetch.
// CHECK-LABEL: func.func @many
// CHECK-COUNT-5: + 192] : memref<4000000xf32>
// CHECK-NOT: nestor.write
// CHECK: nest.store "y" {{.*}} {nestor.nontemporal}
// Machines whose stores had better pass the caches fetch more ahead: 2048 bytes of each.
// PAST-LABEL: func.func @many
// PAST-COUNT-5: + 512] : memref<4000000xf32>
// PAST-NOT: prefetch
// PAST: nest.store "y" {{.*}} {nestor.nontemporal}
// One fetch a cache line: a vector of 64 lanes has four.
// LINES-LABEL: func.func @many
// LINES-COUNT-20: memref.prefetch %{{.+}}, read
// LINES-NOT: memref.prefetch
// LINES: {nestor.nontemporal}
func.func @many(%a: memref<4000000xf32>, %b: memref<4000000xf32>, %c: memref<4000000xf32>, %d: memref<4000000xf32>, %e: memref<4000000xf32>, %y: memref<5000000xf32> {nest.role = "out"}) {
  nest.for "i" %i = 0 to 4000000 {
    %0 = nest.load %a[%i] : memref<4000000xf32>
    %1 = nest.load %b[%i] : memref<4000000xf32>
    %2 = nest.load %c[%i] : memref<4000000xf32>
    %3 = nest.load %d[%i] : memref<4000000xf32>
    %4 = nest.load %e[%i] : memref<4000000xf32>
    %5 = arith.addf %0, %1 : f32
    %6 = arith.addf %2, %3 : f32
    %7 = arith.addf %5, %6 : f32
    %8 = arith.addf %7, %4 : f32
    nest.store "y" %8, %y[%i] : memref<5000000xf32>
  }
  func.return
}

// Rows as long as a vector: so many rows ahead. What is the same for all rows is in the caches.
// CHECK-LABEL: func.func @short_rows
// CHECK: nest.prefetch %x[[[I:%.+]] + 8, [[J:%.+]]] : memref<100000x64xf32>
// CHECK-NOT: nest.prefetch %w
// CHECK: nest.prefetch %y[[[I]] + 8, [[J]]] {nestor.write} : memref<100000x64xf32>
// Where the machine says so, rows of whole lines pass the caches, whatever is read for them.
// PAST-LABEL: func.func @short_rows
// PAST-NOT: prefetch %y
// PAST: nest.store "y" {{.*}} {nestor.nontemporal}
// LINES-LABEL: func.func @short_rows
// LINES-COUNT-4: memref.prefetch %x{{.+}}, read
// LINES-COUNT-4: memref.prefetch %y{{.+}}, write
func.func @short_rows(%x: memref<100000x64xf32>, %w: memref<64xf32>, %y: memref<100000x64xf32> {nest.role = "out"}) {
  nest.for "i" %i = 0 to 100000 {
    nest.for "j" %j = 0 to 64 {
      %a = nest.load %x[%i, %j] : memref<100000x64xf32>
      %b = nest.load %w[%j] : memref<64xf32>
      %c = arith.mulf %a, %b : f32
      nest.store "y" %c, %y[%i, %j] : memref<100000x64xf32>
    }
  }
  func.return
}

// What fits into a core's caches, and what is not of known size, is left to the machine.
// CHECK-LABEL: func.func @small
// CHECK-NOT: nest.prefetch
func.func @small(%x: memref<10000xf32>, %z: memref<?xf32>, %y: memref<10000xf32> {nest.role = "out"}) {
  nest.for "i" %i = 0 to 10000 {
    %a = nest.load %x[%i] : memref<10000xf32>
    %b = nest.load %z[%i] : memref<?xf32>
    %c = arith.addf %a, %b : f32
    nest.store "y" %c, %y[%i] : memref<10000xf32>
  }
  func.return
}

// Sums of columns: the rows go on inside of the lanes.
// CHECK-LABEL: func.func @columns
// CHECK: vectorized(64)
// CHECK: nest.for "i"
// CHECK-NEXT: nest.prefetch %x[{{.+}} + 8, %{{.+}}] : memref<100000x64xf32>
// CHECK-NEXT: nest.load %x
func.func @columns(%x: memref<100000x64xf32>, %s: memref<64xf32>) {
  nest.for "j" %j = 0 to 64 {
    nest.for "i" %i = 0 to 100000 {
      %a = nest.load %x[%i, %j] : memref<100000x64xf32>
      nest.accumulate "s" add %a, %s[%j] : memref<64xf32>
    }
  }
  func.return
}

// Rows of 60 floats do not begin at lines: some would be written in pieces.
// PAST-LABEL: func.func @broken_lines
// PAST-NOT: nontemporal
func.func @broken_lines(%x: memref<100000x60xf32>, %w: memref<60xf32>, %y: memref<100000x60xf32> {nest.role = "out"}) {
  nest.for "i" %i = 0 to 100000 {
    nest.for "j" %j = 0 to 60 {
      %0 = nest.load %x[%i, %j] : memref<100000x60xf32>
      %1 = nest.load %w[%j] : memref<60xf32>
      %2 = arith.mulf %0, %1 : f32
      nest.store "y" %2, %y[%i, %j] : memref<100000x60xf32>
    }
  }
  func.return
}

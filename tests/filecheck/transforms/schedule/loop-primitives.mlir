// Each primitive on loops as a step: what its handles stand for afterwards is what the next step takes.
// RUN: opt-tool %s -p apply-schedule | filecheck %s

// CHECK-LABEL: func.func @tiles
// CHECK: nest.for "i.o" %{{.*}} = 0 to 3 {
// CHECK-NEXT: nest.for "j.o" %{{.*}} = 0 to %{{.*}} ceildiv 8 {
// CHECK-NEXT: nest.for "i.i" %{{.*}} = 0 to min({{.*}}) {
// CHECK-NEXT: nest.for "j.i" %{{.*}} = 0 to min({{.*}}) {
func.func @tiles(%x: memref<11x?xf32>, %n: index) {
  nest.for "i" %i = 0 to 11 {
    nest.for "j" %j = 0 to %n {
      %v = nest.load %x[%i, %j] : memref<11x?xf32>
      %w = arith.addf %v, %v : f32
      nest.store "x" %w, %x[%i, %j] : memref<11x?xf32>
    }
  }
  func.return
}
schedule.sequence @of_tiles for @tiles params {A = 4, B = 8} {
  %i, %j = schedule.match loops ["i", "j"]
  %a, %b, %c, %d = schedule.tile %i, %j by [@A, @B] tail(clamp)
}

// CHECK-LABEL: func.func @pieces
// CHECK: nest.for "first" %{{.*}} = 2 to 3 {
// CHECK: nest.for "i" %{{.*}} = 0 to 4 parallel {
// CHECK: nest.for "i.1.i" %{{.*}} = 0 to 3 {
func.func @pieces(%x: memref<10xf32>) {
  nest.for "i" %i = 2 to 10 {
    %v = nest.load %x[%i] : memref<10xf32>
    %w = arith.addf %v, %v : f32
    nest.store "x" %w, %x[%i] : memref<10xf32>
  }
  func.return
}
schedule.sequence @of_pieces for @pieces {
  %i = schedule.match loops ["i"]
  %head, %rest = schedule.peel %i
  schedule.rename %head to "first"
  %before, %after = schedule.cut %rest at 4
  schedule.normalise %before
  schedule.reverse %before
  schedule.rename %before to "i"
  schedule.parallel %before
  schedule.shift %after by 5
  schedule.rename %after to "i.1"
  %o, %in = schedule.split %after by 3 tail(perfect)
  %one = schedule.add_unit_loop %o
  schedule.remove_unit_loop %one
}

// CHECK-LABEL: func.func @together
// CHECK: nest.for "i" %[[I:.*]] = 0 to 6 {
// CHECK: nest.load %x[%[[I]]]
// CHECK: nest.load %y[%[[I]]]
// CHECK: nest.for "k" %[[K:.*]] = 0 to 6 {
// CHECK: nest.for "k.1"
func.func @together(%x: memref<6xf32>, %y: memref<6xf32>, %z: memref<6xf32>) {
  nest.for "i" %i = 0 to 6 {
    %v = nest.load %x[%i] : memref<6xf32>
    nest.store "y" %v, %y[%i] : memref<6xf32>
  }
  nest.for "j" %j = 0 to 6 {
    %v = nest.load %y[%j] : memref<6xf32>
    nest.store "z" %v, %z[%j] : memref<6xf32>
  }
  nest.for "k" %k = 0 to 6 {
    %v = nest.load %x[%k] : memref<6xf32>
    nest.store "first" %v, %y[%k] : memref<6xf32>
    %w = nest.load %y[%k] : memref<6xf32>
    nest.store "second" %w, %z[%k] : memref<6xf32>
  }
  func.return
}
schedule.sequence @of_together for @together {
  %i, %j, %k = schedule.match loops ["i", "j", "k"]
  %f = schedule.fuse %i, %j
  %parts = schedule.distribute %k after "first"
}

// CHECK-LABEL: func.func @copies
// CHECK: nest.for "i.o" %[[O:.*]] = 0 to 2 {
// CHECK-NEXT: nest.for "j" %[[J:.*]] = 0 to 3 {
// CHECK-NEXT: nest.load %x[2 * %[[O]], %[[J]]]
// CHECK: nest.load %x[2 * %[[O]] + 1, %[[J]]]
// CHECK-NOT: nest.for
// CHECK: nest.load %y[0]
// CHECK: nest.load %y[1]
func.func @copies(%x: memref<4x3xf32>, %y: memref<2xf32>) {
  nest.for "i" %i = 0 to 4 {
    nest.for "j" %j = 0 to 3 {
      %v = nest.load %x[%i, %j] : memref<4x3xf32>
      %w = arith.addf %v, %v : f32
      nest.store "x" %w, %x[%i, %j] : memref<4x3xf32>
    }
  }
  nest.for "k" %k = 0 to 2 {
    %v = nest.load %y[%k] : memref<2xf32>
    %w = arith.addf %v, %v : f32
    nest.store "y" %w, %y[%k] : memref<2xf32>
  }
  func.return
}
schedule.sequence @of_copies for @copies {
  %i, %k = schedule.match loops ["i", "k"]
  %o = schedule.unroll_and_jam %i by 2
  %gone = schedule.unroll %k
  schedule.parallel %gone
}

// CHECK-LABEL: func.func @wavefront
// CHECK: nest.for "j"
// CHECK-NEXT: nest.for "i" %{{.*}} = max({{.*}}) to min({{.*}}) parallel {
func.func @wavefront(%a: memref<9x9xf64>) {
  nest.for "i" %i = 1 to 9 {
    nest.for "j" %j = 1 to 9 {
      %u = nest.load %a[%i - 1, %j] : memref<9x9xf64>
      %l = nest.load %a[%i, %j - 1] : memref<9x9xf64>
      %s = arith.addf %u, %l : f64
      nest.store "a" %s, %a[%i, %j] : memref<9x9xf64>
    }
  }
  func.return
}
schedule.sequence @of_wavefront for @wavefront {
  %i, %j = schedule.match loops ["i", "j"]
  schedule.skew %i, %j
  schedule.reorder %j, %i
  schedule.parallel %i
}

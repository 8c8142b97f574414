// Sweeps: the host runs diagonals, whose elements do not depend on each other.
// RUN: opt-tool %s -p 'nest-schedule-cuda' --split-input-file | filecheck %s

// CHECK-LABEL: @neighbours_before
// CHECK:       nest.for "j" [[D:%\S+]] = 2 to 198 {
// CHECK:         bind "block.x" {
// CHECK:           bind "thread.x" {
// CHECK:             nest.store "a" %{{.*}}, %a[{{.*}}, [[D]] - {{.*}}] where ({{.*}}, {{.*}}) : memref<100x99xf32>
func.func @neighbours_before(%a: memref<100x99xf32>) {
  nest.for "i" %i = 1 to 100 {
    nest.for "j" %j = 1 to 99 {
      %u = nest.load %a[%i - 1, %j] : memref<100x99xf32>
      %l = nest.load %a[%i, %j - 1] : memref<100x99xf32>
      %s = arith.addf %u, %l : f32
      nest.store "a" %s, %a[%i, %j] : memref<100x99xf32>
    }
  }
  func.return
}

// -----

// What reads the next element of the row above waits for one more.
// CHECK-LABEL: @and_one_behind
// CHECK:       nest.for "j" {{%\S+}} = 3 to 296 {
// CHECK:         nest.store "a" %{{.*}}, %a[{{.*}}, {{.*}}] where ({{.*}}, {{.*}}) : memref<100x99xf32>
func.func @and_one_behind(%a: memref<100x99xf32>) {
  nest.for "i" %i = 1 to 100 {
    nest.for "j" %j = 1 to 98 {
      %u = nest.load %a[%i - 1, %j + 1] : memref<100x99xf32>
      %l = nest.load %a[%i, %j - 1] : memref<100x99xf32>
      %s = arith.addf %u, %l : f32
      nest.store "a" %s, %a[%i, %j] : memref<100x99xf32>
    }
  }
  func.return
}

// -----

// Sweeps over one array again and again: those of several steps are under way at a time.
// CHECK-LABEL: @again
// CHECK:       nest.for "j" {{%\S+}} = 2 to 2 * %steps + 194 {
// CHECK:         nest.for "t.o" {{.*}} bind "block.x" {
// CHECK:           nest.for "i.o" {{.*}} bind "block.y" {
func.func @again(%a: memref<100x99xf32>, %steps: index) {
  nest.for "t" %t = 0 to %steps {
    nest.for "i" %i = 1 to 99 {
      nest.for "j" %j = 1 to 98 {
        %u = nest.load %a[%i - 1, %j] : memref<100x99xf32>
        %d = nest.load %a[%i + 1, %j] : memref<100x99xf32>
        %l = nest.load %a[%i, %j - 1] : memref<100x99xf32>
        %r = nest.load %a[%i, %j + 1] : memref<100x99xf32>
        %0 = arith.addf %u, %d : f32
        %1 = arith.addf %0, %l : f32
        %s = arith.addf %1, %r : f32
        nest.store "a" %s, %a[%i, %j] : memref<100x99xf32>
      }
    }
  }
  func.return
}

// -----

// A branch on an element: it is around the iterations that are none of the program's.
// CHECK-LABEL: @branch
// CHECK:       nest.for "j" {{%\S+}} = 2 to 199 {
// CHECK:         bind "thread.x" {
// CHECK:           nest.if
// CHECK:             nest.if
func.func @branch(%a: memref<100x100xf32>, %x: memref<100xf32>) {
  %zero = arith.constant 0.0 : f32
  nest.for "i" %i = 1 to 100 {
    nest.for "j" %j = 1 to 100 {
      %v = nest.load %x[%j] : memref<100xf32>
      %p = arith.cmpf ogt, %v, %zero : f32
      nest.if %p {
        %u = nest.load %a[%i - 1, %j] : memref<100x100xf32>
        nest.store "a" %u, %a[%i, %j] : memref<100x100xf32>
      } else {
        %l = nest.load %a[%i, %j - 1] : memref<100x100xf32>
        nest.store "a" %l, %a[%i, %j] : memref<100x100xf32>
      }
    }
  }
  func.return
}

// -----

// What needs all of the row above is no sweep of this kind.
// CHECK-LABEL: @row_above
// CHECK-NOT:   bind
func.func @row_above(%a: memref<100x100xf32>) {
  nest.for "i" %i = 1 to 100 {
    nest.for "j" %j = 1 to 100 {
      %u = nest.load %a[%i - 1, 99 - %j] : memref<100x100xf32>
      %l = nest.load %a[%i, %j - 1] : memref<100x100xf32>
      %s = arith.addf %u, %l : f32
      nest.store "a" %s, %a[%i, %j] : memref<100x100xf32>
    }
  }
  func.return
}

// -----

// The largest element is looked for meanwhile: of each row, and of the rows when the sweep is done.
// CHECK-LABEL: @largest
// CHECK:       [[L:%\S+]] = nest.alloc "best_lanes" : memref<99xi32>
// CHECK:       nest.store "best" {{%\S+}}, [[L]]
// CHECK:       nest.for "j" {{%\S+}} = 2 to 199 {
// CHECK:         bind "thread.x" {
// CHECK:           nest.store "a"
// CHECK:           nest.accumulate "best" maxsi {{%\S+}}, [[L]]
// CHECK:       nest.load [[L]]
// CHECK:       nest.accumulate "best" maxsi
func.func @largest(%a: memref<100x100xi32>, %best: memref<i32>) {
  nest.for "i" %i = 1 to 100 {
    nest.for "j" %j = 1 to 100 {
      %u = nest.load %a[%i - 1, %j] : memref<100x100xi32>
      %l = nest.load %a[%i, %j - 1] : memref<100x100xi32>
      %s = arith.addi %u, %l : i32
      nest.store "a" %s, %a[%i, %j] : memref<100x100xi32>
      nest.accumulate "best" maxsi %s, %best[] : memref<i32>
    }
  }
  func.return
}

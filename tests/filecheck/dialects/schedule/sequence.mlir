// Schedules read back: parameters, matching by name and by pattern, handles, options with a keyword and without.
// RUN: opt-tool %s --verify-roundtrip | filecheck %s

// CHECK-LABEL: schedule.sequence @cpu for @f params {T = 16, U = 4} {
schedule.sequence @cpu for @f params {T = 16, U = 4} {
  // CHECK-NEXT: %[[I:.*]], %[[J:.*]] = schedule.match loops ["i", "j"]
  %i, %j = schedule.match loops ["i", "j"]
  // CHECK-NEXT: %[[F:.*]] = schedule.flatten %[[I]], %[[J]]
  %f = schedule.flatten %i, %j
  // CHECK-NEXT: %[[O:.*]], %[[V:.*]] = schedule.split %[[F]] by @T tail(mask)
  %o, %v = schedule.split %f by @T tail(mask)
  // CHECK-NEXT: %{{.*}}, %[[P:.*]], %{{.*}} = schedule.split %[[O]] by 3{{$}}
  %a, %b, %c = schedule.split %o by 3
  // CHECK-NEXT: = schedule.vectorize %[[V]] by 16
  %w = schedule.vectorize %v by 16
  // CHECK-NEXT: schedule.parallel %[[P]] grain(@U)
  schedule.parallel %b grain(@U)
  // CHECK-NEXT: schedule.bind %{{.*}} to "thread.x"
  schedule.bind %c to "thread.x"
  // CHECK-NEXT: schedule.match optional statements ["y", "z"]
  %y, %z = schedule.match optional statements ["y", "z"]
  // CHECK-NEXT: schedule.match buffers ["x"]
  %x = schedule.match buffers ["x"]
  // CHECK-NEXT: schedule.match loops contiguous "x"
  %k = schedule.match loops contiguous "x"
  // CHECK-NEXT: schedule.match loops containing "nest.store"
  %l = schedule.match loops containing "nest.store"
}

// CHECK-LABEL: schedule.sequence @nothing {
schedule.sequence @nothing {}

// CHECK-LABEL: schedule.sequence @strategy takes "column sums" params {rows = 4} {
schedule.sequence @strategy takes "column sums" params {rows = 4} {
  // CHECK-NEXT: schedule.match loops role "row"
  %row = schedule.match loops role "row"
  // CHECK-NEXT: schedule.match optional buffers role "result"
  %s = schedule.match optional buffers role "result"
}

// The first stage is computed where it is read: nothing is stored between, but every row is blurred three times.
schedule.sequence @inlined for @blur {
  %rows = schedule.match buffers ["rows"]
  schedule.compute_inline %rows
  %i, %j = schedule.match loops ["i.1", "j.1"]
  schedule.parallel %i
  %v = schedule.vectorize %j by 64
}

// Every rule that a schedule must keep: handles that are still good, options of the right kind, known parameters.
// RUN: opt-tool %s --split-input-file --verify-diagnostics

schedule.sequence @consumed {
  %i = schedule.match loops ["i"]
  %a, %b = schedule.split %i by 4 tail(mask)
  // expected-error @below {{uses %i, which schedule.split consumed}}
  %c, %d = schedule.split %i by 4 tail(mask)
}

// -----

// expected-error @below {{func.func is not a step of a schedule}}
schedule.sequence @steps {
  func.func private @f()
}

// -----

schedule.sequence @kind {
  // expected-error @below {{cannot match 'boats': one of loops, statements, buffers}}
  %i = schedule.match boats ["i"]
}

// -----

schedule.sequence @pattern {
  // expected-error @below {{unknown pattern 'around': one of containing, contiguous, reducing, role}}
  %i = schedule.match loops around "x"
}

// -----

schedule.sequence @pattern_kind {
  // expected-error @below {{unknown pattern 'contiguous' of buffers; loops can be matched by containing, contiguous, reducing, role, buffers by role}}
  %i = schedule.match buffers contiguous "x"
}

// -----

schedule.sequence @no_name {
  // expected-error @below {{says no name}}
  schedule.match loops []
}

// -----

schedule.sequence @word {
  %i = schedule.match loops ["i"]
  // expected-error @below {{'tail' is one of remainder, mask, clamp, perfect, not 'ragged'}}
  %a, %b = schedule.split %i by 4 tail(ragged)
}

// -----

schedule.sequence @required {
  %i = schedule.match loops ["i"]
  // expected-error @below {{schedule.split: 'by' is required}}
  %a, %b = schedule.split %i tail(mask)
}

// -----

schedule.sequence @parameter params {U = 3} {
  %i = schedule.match loops ["i"]
  // expected-error @below {{unknown parameter @T; parameters here: U}}
  %a, %b = schedule.split %i by @T tail(mask)
}

// -----

schedule.sequence @number_of_results {
  %i = schedule.match loops ["i"]
  // expected-error @below {{operation has 3 results, but was given 2 to bind}}
  %a, %b = schedule.split %i by 4
}

// -----

schedule.sequence @handle_kind {
  %x = schedule.match buffers ["x"]
  // expected-error @below {{operand is used with type !schedule.loop, but has been previously used or defined with type !schedule.buffer}}
  %a, %b = schedule.split %x by 4 tail(mask)
}

// -----

schedule.sequence @twice {
  %i = schedule.match loops ["i"]
  // expected-error @below {{one handle is given twice}}
  %f = schedule.flatten %i, %i
}

// -----

schedule.sequence @option {
  %i = schedule.match loops ["i"]
  // expected-error @below {{unknown option 'colour'; options: factor, tail}}
  "schedule.split"(%i) <{options = {factor = 4 : i64, colour = "red"}}> : (!schedule.loop) -> ()
}

// -----

schedule.sequence @option_type {
  %i = schedule.match loops ["i"]
  "schedule.parallel"(%i) <{options = {}}> : (!schedule.loop) -> ()
  // expected-error @below {{'factor' is an integer, not "four"}}
  %a, %b = "schedule.split"(%i) <{options = {factor = "four", tail = "mask"}}> : (!schedule.loop) -> (!schedule.loop, !schedule.loop)
}

// -----

schedule.sequence @targets {
  %i = schedule.match loops ["i"]
  // expected-error @below {{takes 1 handles, not 2}}
  "schedule.parallel"(%i, %i) <{options = {}}> : (!schedule.loop, !schedule.loop) -> ()
}

// -----

schedule.sequence @target_kind {
  %i = schedule.match buffers ["i"]
  // expected-error @below {{'loop' is a handle of a loop, not !schedule.buffer}}
  "schedule.parallel"(%i) <{options = {}}> : (!schedule.buffer) -> ()
}

// -----

schedule.sequence @results {
  %i = schedule.match loops ["i"]
  // expected-error @below {{gives 2 handles, not 1}}
  %a = "schedule.split"(%i) <{options = {factor = 4 : i64, tail = "mask"}}> : (!schedule.loop) -> (!schedule.loop)
}

// -----

// expected-error @below {{has no roles; they are those of what it takes}}
schedule.sequence @no_roles for @f {
  %i = schedule.match loops role "row"
}

// -----

// expected-error @below {{is for a function, or for nests that it takes, not for both}}
schedule.sequence @both for @f takes "product" {
  %i = schedule.match loops role "row"
}

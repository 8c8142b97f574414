"""The `schedule` dialect: what is to be done to a loop nest, step by step, as IR that is saved and replayed.

schedule.sequence @cpu {
  %i, %j = schedule.match loops ["i", "j"]
  %f = schedule.flatten %i, %j
  %o, %v = schedule.split %f by 16 tail(mask)
  %w = schedule.vectorize %v
  schedule.parallel %o
}

`table.py` has a row for each primitive, `ops.py` makes the operations: they are imported where schedules are read or
written, and not with the table.
"""

schedule.sequence @cpu params {T = 16} {
  %i, %j = schedule.match loops ["i", "j"]
  %f = schedule.flatten %i, %j
  %o, %v = schedule.split %f by @T tail(mask)
  %w = schedule.vectorize %v
  schedule.parallel %o
}

schedule.sequence @columns {
  %i, %j = schedule.match loops ["i", "j"]
  schedule.reorder %j, %i
}

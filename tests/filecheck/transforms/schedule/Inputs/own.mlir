schedule.sequence @columns for @copy {
  %i, %j = schedule.match loops ["i", "j"]
  schedule.reorder %j, %i
}

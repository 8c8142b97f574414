schedule.sequence @in_strips takes "column sums" params {columns = 8} {
  %row = schedule.match loops role "row"
  %column = schedule.match loops role "column"
  %strips, %strip = schedule.split %column by @columns tail(mask)
  schedule.reorder %strips, %row, %strip
  %v = schedule.vectorize %strip
}

// One loop over all boxes: vectors of four registers, blocks of them shared among threads. What `low.schedule()` chooses,
// with the length of the vectors as a parameter.
schedule.sequence @cpu for @ratio_iou params {LANES = 64} {
  %i, %j = schedule.match loops ["i", "j"]
  %boxes = schedule.flatten %i, %j
  %blocks, %lanes, %rest = schedule.split %boxes by @LANES
  %vectors = schedule.vectorize %lanes by @LANES
  %masked = schedule.vectorize %rest by @LANES
  schedule.parallel %blocks grain(64)
}

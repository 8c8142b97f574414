// Tiles of rows, each on one thread with a buffer of its own, and in a tile a window of rows that slides: two rows are
// blurred before the tile begins, then one new row for each row of the result. Two rows a tile are computed twice.
schedule.sequence @sliding for @blur params {ROWS = 32} {
  %i, %j = schedule.match loops ["i.1", "j.1"]
  %tiles, %i_in = schedule.split %i by @ROWS tail(clamp)
  %rows = schedule.match buffers ["rows"]
  %made, %none = schedule.compute_at %rows at %tiles storage(here)
  %first, %others = schedule.cut %made at 2
  schedule.normalise %others
  %slide = schedule.fuse %others, %i_in
  schedule.parallel %tiles
  %vectors = schedule.match loops containing "nest.store"
  %v = schedule.vectorize %vectors by 64
}

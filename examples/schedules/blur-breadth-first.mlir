// Each stage is finished before the next begins: no work twice, but all of `rows` goes through memory.
schedule.sequence @breadth_first for @blur {
  %i, %j = schedule.match loops ["i", "j"]
  schedule.parallel %i
  %v = schedule.vectorize %j by 64
  %i2, %j2 = schedule.match loops ["i.1", "j.1"]
  schedule.parallel %i2
  %v2 = schedule.vectorize %j2 by 64
}

"""nest-schedule-cuda: one strategy a file. Never imports `cpu`."""

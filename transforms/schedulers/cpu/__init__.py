"""nest-schedule-cpu: one strategy a file. Never imports `cuda`."""

"""Applying and recording schedules: what the `schedule` dialect says, done to loop nests."""

"""The reference interpreter of the nest level: the oracle of every loop transform and lowering."""

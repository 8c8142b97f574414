"""What stands without a compiler between a program and its calls: the types of arguments, structures, what was read outside,
guards and recipes of results, and the errors."""

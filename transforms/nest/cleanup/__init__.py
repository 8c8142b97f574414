"""Passes that take away what nothing needs, prove checks, and print what is known. They decide no schedule."""

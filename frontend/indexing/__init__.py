"""Subscripts: views, gathers, masks; and islands, where elements are written one by one."""

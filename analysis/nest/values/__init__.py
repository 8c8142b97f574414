"""Which values numbers have: ranges, extents, facts about scalars, what is the same in every call; and how people
read them.
"""

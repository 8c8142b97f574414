"""Calls of what the user has defined for compiled code: functions of Python (nt.custom_call), operations (nt.custom_op)."""

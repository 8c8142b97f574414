"""Compiled programs as C libraries: the C function of a program, its header and source, the files around them.

Works on programs of the CPU and calls the C compiler of the machine; nothing here changes a program.
"""

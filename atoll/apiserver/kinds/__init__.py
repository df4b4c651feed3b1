"""What is special about each built-in kind: its defaults, its rules, its columns. Pure.

`builtin.builtin_resources` joins them with the generated facts into served resources.
"""

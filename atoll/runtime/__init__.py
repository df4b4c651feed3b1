"""The only package that starts tasks: `children` for short-lived ones, `supervisor` for the rest.

Coroutines and names come in; owned tasks come out, with failures reported and an orderly end.
Nothing here knows what the tasks do.
"""

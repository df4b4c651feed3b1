"""A cheaper or better balanced assignment of all that runs, as a list of moves to consider.

`problem` says what is where and what may move, `proposal` holds `rebalance` and its answer. In
between, `board` turns the problem into arrays, `ledger` plays moves one by one so that every
prefix of them fits, `cheaper` and `evener` look for single moves, `solver` asks HiGHS for the
whole, and `ordering` turns its answer into moves that can be made one after the other.
"""

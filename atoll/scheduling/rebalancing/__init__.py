"""A cheaper or better balanced assignment of all that runs, as a list of moves to consider.

`problem` says what is where and what may move, `proposal` holds `rebalance` and its answer. In
between, `board` turns the problem into arrays, `ledger` plays moves one by one so that every
prefix of them fits, `cheaper` and `evener` look for single moves, `solver` asks HiGHS about the
`model` of the whole, `ordering` puts its answer in an order, and `search` takes the best of all.
"""

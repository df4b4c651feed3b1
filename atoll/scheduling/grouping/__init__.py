"""Which clusters to take, when they are to be spread over groups, meet quotas, and have room.

`ground` lays out the candidates and `picking` chooses among them: by arithmetic under one rule
(`by_sizes`), by taking one after the other (`straight`), else by looking at all ways (`search`)
that fit the rules (`frames`) for the best (`aims`). `telling` says what was weighed, and why there
is no selection.
"""

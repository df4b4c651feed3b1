"""Which clusters to take, when they are to be spread over groups, meet quotas, and have room.

`ground` lays out the candidates; `frames` says what rules hold for a selection; `search` finds the
best selection that holds them all, by an aim from `aims`; `picking` puts it together; `telling`
says why there is none.
"""

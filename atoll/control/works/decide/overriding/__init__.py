"""Overrides: what differs from the template in one cluster.

`overriding` carries all policies out on a manifest; `selecting` says which rules apply, and
`targeting` to which cluster. One file per family of overriders: `images`, `containers`, `maps`,
`fields` and `patches`.
"""

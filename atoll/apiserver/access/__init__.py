"""Who may do what, beyond administrators: accounts and their tokens, roles and their bindings."""

"""That this is here lets the tests in folders below use what the tests beside it share."""

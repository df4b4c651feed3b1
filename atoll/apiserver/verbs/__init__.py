"""What can be done to a resource, one file per verb. `call.py` has what they all are given."""

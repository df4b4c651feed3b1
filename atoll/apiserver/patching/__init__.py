"""The three kinds of patch: what a document becomes, or why it cannot. Nothing is changed in place.

`json_patch` (RFC 6902), `merge_patch` (RFC 7386) and `strategic` (Kubernetes' own) each have one
entry point. They take decoded JSON and give decoded JSON, sharing with their input whatever did not
change, and raise nothing but ApiError.
"""

"""What Karmada v1.18.2 decided for thousands of generated inputs, held against our decisions.

`cases.jsonl.gz` has the default feature gates, `cases-gates.jsonl.gz` those that are off by
default. `python -m tests.oracle.predict INPUTS` decides, `python -m tests.oracle.run CASES`
decides and compares. Paths may end in `.gz`.
"""

"""CEL, the language of rules in custom resources and admission policies: read, checked, evaluated.

`compiling` is the way in: text and declarations to a Program; a Program and variables to a value.
Knows the language and Kubernetes' functions, and nothing of requests, stores or schemas.
"""

"""What the API server does on its own: collecting garbage, emptying namespaces, serving CRDs."""

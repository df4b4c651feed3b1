"""The functions of CEL and of Kubernetes' libraries, declared by signature."""

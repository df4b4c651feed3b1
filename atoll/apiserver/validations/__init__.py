"""Rules in CEL that a CRD's schema sets on its objects (x-kubernetes-validations)."""

"""Request bodies to objects, objects to response bodies: JSON and YAML as Kubernetes has them."""

"""The files that kubectl is given in these tests."""

CONFIGMAP = """
apiVersion: v1
kind: ConfigMap
metadata: {name: settings, labels: {app: shop}}
data: {color: red}
"""
DEPLOYMENT = """
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, labels: {app: web}}
spec:
  replicas: 2
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      containers:
      - {name: main, image: "nginx:1.0", ports: [{containerPort: 80}]}
      - {name: side, image: "side:1.0"}
"""
LIST = """
apiVersion: v1
kind: List
items:
- {apiVersion: v1, kind: ConfigMap, metadata: {name: one}, data: {color: red}}
- {apiVersion: v1, kind: ConfigMap, metadata: {name: two}, data: {color: red}}
"""
CHANGED = DEPLOYMENT.replace("nginx:1.0", "nginx:2.0").replace("replicas: 2", "replicas: 3")
CRD = """
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: gadgets.kubectl.example.com}
spec:
  group: kubectl.example.com
  scope: Namespaced
  names: {plural: gadgets, kind: Gadget, shortNames: [gd]}
  versions:
  - name: v1
    served: true
    storage: true
    subresources:
      scale: {specReplicasPath: .spec.size, statusReplicasPath: .status.size}
    additionalPrinterColumns:
    - {name: Size, type: integer, jsonPath: .spec.size}
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec:
            type: object
            properties:
              size: {type: integer, maximum: 10, description: How large it is.}
          status: {type: object, properties: {size: {type: integer}}}
"""
GADGET = """
apiVersion: kubectl.example.com/v1
kind: Gadget
metadata: {name: one}
spec: {size: 3}
"""

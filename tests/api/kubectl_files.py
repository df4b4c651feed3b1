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
NODE = """
apiVersion: v1
kind: Node
metadata: {name: kubectl-node, labels: {kubernetes.io/os: linux}}
"""
REQUEST = """
apiVersion: certificates.k8s.io/v1
kind: CertificateSigningRequest
metadata: {name: kubectl-csr}
spec:
  request: >-
    LS0tLS1CRUdJTiBDRVJUSUZJQ0FURSBSRVFVRVNULS0tLS0KTUlISU1IQUNBUUF3RGpFTU1Bb0dBMVVFQXd3RFlXNX
    VNRmt3RXdZSEtvWkl6ajBDQVFZSUtvWkl6ajBEQVFjRApRZ0FFdjlXNDh2cHhMY1Z2emJ0dWtVZExDTU82YUhHKzBM
    RzE2a0VLN3BGZWtWajJOTlJUanBuanRDUExQWXp0CkZEdXVCcFhQLzJzTlQ3OFprd3pFZzB6TEw2QUFNQW9HQ0NxR1
    NNNDlCQU1DQTBnQU1FVUNJRkdQanloNkJwSGkKRitnQTYxWkVVMlFiaVpMVnpzVmJnbEhMMHd4ZU5NK1ZBaUVBemVP
    OHI2Rk1GZE8rRGlrVlJ1c3NBOEpnVGdIRworN0piaXZ5MVJoK2lFelE9Ci0tLS0tRU5EIENFUlRJRklDQVRFIFJFUV
    VFU1QtLS0tLQo=
  signerName: example.com/nobody
  usages: [client auth]
"""
EVENT = """
apiVersion: v1
kind: Event
metadata: {name: one}
involvedObject: {kind: Pod, name: p, apiVersion: v1}
reason: Started
message: It runs.
type: Normal
source: {component: kubelet}
count: 3
firstTimestamp: "2026-01-01T00:00:00Z"
lastTimestamp: "2026-01-01T00:01:00Z"
"""
RIGHTS = """
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: reader}
rules:
- {apiGroups: [""], resources: [configmaps], verbs: [get]}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: readers}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: reader}
subjects:
- {apiGroup: rbac.authorization.k8s.io, kind: User, name: ann}
"""

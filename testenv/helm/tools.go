//go:build tools

// Package helm names the command that is built, so that go.mod keeps its modules.
package helm

import (
	_ "helm.sh/helm/v4/cmd/helm"
)

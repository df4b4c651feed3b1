//go:build tools

// Package kwok names the command that is built, so that go.mod keeps its modules.
package kwok

import (
	_ "sigs.k8s.io/kwok/cmd/kwok"
)

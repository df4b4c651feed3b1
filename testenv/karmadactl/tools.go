//go:build tools

// Package karmadactl names the command that is built, so that go.mod keeps its modules.
package karmadactl

import (
	_ "github.com/karmada-io/karmada/cmd/karmadactl"
)

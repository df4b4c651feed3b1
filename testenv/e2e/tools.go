//go:build tools

// Package conformance names the tests that are built, so that go.mod keeps their modules.
package conformance

import (
	_ "k8s.io/kubernetes/test/e2e"
)

// Command registry is two programs of others in one binary, for the test of the page on registries: CNCF's registry, and crane, which copies images.
//
// The program to be is the first argument: `registry serve CONFIG`, `registry crane push …`.
package main

import (
	"os"

	"github.com/distribution/distribution/v3/registry"
	_ "github.com/distribution/distribution/v3/registry/auth/htpasswd"
	_ "github.com/distribution/distribution/v3/registry/storage/driver/filesystem"
	crane "github.com/google/go-containerregistry/cmd/crane/cmd"
)

func main() {
	command := registry.RootCmd
	if len(os.Args) > 1 && os.Args[1] == "crane" {
		os.Args = os.Args[1:]
		command = crane.Root
	}
	if err := command.Execute(); err != nil {
		os.Exit(1)
	}
}

// Command packaging is helm and kubectl in one binary, for the tests of the chart, the Kustomize files and the documentation.
//
// The program to be is the first argument: `packaging helm template …`, `packaging kubectl apply …`.
// The module's versions are those of the control planes' module wherever both have one, so that little is compiled twice.
package main

import (
	"fmt"
	"os"

	helm "helm.sh/helm/v4/pkg/cmd"
	"k8s.io/component-base/cli"
	kubectl "k8s.io/kubectl/pkg/cmd"
	"k8s.io/kubectl/pkg/cmd/util"
)

func main() {
	if len(os.Args) < 2 {
		usage()
	}
	program := os.Args[1]
	os.Args = os.Args[1:]
	switch program {
	case "helm":
		runHelm()
	case "kubectl":
		if err := cli.RunNoErrOutput(kubectl.NewDefaultKubectlCommand()); err != nil {
			util.CheckErr(err)
		}
	default:
		usage()
	}
}

func runHelm() {
	command, err := helm.NewRootCmd(os.Stdout, os.Args[1:], helm.SetupLogging)
	if err == nil {
		err = command.Execute()
	}
	if err != nil {
		os.Exit(1)
	}
}

func usage() {
	fmt.Fprintln(os.Stderr, "usage: packaging helm|kubectl [arguments]")
	os.Exit(2)
}

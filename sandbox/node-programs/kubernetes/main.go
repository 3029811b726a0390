// Command kubernetes is kubelet and kube-proxy in one binary, for the real nodes of a sandbox.
//
// The program to be is the first argument: `kubernetes kubelet --config=…`.
// The module's versions are those of the control planes' module, so that little is compiled twice.
package main

import (
	"context"
	"fmt"
	"os"

	"github.com/spf13/cobra"
	"k8s.io/component-base/cli"
	proxy "k8s.io/kubernetes/cmd/kube-proxy/app"
	kubelet "k8s.io/kubernetes/cmd/kubelet/app"

	// The same registrations as the stock commands make.
	_ "k8s.io/component-base/logs/json/register"
	_ "k8s.io/component-base/metrics/prometheus/clientgo"
	_ "k8s.io/component-base/metrics/prometheus/version"
)

func main() {
	if len(os.Args) < 2 {
		usage()
	}
	program := os.Args[1]
	os.Args = os.Args[1:]
	switch program {
	case "kubelet":
		run(kubelet.NewKubeletCommand(context.Background()))
	case "kube-proxy":
		run(proxy.NewProxyCommand())
	default:
		usage()
	}
}

func run(command *cobra.Command) { os.Exit(cli.Run(command)) }

func usage() {
	fmt.Fprintln(os.Stderr, "usage: kubernetes kubelet|kube-proxy [flags]")
	os.Exit(2)
}

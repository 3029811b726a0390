// Command kubernetes is kube-apiserver, kube-controller-manager and kube-scheduler of the oldest supported version in
// one binary, for `npm run soak -- oldest-kubernetes`. The name that it is started by says which of them.
package main

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"
	"k8s.io/component-base/cli"
	apiserver "k8s.io/kubernetes/cmd/kube-apiserver/app"
	controllermanager "k8s.io/kubernetes/cmd/kube-controller-manager/app"
	scheduler "k8s.io/kubernetes/cmd/kube-scheduler/app"

	// The same registrations as the stock commands make.
	_ "k8s.io/component-base/logs/json/register"
	_ "k8s.io/component-base/metrics/prometheus/clientgo"
	_ "k8s.io/component-base/metrics/prometheus/version"
)

func main() {
	commands := map[string]func() *cobra.Command{
		"kube-apiserver":          apiserver.NewAPIServerCommand,
		"kube-controller-manager": controllermanager.NewControllerManagerCommand,
		"kube-scheduler":          func() *cobra.Command { return scheduler.NewSchedulerCommand() },
	}
	name := filepath.Base(os.Args[0])
	command, ok := commands[name]
	if !ok {
		fmt.Fprintf(os.Stderr, "start it as kube-apiserver, kube-controller-manager or kube-scheduler, not as %s\n", name)
		os.Exit(2)
	}
	os.Exit(cli.Run(command()))
}

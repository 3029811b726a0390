// Command metrics is metrics-server, for `npm run soak -- streams`: it shows what kubectl top makes of virtual nodes.
//
// The module's versions are those of the control planes' module wherever both have one, so that little is compiled twice.
package main

import (
	"os"

	genericapiserver "k8s.io/apiserver/pkg/server"
	"k8s.io/component-base/cli"
	"sigs.k8s.io/metrics-server/cmd/metrics-server/app"
)

func main() { os.Exit(cli.Run(app.NewMetricsServerCommand(genericapiserver.SetupSignalHandler()))) }

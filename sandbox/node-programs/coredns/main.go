// Command coredns is CoreDNS with the plugins that a cluster's DNS needs, for the real nodes of a sandbox.
package main

import (
	_ "github.com/coredns/coredns/plugin/cache"
	_ "github.com/coredns/coredns/plugin/errors"
	_ "github.com/coredns/coredns/plugin/forward"
	_ "github.com/coredns/coredns/plugin/health"
	_ "github.com/coredns/coredns/plugin/kubernetes"
	_ "github.com/coredns/coredns/plugin/log"
	_ "github.com/coredns/coredns/plugin/loop"
	_ "github.com/coredns/coredns/plugin/ready"
	_ "github.com/coredns/coredns/plugin/reload"

	"github.com/coredns/coredns/core/dnsserver"
	"github.com/coredns/coredns/coremain"
)

// The order in which plugins see a query, which CoreDNS' own list would give.
func init() {
	dnsserver.Directives = []string{
		"reload", "health", "ready", "errors", "log", "cache", "loop", "kubernetes", "forward",
	}
}

func main() { coremain.Run() }

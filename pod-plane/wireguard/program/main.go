// A WireGuard interface in user space for one gateway, from the library of wireguard-go. It makes the interface that its argument names, takes
// WireGuard's configuration protocol on standard input, and answers on standard output. It ends, and the interface with it, when its input ends:
// so no interface outlives its gateway, however that has died, and no socket is left for others to find.
package main

import (
	"fmt"
	"net"
	"os"
	"strconv"
	"time"

	"golang.zx2c4.com/wireguard/conn"
	"golang.zx2c4.com/wireguard/device"
	"golang.zx2c4.com/wireguard/tun"
)

// standardStreams is the one connection that the device is configured over.
type standardStreams struct{}

func (standardStreams) Read(buffer []byte) (int, error)  { return os.Stdin.Read(buffer) }
func (standardStreams) Write(buffer []byte) (int, error) { return os.Stdout.Write(buffer) }
func (standardStreams) Close() error                     { return nil }
func (standardStreams) LocalAddr() net.Addr              { return nil }
func (standardStreams) RemoteAddr() net.Addr             { return nil }
func (standardStreams) SetDeadline(time.Time) error      { return nil }
func (standardStreams) SetReadDeadline(time.Time) error  { return nil }
func (standardStreams) SetWriteDeadline(time.Time) error { return nil }

func main() {
	if len(os.Args) != 3 {
		fail("usage: wireguard INTERFACE MTU")
	}
	mtu, err := strconv.Atoi(os.Args[2])
	if err != nil {
		fail(err.Error())
	}
	tunnel, err := tun.CreateTUN(os.Args[1], mtu)
	if err != nil {
		fail(fmt.Sprintf("cannot make the interface %s: %v", os.Args[1], err))
	}
	wireguard := device.NewDevice(tunnel, conn.NewDefaultBind(), device.NewLogger(device.LogLevelError, ""))
	if err := wireguard.Up(); err != nil {
		fail(err.Error())
	}
	done := make(chan struct{})
	go func() {
		wireguard.IpcHandle(standardStreams{})
		close(done)
	}()
	select {
	case <-done:
	case <-wireguard.Wait():
	}
	wireguard.Close()
}

func fail(message string) {
	fmt.Fprintln(os.Stderr, message)
	os.Exit(1)
}

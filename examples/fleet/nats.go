package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/footfall-dev/footfall"
	"github.com/footfall-dev/footfall/internal/freeport"
	"github.com/footfall-dev/footfall/stream"
)

// natsURL is the variable with the addresses of the NATS servers, for shops and relays.
const natsURL = "FLEET_NATS_URL"

// streamConfig is the Config of all shops and relays.
func streamConfig() stream.Config {
	return stream.Config{URL: os.Getenv(natsURL), MaxBytes: 256 << 20, RejectedMaxBytes: 16 << 20}
}

// runNATS runs a NATS server with a configuration file.
func runNATS(ctx context.Context, args []string) error {
	options, err := server.ProcessConfigFile(args[0])
	if err != nil {
		return err
	}
	options.NoSigs = true
	s, err := server.NewServer(options)
	if err != nil {
		return err
	}
	s.ConfigureLogger()
	s.Start()
	if !s.ReadyForConnections(startTimeout) {
		return errors.New("the server does not accept connections")
	}
	fmt.Println("ready", s.ClientURL())
	<-ctx.Done()
	s.Shutdown()
	s.WaitForShutdown()
	return nil
}

// ackWait is how long the events of a killed relay wait. The default of 30 s suits an API that
// may be slow.
const ackWait = 5 * time.Second

// runRelay delivers from the stream to the collector.
func runRelay(ctx context.Context, _ []string) error {
	relay, err := stream.NewRelay(footfall.ConfigFromEnv(), streamConfig(), stream.RelayConfig{AckWait: ackWait})
	if err != nil {
		return err
	}
	go func() {
		for relay.Ready() != nil {
			time.Sleep(20 * time.Millisecond)
		}
		fmt.Println("ready", "to deliver")
	}()
	return relay.Run(ctx)
}

// writeNATSConfigs writes the configuration files of a cluster, and returns them with the servers'
// addresses. The servers write each message to disk before they acknowledge it.
func writeNATSConfigs(dir string, names []string) (files []string, url string, err error) {
	ports, err := freeport.Ports(2 * len(names))
	if err != nil {
		return nil, "", err
	}
	var urls, routes []string
	for i := range names {
		urls = append(urls, fmt.Sprintf("nats://127.0.0.1:%d", ports[2*i]))
		routes = append(routes, fmt.Sprintf("nats://127.0.0.1:%d", ports[2*i+1]))
	}
	for i, name := range names {
		file := filepath.Join(dir, name+".conf")
		text := fmt.Sprintf("server_name: %s\nlisten: 127.0.0.1:%d\njetstream { store_dir: %q, sync_interval: always }\n"+
			"cluster { name: fleet, listen: 127.0.0.1:%d, routes: [%s] }\n",
			name, ports[2*i], filepath.Join(dir, name), ports[2*i+1], strings.Join(routes, ", "))
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			return nil, "", err
		}
		files = append(files, file)
	}
	return files, strings.Join(urls, ","), nil
}

// leader returns the name of the server that leads the stream.
func leader(ctx context.Context, url string) (string, error) {
	nc, err := nats.Connect(url)
	if err != nil {
		return "", err
	}
	defer nc.Close()
	js, err := jetstream.New(nc)
	if err != nil {
		return "", err
	}
	for {
		s, err := js.Stream(ctx, "FOOTFALL")
		if err != nil {
			return "", err
		}
		if name := s.CachedInfo().Cluster.Leader; name != "" {
			return name, nil
		}
		select {
		case <-ctx.Done():
			return "", ctx.Err()
		case <-time.After(100 * time.Millisecond): // servers elect one
		}
	}
}

package footfallgrpc_test

import (
	"context"
	"fmt"
	"net"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	health "google.golang.org/grpc/health/grpc_health_v1"

	"github.com/footfall-dev/footfall"
	"github.com/footfall-dev/footfall/adapters/footfallgrpc"
	"github.com/footfall-dev/footfall/footfalltest"
)

type service struct {
	health.UnimplementedHealthServer
}

func (service) Check(context.Context, *health.HealthCheckRequest) (*health.HealthCheckResponse, error) {
	return &health.HealthCheckResponse{Status: health.HealthCheckResponse_SERVING}, nil
}

func ExampleUnaryServerInterceptor() {
	api := footfalltest.StartAPI() // a stand-in for the Site Analytics API
	defer api.Close()
	cfg := api.Config()
	cfg.PublicURL = "https://shop.example.com"
	tracker, err := footfall.New(cfg)
	if err != nil {
		fmt.Println(err)
		return
	}
	rules := []footfall.Rule{{Route: "/grpc.health.v1.Health/Check", Event: "checked", Status: footfall.Success}}
	server := grpc.NewServer(grpc.ChainUnaryInterceptor(footfallgrpc.UnaryServerInterceptor(tracker, rules...)))
	health.RegisterHealthServer(server, service{})
	if err := footfallgrpc.CheckRules(tracker, server, rules...); err != nil {
		fmt.Println(err) // a rule's route is not registered
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		fmt.Println(err)
		return
	}
	go func() { _ = server.Serve(listener) }()
	defer server.Stop()

	conn, err := grpc.NewClient(listener.Addr().String(), grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		fmt.Println(err)
		return
	}
	defer conn.Close()
	if _, err := health.NewHealthClient(conn).Check(context.Background(), &health.HealthCheckRequest{}); err != nil {
		fmt.Println(err)
	}
	server.GracefulStop()
	if err := tracker.Close(context.Background()); err != nil {
		fmt.Println(err)
	}
	for _, e := range api.Events() {
		fmt.Println(e.Name, e.URL, e.Props)
	}
	// Output:
	// checked https://shop.example.com/grpc.health.v1.Health/Check map[]
}

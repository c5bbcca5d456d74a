// SPDX-License-Identifier: Apache-2.0

// The stock service: a gRPC server of its own on loopback, and the client the shop calls it with.
package main

import (
	"context"
	"net"
	"time"

	"go.opentelemetry.io/contrib/instrumentation/google.golang.org/grpc/otelgrpc"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/protobuf/types/known/wrapperspb"
)

const stockUnits = "/shop.Stock/Units"

// stockServer answers with the units in stock of an item.
type stockServer interface {
	units(ctx context.Context, item *wrapperspb.StringValue) (*wrapperspb.Int64Value, error)
}

type stock struct{}

func (stock) units(_ context.Context, item *wrapperspb.StringValue) (*wrapperspb.Int64Value,
	error) {
	return wrapperspb.Int64(int64(countPrimes(0, 10_000+len(item.GetValue())))), nil
}

// stockDescription is what protoc would write for a service with one method over two of
// Protocol Buffers' well-known types.
var stockDescription = grpc.ServiceDesc{
	ServiceName: "shop.Stock",
	HandlerType: (*stockServer)(nil),
	Methods:     []grpc.MethodDesc{{MethodName: "Units", Handler: handleUnits}},
}

func handleUnits(server any, ctx context.Context, decode func(any) error,
	interceptor grpc.UnaryServerInterceptor) (any, error) {
	item := new(wrapperspb.StringValue)
	if err := decode(item); err != nil {
		return nil, err
	}
	handle := func(ctx context.Context, request any) (any, error) {
		return server.(stockServer).units(ctx, request.(*wrapperspb.StringValue))
	}
	if interceptor == nil {
		return handle(ctx, item)
	}
	return interceptor(ctx, item, &grpc.UnaryServerInfo{Server: server, FullMethod: stockUnits},
		handle)
}

type stockClient struct {
	server     *grpc.Server
	connection *grpc.ClientConn
}

func startStock() (*stockClient, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	server := grpc.NewServer(grpc.StatsHandler(otelgrpc.NewServerHandler()))
	server.RegisterService(&stockDescription, stock{})
	go func() { _ = server.Serve(listener) }()
	connection, err := grpc.NewClient(listener.Addr().String(),
		grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithStatsHandler(otelgrpc.NewClientHandler()))
	if err != nil {
		server.Stop()
		return nil, err
	}
	return &stockClient{server, connection}, nil
}

func (c *stockClient) units(ctx context.Context, item string) (int64, error) {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	answer := new(wrapperspb.Int64Value)
	err := c.connection.Invoke(ctx, stockUnits, wrapperspb.String(item), answer)
	return answer.GetValue(), err
}

func (c *stockClient) close() {
	c.connection.Close()
	c.server.Stop()
}

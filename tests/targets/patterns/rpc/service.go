// SPDX-License-Identifier: Apache-2.0

// Package rpc is real gRPC between a client and a server on loopback, with OpenTelemetry's stats
// handlers. It compiles with the gRPC of today and with that of 2023.
package rpc

import (
	"context"
	"net"
	"sync/atomic"

	"go.opentelemetry.io/contrib/instrumentation/google.golang.org/grpc/otelgrpc"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/protobuf/types/known/wrapperspb"
)

// Dial is grpc.NewClient, or what older versions have in its place.
type Dial func(address string, options ...grpc.DialOption) (*grpc.ClientConn, error)

// service is what a scenario puts behind the two methods.
type service struct {
	call func(ctx context.Context)
	chat func(ctx context.Context, stream grpc.ServerStream) error
}

type handler interface{ handle() *service }

func (s *service) handle() *service { return s }

// description is what protoc would write for a unary and a streaming method over one of Protocol
// Buffers' well-known types.
var description = grpc.ServiceDesc{
	ServiceName: "patterns.Shop",
	HandlerType: (*handler)(nil),
	Methods:     []grpc.MethodDesc{{MethodName: "Call", Handler: handleCall}},
	Streams: []grpc.StreamDesc{{StreamName: "Chat", Handler: handleChat, ServerStreams: true,
		ClientStreams: true}},
}

func handleCall(server any, ctx context.Context, decode func(any) error,
	_ grpc.UnaryServerInterceptor) (any, error) {
	message := new(wrapperspb.StringValue)
	if err := decode(message); err != nil {
		return nil, err
	}
	server.(handler).handle().call(ctx)
	return message, ctx.Err()
}

func handleChat(server any, stream grpc.ServerStream) error {
	return server.(handler).handle().chat(stream.Context(), stream)
}

// listener works on the goroutines that read its connections, once each time that it is told to.
type listener struct {
	net.Listener
	onRead atomic.Pointer[func()]
}

type workingConn struct {
	net.Conn
	from *listener
}

func (l *listener) Accept() (net.Conn, error) {
	conn, err := l.Listener.Accept()
	return &workingConn{conn, l}, err
}

func (c *workingConn) Read(to []byte) (int, error) {
	n, err := c.Conn.Read(to)
	if n > 0 {
		if work := c.from.onRead.Swap(nil); work != nil {
			(*work)()
		}
	}
	return n, err
}

// end is a server and a client of it.
type end struct {
	*grpc.ClientConn
	*listener
}

func start(s *service, dial Dial, options ...grpc.ServerOption) *end {
	inner, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		panic(err)
	}
	l := &listener{Listener: inner}
	server := grpc.NewServer(append(options, grpc.StatsHandler(otelgrpc.NewServerHandler()))...)
	server.RegisterService(&description, s)
	go func() { _ = server.Serve(l) }()
	client, err := dial(inner.Addr().String(),
		grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithStatsHandler(otelgrpc.NewClientHandler()))
	if err != nil {
		panic(err)
	}
	return &end{client, l}
}

func (e *end) call(ctx context.Context) {
	message := wrapperspb.String("bread")
	if err := e.Invoke(ctx, "/patterns.Shop/Call", message, message); err != nil {
		panic(err)
	}
}

func (e *end) chat(ctx context.Context) grpc.ClientStream {
	stream, err := e.NewStream(ctx, &description.Streams[0], "/patterns.Shop/Chat")
	if err != nil {
		panic(err)
	}
	return stream
}

// exchange sends a message and awaits the answer.
func exchange(stream grpc.Stream) {
	message := wrapperspb.String("bread")
	if err := stream.SendMsg(message); err != nil {
		panic(err)
	}
	if err := stream.RecvMsg(message); err != nil {
		panic(err)
	}
}

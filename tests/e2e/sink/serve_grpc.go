// SPDX-License-Identifier: Apache-2.0
// The gRPC side: the official service on a real server, which answers well or badly as told.

package main

import (
	"context"
	"fmt"
	"net"
	"slices"
	"strings"

	collector "go.opentelemetry.io/proto/otlp/collector/profiles/v1development"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/encoding/gzip"
	"google.golang.org/grpc/mem"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/peer"
	"google.golang.org/grpc/stats"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"
)

// rawCodec hands requests over as they came: what is checked and kept are the sender's own bytes.
type rawCodec struct{}

func (rawCodec) Name() string { return "proto" }

func (rawCodec) Unmarshal(data mem.BufferSlice, to any) error {
	*to.(*[]byte) = data.Materialize()
	return nil
}

func (rawCodec) Marshal(from any) (mem.BufferSlice, error) {
	if raw, ok := from.([]byte); ok {
		return mem.BufferSlice{mem.SliceBuffer(raw)}, nil
	}
	data, err := proto.Marshal(from.(proto.Message))
	return mem.BufferSlice{mem.SliceBuffer(data)}, err
}

// call is what only the transport knows of one.
type call struct {
	encoding string
	wire     int
}

type callKey struct{}

// watcher fills in calls.
type watcher struct{}

func (watcher) TagRPC(ctx context.Context, _ *stats.RPCTagInfo) context.Context {
	return context.WithValue(ctx, callKey{}, &call{})
}

func (watcher) HandleRPC(ctx context.Context, event stats.RPCStats) {
	c := ctx.Value(callKey{}).(*call)
	switch event := event.(type) {
	case *stats.InHeader:
		c.encoding = event.Compression
	case *stats.InPayload:
		c.wire = event.CompressedLength
	}
}

func (watcher) TagConn(ctx context.Context, _ *stats.ConnTagInfo) context.Context { return ctx }
func (watcher) HandleConn(context.Context, stats.ConnStats)                       {}

func (s *server) serveGRPC(stop context.Context, listener net.Listener) error {
	_ = gzip.Name // its package makes the server take compressed messages
	options := []grpc.ServerOption{grpc.ForceServerCodecV2(rawCodec{}), grpc.StatsHandler(watcher{}),
		grpc.MaxRecvMsgSize(s.maxBytes)}
	config, err := s.tlsConfig()
	if err != nil {
		return err
	}
	if config != nil {
		options = append(options, grpc.Creds(credentials.NewTLS(config)))
	}
	rpc := grpc.NewServer(options...)
	service := collector.ProfilesService_ServiceDesc
	service.HandlerType = (*any)(nil)
	service.Methods = []grpc.MethodDesc{{MethodName: "Export", Handler: exportRPC}}
	rpc.RegisterService(&service, s)
	go func() {
		<-stop.Done()
		rpc.Stop()
	}()
	return rpc.Serve(listener)
}

func exportRPC(s any, ctx context.Context, decode func(any) error, _ grpc.UnaryServerInterceptor) (any, error) {
	var data []byte
	if err := decode(&data); err != nil {
		return nil, err
	}
	return s.(*server).exportRPC(ctx, data)
}

// callHeaders checks the metadata and gives it with what gRPC itself takes out of it.
func callHeaders(ctx context.Context, c *call) (lines, problems []string) {
	m, _ := metadata.FromIncomingContext(ctx)
	for name, want := range map[string]string{
		"content-type":                      "application/grpc",
		"otlp-profiles-development-version": "1",
	} {
		if got := strings.Join(m.Get(name), ", "); got != want {
			problems = append(problems, fmt.Sprintf("metadata %s is %q", name, got))
		}
	}
	if _, ok := ctx.Deadline(); !ok {
		problems = append(problems, "no grpc-timeout")
	}
	for name, values := range m {
		for _, value := range values {
			lines = append(lines, name+": "+value)
		}
	}
	lines = append(lines, "grpc-encoding: "+c.encoding)
	if from, ok := peer.FromContext(ctx); ok {
		lines = append(lines, "peer: "+from.Addr.String())
	}
	slices.Sort(lines)
	return lines, problems
}

func (s *server) exportRPC(ctx context.Context, data []byte) (any, error) {
	c := ctx.Value(callKey{}).(*call)
	headers, problems := callHeaders(ctx, c)
	result := checkReceived(data, c.wire)
	result.Problems = append(result.Problems, problems...)
	bad := s.record(&result, data, headers)
	if !s.wait(ctx) {
		return nil, status.FromContextError(ctx.Err()).Err()
	}
	switch {
	case len(result.Problems) > 0:
		return nil, status.Error(codes.InvalidArgument, result.Problems[0])
	case bad && s.garbage:
		return []byte("\xff\xff<html>\x1b[31mnot OTLP</html>"), nil
	case bad && s.code != 0:
		return nil, s.refusal()
	}
	return s.response(), nil
}

func (s *server) refusal() error {
	refusal := status.New(codes.Code(s.code), s.message)
	if s.retryDelay >= 0 {
		with, err := refusal.WithDetails(&errdetails.RetryInfo{RetryDelay: durationpb.New(s.retryDelay)})
		if err != nil {
			return err
		}
		refusal = with
	}
	return refusal.Err()
}

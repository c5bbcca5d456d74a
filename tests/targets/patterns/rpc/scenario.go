// SPDX-License-Identifier: Apache-2.0

package rpc

import (
	"context"
	"io"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/trace"
	"google.golang.org/grpc"
	"google.golang.org/protobuf/types/known/wrapperspb"
	"spanprof.test/patterns/pattern"
)

// Tagging says on which goroutine the server starts its span.
type Tagging int

const (
	TaggedByHandler Tagging = iota
	TaggedByReader          // of the connection, which then starts the handler: before gRPC 1.60
)

const unit = 10

// ends are a worker's servers and clients: one makes a goroutine for each RPC, the other keeps
// some.
type ends struct {
	plain, workers *end
	tagging        Tagging

	call, chat, worker, reader, client, afterClient, cancelled *pattern.Kind
}

// New makes the scenario of that name for each worker.
func New(name string, dial Dial, tagging Tagging) func() pattern.Scenario {
	handler, worker := pattern.Own, pattern.Own
	if tagging == TaggedByReader {
		handler, worker = pattern.Inherited, pattern.OnStack
	}
	e := ends{
		tagging:     tagging,
		call:        pattern.New(handler, name+"-handler"),
		chat:        pattern.New(handler, name+"-stream-handler"),
		worker:      pattern.New(worker, name+"-stream-worker"),
		reader:      pattern.New(pattern.Own, name+"-server-reader"),
		client:      pattern.New(pattern.Own, name+"-client-stream"),
		afterClient: pattern.New(pattern.Own, name+"-client-stream-after"),
		cancelled:   pattern.New(pattern.Own, name+"-client-cancelled"),
	}
	return func() pattern.Scenario {
		own := e
		own.plain = start(&service{call: own.serveCall(own.call), chat: own.serveChat}, dial)
		own.workers = start(&service{call: own.serveCall(own.worker), chat: waitForEnd}, dial,
			grpc.NumStreamWorkers(2))
		return pattern.Scenario{Run: own.run, Kinds: []*pattern.Kind{own.call, own.chat,
			own.worker, own.reader, own.client, own.afterClient, own.cancelled}}
	}
}

func (e *ends) serveCall(kind *pattern.Kind) func(context.Context) {
	return func(ctx context.Context) { kind.Work(unit, trace.SpanContextFromContext(ctx)) }
}

// serveChat answers each message. Before the answer to the first it has the connection's reader
// work at the next that arrives: its own span is open until the client says so.
func (e *ends) serveChat(ctx context.Context, stream grpc.ServerStream) error {
	message := new(wrapperspb.StringValue)
	for number := 1; ; number++ {
		if err := stream.RecvMsg(message); err == io.EOF {
			return nil
		} else if err != nil {
			return err
		}
		if number == 1 {
			e.readNext(trace.SpanContextFromContext(ctx))
			e.chat.Work(unit, trace.SpanContextFromContext(ctx))
		}
		if err := stream.SendMsg(message); err != nil {
			return err
		}
	}
}

func (e *ends) readNext(right trace.SpanContext) {
	if e.tagging == TaggedByHandler {
		right = pattern.None
	}
	work := func() { e.reader.Work(unit, right) }
	e.plain.onRead.Store(&work)
}

func (e *ends) run() {
	ctx, request := otel.Tracer("rpc").Start(context.Background(), "request")
	e.plain.call(ctx)
	e.workers.call(ctx)
	e.stream(ctx, request.SpanContext())
	e.cancel(ctx, request.SpanContext())
	request.End()
}

// clientSpan is the client's, of which its context knows.
func clientSpan(stream grpc.ClientStream) trace.SpanContext {
	return trace.SpanContextFromContext(stream.Context())
}

// stream works between two messages, and again when the stream is over.
func (e *ends) stream(ctx context.Context, outer trace.SpanContext) {
	stream := e.plain.chat(ctx)
	exchange(stream)
	e.client.Work(unit, clientSpan(stream))
	exchange(stream)
	if err := stream.CloseSend(); err != nil {
		panic(err)
	}
	if err := stream.RecvMsg(new(wrapperspb.StringValue)); err != io.EOF {
		panic(err)
	}
	e.afterClient.Work(unit, outer)
}

// cancel leaves a stream in the middle: gRPC's own goroutine ends the span.
func (e *ends) cancel(ctx context.Context, outer trace.SpanContext) {
	ctx, cancel := context.WithCancel(ctx)
	stream := e.workers.chat(ctx)
	ended := pattern.Ended(clientSpan(stream))
	cancel()
	<-ended
	e.cancelled.Work(unit, outer)
}

func waitForEnd(ctx context.Context, _ grpc.ServerStream) error {
	<-ctx.Done()
	return ctx.Err()
}

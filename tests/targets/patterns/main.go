// SPDX-License-Identifier: Apache-2.0

// patterns: the ways in which real services create, hand on, leak and inherit spans. Of every
// stretch of work it tells which span must be the tag of its samples (src/spans/README.md).
package main

import (
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"
	"google.golang.org/grpc"
	"spanprof.test/patterns/pattern"
	"spanprof.test/patterns/rpc"
)

// unit is how long a stretch of work takes, in milliseconds of CPU time: a few samples.
const unit = 10

// Services have one tracer provider as a rule. The second belongs to a library that makes its own.
var tracer, libraryTracer trace.Tracer

func main() {
	provider := pattern.NewProvider()
	otel.SetTracerProvider(provider)
	otel.SetTextMapPropagator(propagation.TraceContext{})
	tracer = provider.Tracer("patterns")
	libraryTracer = pattern.NewProvider().Tracer("library")
	startJobs()
	labelled := startLabelled()

	pattern.Main(pattern.Program{
		Make: []func() pattern.Scenario{
			always(helper, helperOwn),
			always(deep, nested12, nested12Unwound),
			always(tooDeep, nested20, nested20Sixteenth, nested20Beyond),
			always(handOver, handedParent, handedChild, handedParentAfter, handedChildAfter),
			always(batch, batchFirst, batchLast),
			always(leak, leaked, afterLeak),
			always(rename, renamedBefore, renamedAfter),
			always(providers, providerSecond, providerFirstAgain),
			always(group, errgroupChild, errgroupOwn),
			always(afterCancel, contextAfterFunc),
			always(requestPool, poolOwnRequest, poolOtherRequest, poolLateIdle, poolLateTask),
			always(timers, timerPlain, timerContext, timerEnded),
			always(bareContexts, bareContext, bareWrapped, bareFar, bareSpan, bareAfterOwn,
				bareLastUse, bareInStruct, bareLimited),
			always(bareOver, bareEnded, bareIdle),
			always(droppedRoots, droppedRoot, droppedRootChild, droppedRootAfter, droppedAlone),
			always(droppedChildren, droppedSameTrace),
			always(localSpans, localRoot, localChild),
			always(labels, labelHex, labelDecimal, labelBeside, labelForeign),
			newWeb,
			rpc.New("grpc", grpc.NewClient, rpc.TaggedByHandler),
		},
		Before: openOlder,
		Last:   alternate,
		Check:  labelled,
	})
}

// always is a scenario without anything that it keeps.
func always(run func(), kinds ...*pattern.Kind) func() pattern.Scenario {
	return func() pattern.Scenario { return pattern.Scenario{Kinds: kinds, Run: run} }
}

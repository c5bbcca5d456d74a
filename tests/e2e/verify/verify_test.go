// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/google/pprof/profile"
)

const (
	spanA, traceA = "00000000000000a1", "000000000000000000000000000000aa"
	spanB, traceB = "00000000000000b1", "000000000000000000000000000000bb"
	period        = 1e6
)

// What samples say in these fields.
const (
	none = `"span_id":"","trace_id":""`
	ofA  = `"span_id":"` + spanA + `","trace_id":"` + traceA + `"`
	ofB  = `"span_id":"` + spanB + `","trace_id":"` + traceB + `"`
)

// synthetic is a truth file: on thread 7 span A works from 10 to 110 ms, nobody from 120 to 220 ms,
// span B from 230 to 530 ms.
const synthetic = `{"pid":42,"go":"go1.26.8","monotonic_ns":1000,"wall_ns":1700000000000001000,"kinds":[` +
	`{"name":"solo","slot":2,"stack":[` +
	`{"function":"main.spin","file":"/s/c.go","first":10,"last":18,"call":0},` +
	`{"function":"main.soloWork","file":"/s/c.go","first":20,"last":21,"call":21},` +
	`{"function":"main.slot","file":"/s/t.go","first":30,"last":40,"call":37},` +
	`{"function":"main.loop","file":"/s/t.go","first":50,"last":50,"call":50}]},` +
	`{"name":"outside","slot":2,"stack":[` +
	`{"function":"main.spin","file":"/s/c.go","first":10,"last":18,"call":0},` +
	`{"function":"main.outsideWork","file":"/s/c.go","first":24,"last":25,"call":25},` +
	`{"function":"main.slot","file":"/s/t.go","first":30,"last":40,"call":37},` +
	`{"function":"main.loop","file":"/s/t.go","first":52,"last":52,"call":52}]}]}
{"span":"` + spanA + `","trace":"` + traceA + `","start":[9000000,9500000],"end":[111000000,112000000]}
{"span":"` + spanB + `","trace":"` + traceB + `","start":[228000000,229000000],"end":[531000000,532000000]}
{"kind":0,"tid":7,"begin":10000000,"finish":110000000,"cpu":100000000,"span":"` + spanA + `","trace":"` + traceA + `"}
{"kind":1,"tid":7,"begin":120000000,"finish":220000000,"cpu":100000000,"span":"0000000000000000","trace":"00000000000000000000000000000000"}
{"kind":0,"tid":7,"begin":230000000,"finish":530000000,"cpu":300000000,"span":"` + spanB + `","trace":"` + traceB + `"}
`

func stackOf(leaf int, work string, workLine, loopLine int) string {
	return fmt.Sprintf(`["main.spin /s/c.go:%d","main.%s /s/c.go:%d","main.slot /s/t.go:37",`+
		`"main.loop /s/t.go:%d","runtime.goexit /go/asm.s:1700"]`, leaf, work, workLine, loopLine)
}

// sampleLines samples the synthetic program every millisecond, without an error.
func sampleLines(wall bool) []string {
	var lines []string
	for ms := int64(1); ms <= 540; ms++ {
		at := ms*1e6 + 500
		span, trace, stack := "", "", `["runtime.chanrecv /go/chan.go:1","main.loop /s/t.go:60"]`
		switch {
		case ms >= 10 && ms < 110:
			span, trace, stack = spanA, traceA, stackOf(12, "soloWork", 21, 50)
		case ms >= 120 && ms < 220:
			stack = stackOf(12, "outsideWork", 25, 52)
		case ms >= 230 && ms < 530:
			span, trace, stack = spanB, traceB, stackOf(16, "soloWork", 21, 50)
		}
		if wall {
			at += 1700000000000000000
		}
		lines = append(lines, fmt.Sprintf(`{"time_ns":%d,"pid":42,"tid":7,"goid":3,"span_id":"%s",`+
			`"trace_id":"%s","inherited":false,"stack":%s}`, at, span, trace, stack))
	}
	return lines
}

func known(t *testing.T) *truth {
	t.Helper()
	k, err := readTruth(strings.NewReader(synthetic))
	if err != nil {
		t.Fatal(err)
	}
	return k
}

func tallyOf(t *testing.T, lines []string) *tally {
	t.Helper()
	return tallyBy(t, known(t), lines, rules{})
}

func tallyBy(t *testing.T, k *truth, lines []string, r rules) *tally {
	t.Helper()
	samples, err := readSamples(strings.NewReader(strings.Join(lines, "\n")), k)
	if err != nil {
		t.Fatal(err)
	}
	return match(k, samples, r)
}

func TestAllRight(t *testing.T) {
	for _, wall := range []bool{false, true} {
		got := tallyOf(t, sampleLines(wall))
		if got.samples != 540 || got.judged() != (score{right: 500}) ||
			got.inside.right != 400 || got.outside.right != 100 || got.between != 40 ||
			got.stacksRight != 500 {
			t.Errorf("wall %v: %+v", wall, got)
		}
	}
}

func TestRegression(t *testing.T) {
	k := known(t)
	samples, err := readSamples(strings.NewReader(strings.Join(sampleLines(false), "\n")), k)
	if err != nil {
		t.Fatal(err)
	}
	counts := match(k, samples, rules{})
	got := regress(k, counts, samples[0].Time, samples[len(samples)-1].Time, period)
	if got.n != 2 || got.slope < 0.9999 || got.slope > 1.0001 || got.correlation < 0.9999 ||
		got.uncertainty > 1e-6 {
		t.Errorf("%+v", got)
	}
	counts.perSpan[spanB] = 150
	got = regress(k, counts, samples[0].Time, samples[len(samples)-1].Time, period)
	// (100·100 + 300·150) / (100² + 300²); residuals 45 and −15.
	if got.slope < 0.5499 || got.slope > 0.5501 || got.uncertainty < 0.0899 ||
		got.uncertainty > 0.0901 {
		t.Errorf("%+v", got)
	}
}

// edit replaces text in the line sampled at the given millisecond.
func edit(t *testing.T, ms int, from, to string) []string {
	t.Helper()
	lines := sampleLines(false)
	changed := strings.Replace(lines[ms-1], from, to, 1)
	if changed == lines[ms-1] {
		t.Fatalf("nothing to edit in %s", lines[ms-1])
	}
	lines[ms-1] = changed
	return lines
}

func TestWrongSpans(t *testing.T) {
	for _, c := range []struct {
		name                     string
		ms                       int
		from, to                 string
		wrong, untagged, unknown int
	}{
		{"another's", 50, ofA, ofB, 1, 0, 0},
		{"another's, trace of A", 50, spanA, spanB, 1, 0, 1}, // this pair was never issued
		{"an ID of nobody", 50, spanA, "00000000000000c1", 1, 0, 1},
		{"lost", 300, ofB, none, 0, 1, 0},
		{"ended span", 150, none, ofA, 1, 0, 0},
		{"between, ended", 115, none, ofA, 1, 0, 0},
		{"between, still open", 111, none, ofA, 0, 0, 0},
		{"all zero is none", 150, `"span_id":""`, `"span_id":"0000000000000000"`, 0, 0, 0},
	} {
		got := tallyOf(t, edit(t, c.ms, c.from, c.to))
		all := got.judged()
		if all.wrong != c.wrong || all.untagged != c.untagged || got.unknown != c.unknown {
			t.Errorf("%s: %+v, unknown %d", c.name, all, got.unknown)
		}
	}
}

// olderTally gives the tally of the synthetic run as if span A had begun before the attach.
func olderTally(t *testing.T, lines []string, name string, r rules) *tally {
	t.Helper()
	k := known(t)
	k.Kinds[0].Name = name
	a := k.spans[spanA]
	a.Start = [2]int64{100, 200}
	k.spans[spanA] = a
	return tallyBy(t, k, lines, r)
}

func TestOlderSpans(t *testing.T) {
	for _, c := range []struct {
		name, kind, to           string
		older                    score
		unaware                  int
		judged, judgedWithOthers score
	}{
		{"right", "older", ofA, score{right: 100}, 0, score{right: 400}, score{right: 500}},
		{"lost", "older", none, score{right: 99, untagged: 1}, 0, score{right: 400},
			score{right: 499, untagged: 1}},
		{"another's", "older", ofB, score{right: 99, wrong: 1}, 0, score{right: 400},
			score{right: 499, wrong: 1}},
		{"nobody can know", "older-unaware", none, score{right: 99}, 1, score{right: 400},
			score{right: 499}},
		{"nobody can know, but wrong", "older-unaware", ofB, score{right: 99, wrong: 1}, 0,
			score{right: 400}, score{right: 499, wrong: 1}},
	} {
		lines := sampleLines(false)
		lines[50-1] = strings.Replace(lines[50-1], ofA, c.to, 1)
		got := olderTally(t, lines, c.kind, rules{})
		if got.older != c.older || got.unaware.untagged != c.unaware ||
			got.judged() != c.judged || got.inside.right != 300 {
			t.Errorf("%s: %+v", c.name, got)
		}
		got = olderTally(t, lines, c.kind, rules{judgeOlder: true})
		if got.judged() != c.judgedWithOthers || got.inSpans().right != c.older.right+300 {
			t.Errorf("%s, judged: %+v", c.name, got)
		}
	}
}

func TestSettle(t *testing.T) {
	// Span B begins at 228 ms, the first sample is taken at 1 ms.
	for settle, older := range map[int64]int{226e6: 100, 228e6: 400} {
		if got := olderTally(t, sampleLines(false), "older", rules{settle: settle}); got.older.
			total() != older || got.perKind[0].older.total() != older {
			t.Errorf("%d: %+v", settle, got)
		}
	}
}

func TestShown(t *testing.T) {
	lines := sampleLines(false)
	for _, ms := range []int{40, 50, 300} {
		for _, id := range []string{spanA, traceA, spanB, traceB} {
			lines[ms-1] = strings.Replace(lines[ms-1], id, "", 1)
		}
	}
	want := `+0.039 s, thread 7, goroutine 3, span "": solo: no span (leaf main.spin)`
	got := tallyBy(t, known(t), lines, rules{show: 2})
	if len(got.shown) != 2 || got.shown[0] != want || got.reasons["solo: no span"] != 3 {
		t.Errorf("%q %v", got.shown, got.reasons)
	}
	// What is not judged is no reason for anything.
	got = olderTally(t, lines, "older", rules{show: 5})
	if len(got.shown) != 1 || got.older.untagged != 2 || got.inside.untagged != 1 {
		t.Errorf("%q %+v", got.shown, got.older)
	}
}

func TestLimits(t *testing.T) {
	oneLost, oneWrong := edit(t, 50, ofA, none), edit(t, 50, ofA, ofB)
	for _, c := range []struct {
		name   string
		lines  []string
		limit  limits
		failed bool
	}{
		{"all right", sampleLines(false), limits{right: 1}, false},
		{"one of 400 lost", oneLost, limits{right: 0.997}, false},
		// 499 of all 500 would do.
		{"one of 400 lost, 99.8 % asked", oneLost, limits{right: 0.998}, true},
		{"one wrong", oneWrong, limits{right: 0.99, wrong: 1}, false},
		{"one wrong, none allowed", oneWrong, limits{right: 0.99}, true},
		{"one wrong, by share alone", oneWrong, limits{right: 0.99, wrong: -1}, false},
	} {
		var list checklist
		checkSpans(&list, tallyOf(t, c.lines), c.limit)
		if list.failed != c.failed {
			t.Errorf("%s: failed %v", c.name, list.failed)
		}
	}
}

func TestStacks(t *testing.T) {
	for _, c := range []struct {
		name     string
		from, to string
		right    bool
		foreign  int
	}{
		{"leaf's caller missing", `"main.soloWork /s/c.go:21",`, ``, false, 0},
		{"root missing", `"main.loop /s/t.go:50",`, ``, false, 0},
		{"caller's line", `/s/c.go:21`, `/s/c.go:20`, false, 0},
		{"leaf's line", `/s/c.go:12`, `/s/c.go:19`, false, 0},
		{"file", `/s/c.go:12`, `/s/d.go:12`, false, 0},
		{"frame twice", `"main.soloWork /s/c.go:21",`,
			`"main.soloWork /s/c.go:21","main.soloWork /s/c.go:21",`, false, 0},
		{"interrupted", `["main.spin`, `["runtime.asyncPreempt /go/p.s:1","main.spin`, true, 1},
		{"in a caller", `"main.spin /s/c.go:12","main.soloWork /s/c.go:21"`,
			`"main.soloWork /s/c.go:20"`, true, 0},
		{"not at work", `"main.spin /s/c.go:12","main.soloWork /s/c.go:21","main.slot /s/t.go:37",`,
			``, false, 0},
		{"at the clock", `"main.spin /s/c.go:12","main.soloWork /s/c.go:21","main.slot /s/t.go:37"`,
			`"syscall.RawSyscall /go/s.go:3","main.clock /s/t.go:5","main.slot /s/t.go:36"`, true, 1},
	} {
		got := tallyOf(t, edit(t, 50, c.from, c.to))
		if right := got.stacksRight == 500; right != c.right || got.foreign != c.foreign {
			t.Errorf("%s: right %d of %d, foreign %d; %v", c.name, got.stacksRight, got.stacks,
				got.foreign, got.reasons)
		}
	}
}

func TestSchedulerIsNoStack(t *testing.T) {
	stack := stackOf(12, "soloWork", 21, 50)
	got := tallyOf(t, edit(t, 50, stack, `["runtime.futex /go/s.s:1","runtime.mcall /go/s.s:4"]`))
	if got.scheduler != 1 || got.stacks != 499 || got.judged().wrong != 0 {
		t.Errorf("%+v", got)
	}
	// Frames of the runtime alone, without the scheduler's root, are a lost stack.
	got = tallyOf(t, edit(t, 50, stack, `["runtime.futex /go/s.s:1"]`))
	if got.scheduler != 0 || got.stacks != 500 || got.stacksRight != 499 {
		t.Errorf("%+v", got)
	}
}

func TestSplitFrame(t *testing.T) {
	for text, want := range map[string]location{
		"main.f /a b/c.go:12":    {"main.f", "/a b/c.go", 12},
		"main.f":                 {"main.f", "", 0},
		"do_syscall_64 [kernel]": {"do_syscall_64", "[kernel]", 0},
	} {
		if got := splitFrame(text); got != want {
			t.Errorf("%q: %+v", text, got)
		}
	}
}

func TestComparePprof(t *testing.T) {
	f := &profile.Function{ID: 1, Name: "main.spin"}
	l := &profile.Location{ID: 1, Line: []profile.Line{{Function: f, Line: 12}}}
	p := &profile.Profile{SampleType: []*profile.ValueType{{Type: "cpu", Unit: "nanoseconds"}},
		Function: []*profile.Function{f}, Location: []*profile.Location{l}}
	add := func(span, trace string, ns int64) {
		s := &profile.Sample{Location: []*profile.Location{l}, Value: []int64{ns}}
		if span != "" {
			s.Label = map[string][]string{"span_id": {span}, "trace_id": {trace},
				"span_name": {"work"}}
		}
		p.Sample = append(p.Sample, s)
	}
	add(spanA, traceA, 100e6)
	add(spanB, traceB, 299e6)
	add("", "", 141e6)
	path := t.TempDir() + "/p.pb.gz"
	writeProfile(t, p, path)
	counts := tallyOf(t, sampleLines(false))
	var list checklist
	if err := comparePprof(&list, path, counts, period); err != nil || !list.failed {
		t.Errorf("one lost sample was not noticed: %v", err)
	}
	p.Sample[1].Value[0] += 1e6
	p.Sample[2].Value[0] -= 1e6
	writeProfile(t, p, path)
	list = checklist{}
	if err := comparePprof(&list, path, counts, period); err != nil || list.failed {
		t.Errorf("a right file failed: %v", err)
	}
}

func writeProfile(t *testing.T, p *profile.Profile, path string) {
	t.Helper()
	var out bytes.Buffer
	if err := p.Write(&out); err != nil {
		t.Fatal(err)
	}
	writeFile(t, path, out.Bytes())
}

func TestSlope(t *testing.T) {
	for _, c := range []struct {
		slope, uncertainty, stolen float64
		right                      bool
	}{
		{1.02, 0.001, 0, true}, {0.98, 0.001, 0, true}, {1.04, 0.001, 0, false},
		{0.96, 0.001, 0, false}, {1.04, 0.015, 0, true}, {1.045, 0.001, 0.02, true},
		{1.06, 0.001, 0.02, false}, {0.96, 0.001, 0.02, false},
	} {
		is := isSlopeRight(line{slope: c.slope, uncertainty: c.uncertainty},
			limits{slope: 0.03, stolen: c.stolen})
		if is != c.right {
			t.Errorf("%+v: %v", c, is)
		}
	}
}

// A goroutine goes on to another thread, on which it has not begun to work: right unless somebody
// is at work for its span elsewhere.
func TestBetweenOnAnotherThread(t *testing.T) {
	const trace = "0000000000000000000000000000000a"
	ofA := slot{Tid: 1, Begin: 10, Finish: 20, Span: spanA, Trace: trace}
	k := &truth{Kinds: []kind{{}},
		slots: map[int32][]slot{1: {ofA}, 2: {{Tid: 2, Begin: 1, Finish: 5, Trace: "b"}}},
		works: map[string][]slot{spanA: {ofA}},
		spans: map[string]span{spanA: {ID: spanA, Trace: trace, Tid: 1, Start: [2]int64{5, 6}}}}
	for at, nearby := range map[int64]int{15: 0, 30: 1} {
		got := match(k, []sample{{Time: at, Tid: 2, Goid: 7, Span: spanA, Trace: trace}}, rules{})
		if got.nearby != nearby || got.stray != 1-nearby {
			t.Errorf("at %d: %d nearby, %d stray", at, got.nearby, got.stray)
		}
	}
}

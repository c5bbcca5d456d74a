// SPDX-License-Identifier: Apache-2.0

package main

import (
	"strings"
	"testing"

	"spanprof.test/spancost/serial"
)

// Worker 1 has a request on thread 7 with 4 children and a leaf, worker 2 a lone leaf on thread 9;
// the crowd is there from 100 to 200.
const truthLines = `{"pid":5,"monotonic_ns":0,"wall_ns":1000,"crowd":[100,200],"of":3}
{"worker":1,"request":9,"children":4,"tid":7,"at":[10,20,30,40,42,48,50,55,60,70]}
{"worker":2,"request":1,"lone":true,"tid":9,"at":[10,20,20,20,20,50,50,50,60,70]}
`

func tagged(time int64, tid int, s serial.Serial) sample {
	return sample{Time: time, Tid: tid, Span: s.SpanID().String(), Trace: s.TraceID().String(),
		Source: "own"}
}

func TestJudge(t *testing.T) {
	root := serial.Serial{Worker: 1, Request: 9}
	child := serial.Serial{Worker: 1, Request: 9, Child: 4}
	other, crowd := serial.Serial{Worker: 1, Request: 8}, serial.Serial{Worker: 0xffff, Request: 3}
	inner := serial.Serial{Worker: 1, Request: 9, Child: 5}
	lone := serial.Serial{Worker: 2, Request: 1}
	noCrowd := serial.Serial{Worker: 0xffff, Request: 4}
	tests := map[string]struct {
		sample sample
		right  bool
		where  place
	}{
		"at work":          {tagged(25, 7, root), true, atWork},
		"at work again":    {tagged(52, 7, root), true, atWork},
		"no tag":           {sample{Time: 25, Tid: 7}, true, atWork},
		"ended child":      {tagged(52, 7, child), false, atWork},
		"ended leaf":       {tagged(52, 7, inner), false, atWork},
		"other request":    {tagged(25, 7, other), false, atWork},
		"never issued":     {sample{Time: 25, Tid: 7, Span: "0123456789abcdef"}, false, atWork},
		"crowd's":          {tagged(25, 7, crowd), false, atWork},
		"leaf":             {tagged(45, 7, inner), true, inLeaf},
		"leaf's parent":    {tagged(45, 7, root), false, inLeaf},
		"lone leaf":        {tagged(35, 9, lone), true, inLoneLeaf},
		"not in it":        {tagged(55, 9, lone), true, inBetween},
		"among children":   {tagged(35, 7, child), true, inChildren},
		"no such child":    {tagged(35, 7, inner), false, inChildren},
		"in Start":         {tagged(15, 7, root), true, inBetween},
		"in leaf's Start":  {tagged(41, 7, inner), true, inBetween},
		"in leaf's End":    {tagged(49, 7, child), false, inBetween},
		"in End":           {tagged(57, 7, root), true, inBetween},
		"outside":          {tagged(65, 7, root), false, outside},
		"outside, none":    {sample{Time: 65, Tid: 7}, true, outside},
		"afterwards":       {tagged(75, 7, root), false, elsewhere},
		"before":           {tagged(5, 7, root), false, elsewhere},
		"elsewhere":        {tagged(25, 8, root), true, elsewhere},
		"elsewhere, leaf":  {tagged(45, 8, inner), true, elsewhere},
		"elsewhere, ended": {tagged(65, 8, root), false, elsewhere},
		"crowd":            {tagged(150, 8, crowd), true, elsewhere},
		"crowd, gone":      {tagged(200, 8, crowd), false, elsewhere},
		"crowd, too many":  {tagged(150, 8, noCrowd), false, elsewhere},
	}
	known, err := readTruth(strings.NewReader(truthLines))
	if err != nil {
		t.Fatal(err)
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if _, where := known.find(&test.sample); where != test.where {
				t.Errorf("it was %s", placeNames[where])
			}
			var text strings.Builder
			samples := []sample{{Time: 25, Tid: 7}, test.sample}
			if judge(known, samples, []stretch{{}}, 1, &text) != test.right {
				t.Errorf("judged wrongly:\n%s", text.String())
			}
		})
	}
}

func TestStretches(t *testing.T) {
	known, err := readTruth(strings.NewReader(truthLines))
	if err != nil {
		t.Fatal(err)
	}
	var text strings.Builder
	samples := []sample{{Time: 21, Tid: 7}, {Time: 22, Tid: 7}, {Time: 52, Tid: 7}}
	judge(known, samples, []stretch{{"a", 0}, {"b", 1022}, {"c", 1052}}, 0, &text)
	for _, name := range []string{"a", "b", "c"} {
		if !strings.Contains(text.String(), "  "+name+":\n    at work                1 samples") {
			t.Errorf("%s has not one sample:\n%s", name, text.String())
		}
	}
}

func TestNothing(t *testing.T) {
	known, err := readTruth(strings.NewReader(truthLines))
	if err != nil {
		t.Fatal(err)
	}
	if judge(known, []sample{{Time: 65, Tid: 7}}, []stretch{{}}, 0, &strings.Builder{}) {
		t.Error("a run without a sample at work is not right")
	}
}

func TestEnds(t *testing.T) {
	is, err := readTold(strings.NewReader(`{"time_ns":1,"pid":5,"span_id":"a"}
{"ended_span":"","pid":5,"span_id":"a"}
{"ended_span":"x","pid":5,"span_id":"b"}
{"ended_span":"x","pid":6,"span_id":"b"}
`), 5)
	if err != nil || len(is.samples) != 1 || len(is.ends) != 2 ||
		!judgeEnds(is.ends, &strings.Builder{}) {
		t.Errorf("%+v, %v", is, err)
	}
	is.ends["b"]++
	if judgeEnds(is.ends, &strings.Builder{}) {
		t.Error("a span that ends twice is right")
	}
}

// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"testing"
)

func writeFile(t *testing.T, path string, data []byte) {
	t.Helper()
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestReadShopLog(t *testing.T) {
	path := t.TempDir() + "/log"
	writeFile(t, path, []byte("shop: listening on 127.0.0.1:1\nspan GET /cpu-heavy trace="+traceA+
		" span="+spanA+" 2.34s\nspan GET /report trace="+traceB+" span="+spanB+" 12ms\n"))
	roots, err := readShopLog(path)
	if err != nil || len(roots) != 2 || roots[0].name != "GET /cpu-heavy" ||
		roots[0].span != spanA || roots[0].took.Seconds() != 2.34 || roots[1].trace != traceB {
		t.Errorf("%v %+v", err, roots)
	}
}

func shopSamples() []taggedSample {
	return []taggedSample{
		{traceA, spanA, "GET /cpu-heavy", 990e6, []string{"main.countPrimes", "main.cpuHeavy"}},
		{traceA, spanA, "GET /cpu-heavy", 10e6, []string{"net/http.HandlerFunc.ServeHTTP"}},
		{traceB, "00000000000000b2", "serialize report", 400e6,
			[]string{"encoding/json.Marshal", "main.(*shop).serializeReport"}},
		{traceB, "00000000000000b3", "db.query orders", 20e6, []string{"database/sql.Query"}},
		{"cc", "c1", "fan out", 50e6, []string{"main.scorePart"}},
		{"cc", "c2", "render label", 50e6, []string{"main.renderLabel"}},
		{"", "", "", 100e6, []string{"runtime.gcDrain"}},
	}
}

func shopRoots() []rootSpan {
	return []rootSpan{{"GET /cpu-heavy", traceA, spanA, 1e9}, {"GET /report", traceB, spanB, 1e9},
		{"GET /io-wait", "dd", "d1", 2e9}, {"GET /fanout", "cc", "c0", 1e9}}
}

func TestJudgeShop(t *testing.T) {
	if err := judgeShop(shopRoots(), shopSamples()); err != nil {
		t.Error("a right profile failed")
	}
	for name, change := range map[string]func([]taggedSample){
		"primes on another span":  func(s []taggedSample) { s[0].span = "00000000000000b2" },
		"json on a db span":       func(s []taggedSample) { s[2].name = "db.query orders" },
		"db spans heavy":          func(s []taggedSample) { s[3].ns = 200e6 },
		"children without a span": func(s []taggedSample) { s[4].trace, s[4].span = "", "" },
		"pool on a parent span":   func(s []taggedSample) { s[5].name = "GET /fanout" },
		"io-wait burns":           func(s []taggedSample) { s[6].trace = "dd" },
	} {
		samples := shopSamples()
		samples[6].ns = 200e6
		change(samples)
		if err := judgeShop(shopRoots(), samples); err != errFailed {
			t.Errorf("%s: not noticed", name)
		}
	}
}

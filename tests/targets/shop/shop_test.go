// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"testing"
)

// Both versions of the report give the same document from the same rows.
func TestReportVersionsAgree(t *testing.T) {
	ctx := context.Background()
	d, err := openDatabase(ctx)
	if err != nil {
		t.Fatal(err)
	}
	defer d.close()
	orders, err := d.orders(ctx, 50)
	if err != nil {
		t.Fatal(err)
	}
	customers, err := d.customers(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if len(orders) != 50 || len(customers) != 20 || orders[0].ID != 2000 {
		t.Fatalf("%d orders, %d customers, first order %+v", len(orders), len(customers), orders[0])
	}
	slow, err := (&shop{}).serializeReport(ctx, reportDocument{customers, orders})
	if err != nil {
		t.Fatal(err)
	}
	fast, err := (&shop{fast: true}).serializeReport(ctx, reportDocument{customers, orders})
	if err != nil || !bytes.Equal(slow, fast) || !json.Valid(slow) {
		t.Errorf("slow %d bytes, fast %d bytes, %v", len(slow), len(fast), err)
	}
}

func TestStockOverGRPC(t *testing.T) {
	client, err := startStock()
	if err != nil {
		t.Fatal(err)
	}
	defer client.close()
	if units, err := client.units(context.Background(), ""); err != nil || units != 1229 {
		t.Errorf("%d units, %v; there are 1229 primes under 10,000", units, err)
	}
}

func TestLoadOnlyLoopback(t *testing.T) {
	for address, want := range map[string]bool{"127.0.0.1:80": true, "[::1]:80": true,
		"10.0.0.1:80": false, "localhost:80": false, "127.0.0.1": false, "": false} {
		if got := loopback(address); got != want {
			t.Errorf("%q: %v", address, got)
		}
	}
}

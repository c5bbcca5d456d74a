// SPDX-License-Identifier: Apache-2.0

// The shop's data in SQLite (pure Go, in memory), a span around every query.
package main

import (
	"context"
	"database/sql"
	"fmt"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"
	_ "modernc.org/sqlite" // the driver
)

type database struct {
	handle *sql.DB
}

type order struct {
	ID       int     `json:"id"`
	Customer int     `json:"customer"`
	Item     string  `json:"item"`
	Price    float64 `json:"price"`
}

func openDatabase(ctx context.Context) (*database, error) {
	handle, err := sql.Open("sqlite", ":memory:")
	if err != nil {
		return nil, err
	}
	handle.SetMaxOpenConns(1) // every connection would be a memory of its own
	d := &database{handle}
	if err := d.fill(ctx); err != nil {
		handle.Close()
		return nil, err
	}
	return d, nil
}

func (d *database) fill(ctx context.Context) error {
	for _, statement := range []string{
		`CREATE TABLE customers (id INTEGER PRIMARY KEY, name TEXT)`,
		`CREATE TABLE orders (id INTEGER PRIMARY KEY, customer INTEGER, item TEXT, price REAL)`,
		`WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 20)
			INSERT INTO customers SELECT i, 'customer ' || i FROM n`,
		`WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 2000)
			INSERT INTO orders SELECT i, 1 + i % 20, 'item ' || (i * 7919) % 613, i * 0.37 FROM n`,
	} {
		if _, err := d.handle.ExecContext(ctx, statement); err != nil {
			return fmt.Errorf("filling the database: %w", err)
		}
	}
	return nil
}

func (d *database) close() {
	d.handle.Close()
}

func startQuery(ctx context.Context, table string) (context.Context, trace.Span) {
	return tracer.Start(ctx, "db.query "+table, trace.WithSpanKind(trace.SpanKindClient),
		trace.WithAttributes(attribute.String("db.system.name", "sqlite"),
			attribute.String("db.collection.name", table)))
}

func (d *database) orders(ctx context.Context, limit int) ([]order, error) {
	ctx, span := startQuery(ctx, "orders")
	defer span.End()
	rows, err := d.handle.QueryContext(ctx,
		`SELECT id, customer, item, price FROM orders ORDER BY id DESC LIMIT ?`, limit)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	orders := make([]order, 0, limit)
	for rows.Next() {
		var o order
		if err := rows.Scan(&o.ID, &o.Customer, &o.Item, &o.Price); err != nil {
			return nil, err
		}
		orders = append(orders, o)
	}
	return orders, rows.Err()
}

func (d *database) customers(ctx context.Context) (map[int]string, error) {
	ctx, span := startQuery(ctx, "customers")
	defer span.End()
	rows, err := d.handle.QueryContext(ctx, `SELECT id, name FROM customers`)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	names := make(map[int]string)
	for rows.Next() {
		var id int
		var name string
		if err := rows.Scan(&id, &name); err != nil {
			return nil, err
		}
		names[id] = name
	}
	return names, rows.Err()
}

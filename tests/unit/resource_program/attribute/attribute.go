// SPDX-License-Identifier: Apache-2.0

// Package attribute has as much of the OpenTelemetry API as can be seen from outside: attributes, and
// sets of them, in memory.
package attribute

import "reflect"

type Type int

const (
	INT64  Type = 2
	STRING Type = 4
)

type Key string

type Value struct {
	vtype    Type
	numeric  uint64
	stringly string
	slice    any
}

type KeyValue struct {
	Key   Key
	Value Value
}

func String(key, value string) KeyValue {
	return KeyValue{Key(key), Value{vtype: STRING, stringly: value}}
}

func Int(key string, value int) KeyValue {
	return KeyValue{Key(key), Value{vtype: INT64, numeric: uint64(value), stringly: "none"}}
}

// Set holds an array of as many attributes as there are.
type Set struct {
	hash uint64
	data any
}

// NewSet keeps some in an array whose type is in the file, more in one that is made now.
func NewSet(pairs ...KeyValue) Set {
	if len(pairs) == 3 {
		return Set{hash: 3, data: [3]KeyValue(pairs)}
	}
	array := reflect.New(reflect.ArrayOf(len(pairs), reflect.TypeOf(KeyValue{}))).Elem()
	reflect.Copy(array, reflect.ValueOf(pairs))
	return Set{hash: uint64(len(pairs)), data: array.Interface()}
}

// Of makes a set of anything.
func Of(data any) Set {
	return Set{data: data}
}

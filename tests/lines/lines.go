// SPDX-License-Identifier: Apache-2.0

// Package lines reads files of lines, as test programs and spanprof write them of what they did.
package lines

import (
	"bufio"
	"fmt"
	"io"
	"os"
)

// Each calls f with every line of r that is not empty, up to 16 MiB long.
func Each(r io.Reader, f func(line []byte) error) error {
	in := bufio.NewScanner(r)
	in.Buffer(make([]byte, 1<<20), 1<<24)
	for number := 1; in.Scan(); number++ {
		if len(in.Bytes()) == 0 {
			continue
		}
		if err := f(in.Bytes()); err != nil {
			return fmt.Errorf("line %d: %w", number, err)
		}
	}
	return in.Err()
}

// ReadFile opens path for read; errors name the file.
func ReadFile[T any](path string, read func(io.Reader) (T, error)) (T, error) {
	var nothing T
	file, err := os.Open(path)
	if err != nil {
		return nothing, err
	}
	defer file.Close()
	result, err := read(file)
	if err != nil {
		return nothing, fmt.Errorf("%s: %w", path, err)
	}
	return result, nil
}

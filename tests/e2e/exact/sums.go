// SPDX-License-Identifier: Apache-2.0

// Counts of each mode, of one program or of several together, and what is wanted of them.
package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
)

type limits struct{ mode, all, unknown float64 }

type count struct {
	Mode                        string
	Right, Wrong, Unknown, Lost int
}

// sums are the counts of all modes, in the order in which they ran.
type sums []count

func percent(part, whole int) float64 {
	if whole == 0 {
		return 0
	}
	return 100 * float64(part) / float64(whole)
}

func (c count) exact() float64 { return percent(c.Right, c.Right+c.Wrong) }

func (c count) String() string {
	return fmt.Sprintf("%-12s %6d samples  %7.3f %% exact  %4d wrong  %4d without truth  %3d lost",
		c.Mode, c.Right+c.Wrong+c.Unknown, c.exact(), c.Wrong, c.Unknown, c.Lost)
}

func (c *count) add(more count) {
	c.Right += more.Right
	c.Wrong += more.Wrong
	c.Unknown += more.Unknown
	c.Lost += more.Lost
}

func (s *sums) add(more sums) {
	for _, c := range more {
		i := slices.IndexFunc(*s, func(known count) bool { return known.Mode == c.Mode })
		if i < 0 {
			*s = append(*s, c)
		} else {
			(*s)[i].add(c)
		}
	}
}

// judge prints the sum of all modes and says what misses its limit.
func (s sums) judge(limits limits) error {
	all := count{Mode: "all"}
	var missed []string
	for _, c := range s {
		if c.exact() < limits.mode {
			missed = append(missed, c.Mode)
		}
		all.add(c)
	}
	fmt.Println(all)
	if all.exact() < limits.all {
		missed = append(missed, "all")
	}
	if percent(all.Unknown, all.Right+all.Wrong+all.Unknown) > limits.unknown {
		missed = append(missed, "too many without truth")
	}
	if len(missed) > 0 {
		return errors.New("missed: " + strings.Join(missed, ", "))
	}
	return nil
}

// readSums takes a file that is not there for no counts.
func readSums(path string) (s sums, err error) {
	data, err := os.ReadFile(path)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err == nil {
		err = json.Unmarshal(data, &s)
	}
	return s, err
}

// addSums adds to those of a file.
func addSums(path string, more sums) error {
	s, err := readSums(path)
	if err != nil {
		return err
	}
	s.add(more)
	data, err := json.Marshal(s)
	if err != nil {
		return err
	}
	return os.WriteFile(path, data, 0o600)
}

// judgeSums is what is said of several programs together.
func judgeSums(path string, limits limits) error {
	s, err := readSums(path)
	if err != nil {
		return err
	}
	for _, c := range s {
		fmt.Println(c)
	}
	return s.judge(limits)
}

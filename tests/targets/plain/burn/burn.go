// SPDX-License-Identifier: Apache-2.0

// Package burn is work with a few frames that are easy to recognize.
package burn

import (
	"sort"
	"strconv"
)

// Words sorts n words made up from numbers and counts the different ones.
func Words(n int) int {
	words := makeWords(n)
	sort.Strings(words)
	return countWords(words)
}

func makeWords(n int) []string {
	words := make([]string, n)
	x := uint64(n) | 1
	for i := range words {
		x ^= x << 13
		x ^= x >> 7
		x ^= x << 17
		words[i] = strconv.FormatUint(x%1000, 36)
	}
	return words
}

func countWords(words []string) int {
	seen := make(map[string]int)
	for _, word := range words {
		seen[word]++
	}
	return len(seen)
}

// SPDX-License-Identifier: Apache-2.0

package main

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/md5"
	"crypto/rand"
	"crypto/sha1"
	"crypto/sha256"
	"crypto/sha512"
	"fmt"
	"hash"
	"math/big"
	"os"
	"runtime"
	"sort"
	"strings"
	"sync"
	"time"
)

var modes = []mode{
	{"leaf", leafLoops}, {"tiny", tinyCalls}, {"inlined", inlined}, {"interfaces", interfaces},
	{"md5", func() { hashes(md5.New()) }}, {"sha1", func() { hashes(sha1.New()) }},
	{"sha256", func() { hashes(sha256.New()) }}, {"sha512", func() { hashes(sha512.New()) }},
	{"p256", p256}, {"aes", aesGCM}, {"big", bigNumbers}, {"memmove", moves}, {"maps", maps},
	{"gc", garbage}, {"grow", grow}, {"depth200", func() { deep(200) }},
	{"depth1000", func() { deep(1000) }}, {"channels", channels}, {"syscalls", syscalls},
	{"now", clock}, {"callers", callers}, {"sort", sorts}, {"print", prints}, {"panics", panics},
}

var sink uint64

//go:noinline
func spin(n uint64) uint64 {
	x := n | 1
	for i := uint64(0); i < n; i++ {
		x = x*6364136223846793005 + i
	}
	return x
}

func leafLoops() {
	for running() {
		sink += spin(100000)
	}
}

//go:noinline
func tiny(x uint64) uint64 { return x*3 + 1 }

//go:noinline
func tinyCaller(x uint64) uint64 { return tiny(x) ^ tiny(x+1) }

func tinyCalls() {
	for running() {
		for i := uint64(0); i < 10000; i++ {
			sink += tinyCaller(i)
		}
	}
}

func small(x uint64) uint64  { return x<<3 ^ x>>2 }
func middle(x uint64) uint64 { return small(x) + small(x^7) }

//go:noinline
func inliner(n uint64) (x uint64) {
	for i := uint64(0); i < n; i++ {
		x += middle(i ^ x)
	}
	return x
}

func inlined() {
	for running() {
		sink += inliner(10000)
	}
}

type shape interface{ area(x uint64) uint64 }
type square struct{ side uint64 }
type wrapper struct{ shape }

//go:noinline
func (s square) area(x uint64) uint64 { return s.side*s.side ^ x }

func interfaces() {
	shapes := []shape{square{3}, &square{4}, wrapper{square{5}}, &wrapper{&square{6}}}
	for running() {
		for i := uint64(0); i < 10000; i++ {
			sink += shapes[i%4].area(i)
		}
	}
}

func hashes(h hash.Hash) {
	data := make([]byte, 1<<16)
	for running() {
		h.Reset()
		h.Write(data)
		h.Sum(data[:0])
	}
}

func must(err error) {
	if err != nil {
		panic(err)
	}
}

func p256() {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	must(err)
	digest := make([]byte, 32)
	for running() {
		r, s, err := ecdsa.Sign(rand.Reader, key, digest)
		must(err)
		if !ecdsa.Verify(&key.PublicKey, digest, r, s) {
			panic("signature")
		}
	}
}

func aesGCM() {
	block, err := aes.NewCipher(make([]byte, 16))
	must(err)
	gcm, err := cipher.NewGCM(block)
	must(err)
	nonce, data := make([]byte, gcm.NonceSize()), make([]byte, 1<<14)
	to := make([]byte, 0, len(data)+64)
	for running() {
		to = gcm.Seal(to[:0], nonce, data, nil)
	}
}

func bigNumbers() {
	base := new(big.Int).Lsh(big.NewInt(0x12345677), 1500)
	modulus := new(big.Int).Add(new(big.Int).Lsh(big.NewInt(1), 2048), big.NewInt(981))
	for running() {
		new(big.Int).Exp(base, big.NewInt(65537), modulus)
	}
}

//go:noinline
func move(to, from []byte) { copy(to, from) }

func moves() {
	a, b := make([]byte, 1<<15), make([]byte, 1<<15)
	for running() {
		for size := 1; size < len(a); size = size*3/2 + 1 {
			move(a[:size], b)
			move(a[1:size], a)
		}
	}
}

func maps() {
	numbers, words := map[uint64]uint64{}, map[string]int{}
	for i := uint64(0); running(); i++ {
		numbers[i*7919%10007] += i
		words[strings.Repeat("k", int(i%13)+1)]++
		if i%1000 == 0 {
			for k := range numbers {
				sink += k
			}
			delete(numbers, i)
		}
	}
}

type node struct {
	left, right *node
	data        [4]uint64
}

func tree(depth int) *node {
	if depth == 0 {
		return &node{}
	}
	return &node{left: tree(depth - 1), right: tree(depth - 1)}
}

func garbage() {
	var kept [16]*node
	for i := 0; running(); i++ {
		kept[i%len(kept)] = tree(8)
	}
}

//go:noinline
func recurse(depth int, x uint64) uint64 {
	var room [64]uint64
	room[depth%64] = x
	if depth > 0 {
		x = recurse(depth-1, x+1)
	}
	return x + room[(depth+1)%64]
}

// grow has a new goroutine grow its stack again and again.
func grow() {
	for running() {
		done := make(chan uint64)
		go func() { done <- recurse(300, 1) }()
		sink += <-done
	}
}

//go:noinline
func dive(depth int) uint64 {
	if depth == 0 {
		return spin(20000)
	}
	return dive(depth-1) + 1
}

func deep(depth int) {
	for running() {
		sink += dive(depth)
	}
}

func channels() {
	ping, pong := make(chan int), make(chan int, 4)
	end := make(chan struct{})
	var all sync.WaitGroup
	for i := 0; i < 4; i++ {
		all.Add(1)
		go func() {
			defer all.Done()
			for {
				select {
				case n := <-ping:
					pong <- n + 1
				case <-end:
					return
				}
			}
		}()
	}
	for running() {
		ping <- 1
		<-pong
	}
	close(end)
	all.Wait()
}

func syscalls() {
	zero, err := os.Open("/dev/zero")
	must(err)
	defer zero.Close()
	data := make([]byte, 4096)
	for running() {
		_, err := zero.Read(data)
		must(err)
		_, err = os.Stat("/")
		must(err)
	}
}

func clock() {
	for running() {
		for i := 0; i < 1000; i++ {
			sink += uint64(time.Now().Nanosecond())
		}
	}
}

//go:noinline
func callers() {
	var pcs [32]uintptr
	for running() {
		n := runtime.Callers(0, pcs[:])
		frames := runtime.CallersFrames(pcs[:n])
		for more := true; more; {
			_, more = frames.Next()
		}
	}
}

func sorts() {
	numbers := make([]int, 5000)
	for running() {
		for i := range numbers {
			numbers[i] = i * 7919 % 5003
		}
		sort.Slice(numbers, func(i, j int) bool { return numbers[i] < numbers[j] })
	}
}

func prints() {
	for running() {
		sink += uint64(len(fmt.Sprintf("%v %+v %q", []any{1, "a", 2.5}, square{3}, "text")))
	}
}

//go:noinline
func panicking(p *uint64, n int) (x uint64) {
	defer func() { recover() }()
	if n%2 == 0 {
		return *p // a signal that becomes a panic
	}
	panic("on purpose")
}

func panics() {
	for i := 0; running(); i++ {
		sink += panicking(nil, i)
	}
}

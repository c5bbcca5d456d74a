// SPDX-License-Identifier: Apache-2.0

package main

import (
	"net"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

// place is one way to wait: prepare sees to it that something ends wait after so long.
type place struct {
	function, reason string
	prepare          func(d time.Duration, ended *moment)
	wait             func(time.Duration)
}

// moment is when something happened, 0 when it has not.
type moment struct{ ns atomic.Int64 }

func (m *moment) set() { m.ns.Store(time.Now().UnixNano()) }

// after calls f, and notes the time right before.
func after(d time.Duration, ended *moment, f func()) {
	time.AfterFunc(d, func() {
		ended.set()
		f()
	})
}

// kind is what one worker's spans do, place after place.
type kind struct {
	name   string
	places []place
}

// alone is for what ends by itself, in time.
func alone(d time.Duration, ended *moment) { ended.ns.Store(time.Now().Add(d).UnixNano()) }

//go:noinline
func sleeps(d time.Duration) { time.Sleep(d) }

//go:noinline
func receives(c chan int) { <-c }

//go:noinline
func receivesElsewhere(c chan int) { <-c }

//go:noinline
func sends(c chan int) { c <- 1 }

//go:noinline
func selects(a, b chan int) {
	select {
	case <-a:
	case <-b:
	}
}

//go:noinline
func locks(m *sync.Mutex) {
	m.Lock()
	m.Unlock()
}

//go:noinline
func locksForReading(m *sync.RWMutex) {
	m.RLock()
	m.RUnlock()
}

//go:noinline
func waitsForCondition(c *sync.Cond, ready *bool) {
	c.L.Lock()
	for !*ready {
		c.Wait()
	}
	c.L.Unlock()
}

//go:noinline
func waitsForGroup(g *sync.WaitGroup) { g.Wait() }

//go:noinline
func readsNetwork(c net.Conn) {
	var one [1]byte
	if _, err := c.Read(one[:]); err != nil {
		panic(err)
	}
}

//go:noinline
func readsFile(fd int) {
	var one [1]byte
	if _, err := syscall.Read(fd, one[:]); err != nil {
		panic(err)
	}
}

//go:noinline
func waitsForTimer(d time.Duration) { <-time.NewTimer(d).C }

func channelPlace(function string, wait func(chan int)) place {
	c := make(chan int)
	return place{function, "chan receive", func(d time.Duration, ended *moment) {
		after(d, ended, func() { c <- 1 })
	}, func(time.Duration) { wait(c) }}
}

func sendPlace() place {
	c := make(chan int)
	return place{"main.sends", "chan send", func(d time.Duration, ended *moment) {
		after(d, ended, func() { <-c })
	}, func(time.Duration) { sends(c) }}
}

func selectPlace() place {
	a, b := make(chan int), make(chan int)
	return place{"main.selects", "select", func(d time.Duration, ended *moment) {
		after(d, ended, func() { b <- 1 })
	}, func(time.Duration) { selects(a, b) }}
}

func mutexPlace() place {
	var m sync.Mutex
	return place{"main.locks", "sync.Mutex.Lock", func(d time.Duration, ended *moment) {
		m.Lock()
		after(d, ended, m.Unlock)
	}, func(time.Duration) { locks(&m) }}
}

func rwMutexPlace() place {
	var m sync.RWMutex
	return place{"main.locksForReading", "sync.RWMutex.RLock", func(d time.Duration, ended *moment) {
		m.Lock()
		after(d, ended, m.Unlock)
	}, func(time.Duration) { locksForReading(&m) }}
}

func conditionPlace() place {
	c := sync.NewCond(&sync.Mutex{})
	var ready bool
	return place{"main.waitsForCondition", "sync.Cond.Wait", func(d time.Duration, ended *moment) {
		ready = false
		after(d, ended, func() {
			c.L.Lock()
			ready = true
			c.L.Unlock()
			c.Signal()
		})
	}, func(time.Duration) { waitsForCondition(c, &ready) }}
}

func groupPlace() place {
	var g sync.WaitGroup
	return place{"main.waitsForGroup", "sync.WaitGroup.Wait", func(d time.Duration, ended *moment) {
		g.Add(1)
		after(d, ended, g.Done)
	}, func(time.Duration) { waitsForGroup(&g) }}
}

func networkPlace() place {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		panic(err)
	}
	defer listener.Close()
	reader, err := net.Dial("tcp", listener.Addr().String())
	if err != nil {
		panic(err)
	}
	writer, err := listener.Accept()
	if err != nil {
		panic(err)
	}
	return place{"main.readsNetwork", "IO wait", func(d time.Duration, ended *moment) {
		after(d, ended, func() { writer.Write([]byte{1}) })
	}, func(time.Duration) { readsNetwork(reader) }}
}

// filePlace reads from a pipe that the runtime's poller does not know.
func filePlace() place {
	var fds [2]int
	if err := syscall.Pipe(fds[:]); err != nil {
		panic(err)
	}
	return place{"main.readsFile", "syscall", func(d time.Duration, ended *moment) {
		after(d, ended, func() { syscall.Write(fds[1], []byte{1}) })
	}, func(time.Duration) { readsFile(fds[0]) }}
}

// kinds gives each worker its own channels, locks and connections.
func kinds() []kind {
	sleep := place{"main.sleeps", "sleep", alone, sleeps}
	timer := place{"main.waitsForTimer", "chan receive", alone, waitsForTimer}
	first := channelPlace("main.receives", receives)
	second := channelPlace("main.receivesElsewhere", receivesElsewhere)
	return []kind{
		{"sleep", []place{sleep}},
		{"receive", []place{channelPlace("main.receives", receives)}},
		{"send", []place{sendPlace()}},
		{"select", []place{selectPlace()}},
		{"mutex", []place{mutexPlace()}},
		{"rwmutex", []place{rwMutexPlace()}},
		{"cond", []place{conditionPlace()}},
		{"waitgroup", []place{groupPlace()}},
		{"network", []place{networkPlace()}},
		{"file", []place{filePlace()}},
		{"timer", []place{timer}},
		{"in turn", []place{first, second}},
	}
}

// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"syscall"
	"time"
	"unsafe"
)

func ioctl(file *os.File, request, argument uintptr) error {
	if _, _, errno := syscall.Syscall(syscall.SYS_IOCTL, file.Fd(), request, argument); errno != 0 {
		return errno
	}
	return nil
}

// openTerminal gives the two sides of a new pseudo terminal of 120 columns and 40 rows.
func openTerminal() (master, slave *os.File, err error) {
	master, err = os.OpenFile("/dev/ptmx", os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		return nil, nil, err
	}
	var unlock, number int32
	size := [4]uint16{40, 120}
	err = ioctl(master, syscall.TIOCSPTLCK, uintptr(unsafe.Pointer(&unlock)))
	if err == nil {
		err = ioctl(master, syscall.TIOCGPTN, uintptr(unsafe.Pointer(&number)))
	}
	if err == nil {
		err = ioctl(master, syscall.TIOCSWINSZ, uintptr(unsafe.Pointer(&size)))
	}
	if err == nil {
		slave, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", number), os.O_RDWR|syscall.O_NOCTTY, 0)
	}
	if err != nil {
		master.Close()
		return nil, nil, err
	}
	return master, slave, nil
}

// launchOnTerminal is launch, with the child's output on a terminal.
func launchOnTerminal(ctx context.Context, name string, arguments ...string) (*program, error) {
	master, slave, err := openTerminal()
	if err != nil {
		return nil, err
	}
	p := &program{lines: make(chan line, 1024), done: make(chan struct{})}
	p.command = exec.CommandContext(ctx, name, arguments...)
	p.command.Cancel = func() error { return p.command.Process.Signal(syscall.SIGTERM) }
	p.command.WaitDelay = 5 * time.Second
	p.command.Stdout, p.command.Stderr = slave, slave
	p.started = time.Now()
	err = p.command.Start()
	slave.Close()
	if err != nil {
		master.Close()
		return nil, err
	}
	p.watch(ctx, master) // ends with EIO when the child has closed its side
	return p, nil
}

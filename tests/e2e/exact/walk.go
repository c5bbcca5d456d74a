// SPDX-License-Identifier: Apache-2.0

// The exact stack of a capture: frame by frame by .debug_frame, and across stacks by the rules that
// the runtime states where it switches them.
package main

const maxFrames = 4096

// addresses of the frames, leaf first, as the runtime's own lists have them: behind the call where
// a frame has called, behind the instruction where it was interrupted.
type stack struct {
	pcs   []uint64
	whole bool   // up to where a goroutine or a thread begins
	vdso  bool   // its leaf was in the kernel's vdso
	why   string // not whole
}

// switchers write SP themselves: what .debug_frame says of them is not true at each instruction.
var switchers = map[string]bool{"runtime.morestack": true, "runtime.gogo": true, "gogo": true,
	"runtime.asmcgocall": true, "runtime.cgocallback": true, "gosave_systemstack_switch": true,
	"runtime.clone": true}

// entries of signal handlers: what called them is the kernel's frame.
var entries = map[string]bool{"runtime.sigtramp": true, "runtime.cgoSigtramp": true}

// codeSegment is that of 64-bit programs, where a ucontext has it.
const codeSegment = 0x33

// bottoms are where the stack of a goroutine or a thread ends.
var bottoms = map[string]bool{"runtime.goexit": true, "runtime.mcall": true, "runtime.mstart": true,
	"runtime.rt0_go": true}

type walker struct {
	im      *image
	c       *capture
	pc, sp  uint64
	bp      uint64 // of the leaf
	exact   bool   // pc is where the frame was interrupted, not where a call returns to
	crossed bool   // on the goroutine's own stack, coming from another one
}

func (im *image) walk(c *capture) stack {
	w := walker{im: im, c: c, pc: c.IP, sp: c.SP, bp: c.BP, exact: true}
	var s stack
	if name := im.find(w.pc); name == "" {
		s.vdso = c.VdsoSP != 0
		if !w.leaveForeign() {
			s.why = "leaf in no Go function"
			return s
		}
	} else if name == "runtime.systemstack" && !w.onGoroutine() && w.isSwitched() {
		// It has just switched, or is about to switch back.
		w.goTo(c.CurgWords[im.offsets.schedPC], c.CurgWords[im.offsets.schedSP])
		s.pcs = append(s.pcs, c.IP+1)
	} else if switchers[name] {
		s.why = "leaf in " + name
		return s
	}
	for len(s.pcs) < maxFrames {
		at := w.pc
		if !w.exact {
			at--
		}
		name := im.find(at)
		if name == "" {
			s.why = "caller in no Go function"
			return s
		}
		s.pcs = append(s.pcs, at+1)
		// Without a goroutine, what switched to a thread's own stack is where that begins.
		if bottoms[name] && (name != "runtime.mcall" || !w.exact || !w.onGoroutine()) ||
			w.c.Curg == 0 && (name == "runtime.morestack" || name == "runtime.systemstack") {
			s.whole = true
			return s
		}
		if !w.step(name, at) {
			// With cgo its caller, the outermost, lies above what is taken for g0's stack.
			s.whole, s.why = name == "runtime.mstart0", "behind "+name
			return s
		}
	}
	s.why = "too many frames"
	return s
}

// onGoroutine says whether SP is on the goroutine's own stack.
func (w *walker) onGoroutine() bool {
	return w.c.Curg != 0 && w.sp >= w.c.CurgWords[0] && w.sp <= w.c.CurgWords[1]
}

// isSwitched says whether the goroutine stands in systemstack; else that was called on g0 already.
func (w *walker) isSwitched() bool {
	return w.c.Curg != 0 && w.im.find(w.c.CurgWords[w.im.offsets.schedPC]) == "runtime.systemstack_switch"
}

// goTo continues where the goroutine was left: behind a call, or where a function begins.
func (w *walker) goTo(pc, sp uint64) bool {
	if w.crossed || w.c.Curg == 0 || pc == 0 {
		return false
	}
	w.pc, w.sp, w.exact, w.crossed = pc, sp, w.im.beginsAt(pc), true
	return true
}

// leaveForeign goes from C, or from the kernel's vdso, to the Go code that called it.
func (w *walker) leaveForeign() bool {
	at := &w.im.offsets
	if sp := w.c.VdsoSP; sp != 0 {
		w.pc, w.sp, w.exact = w.c.VdsoPC, sp, false
		return true
	}
	if segments, ok := w.c.word(w.sp + 184); ok && segments&0xffff == codeSegment {
		return w.leaveSignal(w.sp) // libc's return from a handler
	}
	return w.goTo(w.c.CurgWords[at.syscallPC], w.c.CurgWords[at.syscallSP])
}

// leaveSignal goes to what a signal interrupted: RBP, RSP and RIP of the ucontext.
func (w *walker) leaveSignal(ucontext uint64) bool {
	rip, ok1 := w.c.word(ucontext + 168)
	rsp, ok2 := w.c.word(ucontext + 160)
	rbp, _ := w.c.word(ucontext + 120)
	w.pc, w.sp, w.bp, w.exact = rip, rsp, rbp, true
	return ok1 && ok2
}

func (w *walker) step(name string, at uint64) bool {
	o := &w.im.offsets
	switch name {
	case "runtime.systemstack":
		if !w.exact || !w.onGoroutine() {
			return w.goTo(w.c.CurgWords[o.schedPC], w.c.CurgWords[o.schedSP])
		}
	case "runtime.morestack":
		return w.goTo(w.c.CurgWords[o.schedPC], w.c.CurgWords[o.schedSP])
	case "runtime.asmcgocall":
		return w.goTo(w.c.CurgWords[o.syscallPC], w.c.CurgWords[o.syscallSP])
	case "runtime.sigreturn__sigaction", "runtime.sigreturn":
		return w.leaveSignal(w.sp)
	}
	// It has noted its caller, and moved SP.
	if sp := w.c.VdsoSP; vdsoCallers[name] && w.exact && sp == w.bp+16 {
		w.pc, w.sp, w.exact = w.c.VdsoPC, sp, false
		return true
	}
	cfa, ok := w.im.cfa(at, w.sp, w.bp)
	if !ok || cfa <= w.sp {
		return false
	}
	pc, ok := w.c.word(cfa - 8)
	// These were not called: they were put above the instruction that goes on afterwards.
	// A signal's handler returns to the first instruction of what leads back.
	w.exact = name == "runtime.asyncPreempt" || name == "runtime.sigpanic" ||
		name == "runtime.sigtramp" || name == "runtime.cgoSigtramp" ||
		name == "runtime.cgocallback" && w.im.beginsAt(pc)
	w.pc, w.sp = pc, cfa
	if entries[name] && w.im.find(pc) == "" {
		return w.leaveSignal(w.sp)
	}
	return ok
}

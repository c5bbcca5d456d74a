// SPDX-License-Identifier: Apache-2.0

// What the linker wrote of a program's functions and frames, for debuggers: .symtab and
// .debug_frame. spanprof reads neither.
package main

import (
	"debug/dwarf"
	"debug/elf"
	"encoding/binary"
	"errors"
	"fmt"
	"sort"
	"strings"

	"github.com/go-delve/delve/pkg/dwarf/frame"
)

const (
	regRBP = 6
	regRSP = 7
)

type function struct {
	start, end uint64
	name       string
}

type image struct {
	functions []function // by address
	frames    frame.FrameDescriptionEntries
	offsets   offsets
}

// offsets into runtime.g and runtime.m, in words.
type offsets struct {
	schedSP, schedPC, syscallSP, syscallPC int
	curg, vdsoSP                           int
}

// readOffsets takes them from DWARF.
func readOffsets(file *elf.File) (offsets, error) {
	var at offsets
	fields := map[string]*int{"runtime.gobuf.sp": &at.schedSP, "runtime.gobuf.pc": &at.schedPC,
		"runtime.g.syscallsp": &at.syscallSP, "runtime.g.syscallpc": &at.syscallPC,
		"runtime.m.curg": &at.curg, "runtime.m.vdsoSP": &at.vdsoSP}
	var sched int
	fields["runtime.g.sched"] = &sched
	data, err := file.DWARF()
	if err != nil {
		return at, err
	}
	structure, left := "", len(fields)
	for reader := data.Reader(); left > 0; {
		entry, err := reader.Next()
		if err != nil {
			return at, err
		}
		if entry == nil {
			return at, fmt.Errorf("%d fields are not in DWARF", left)
		}
		name, _ := entry.Val(dwarf.AttrName).(string)
		switch entry.Tag {
		case dwarf.TagStructType:
			structure = name
		case dwarf.TagMember:
			offset, ok := entry.Val(dwarf.AttrDataMemberLoc).(int64)
			if to := fields[structure+"."+name]; to != nil && ok {
				*to = int(offset / 8)
				delete(fields, structure+"."+name)
				left--
			}
		}
	}
	at.schedSP += sched
	at.schedPC += sched
	return at, nil
}

// debugFrame is its data; up to Go 1.18 the section has the name of the old way of compression.
func debugFrame(file *elf.File) ([]byte, error) {
	for _, name := range []string{".debug_frame", ".zdebug_frame"} {
		if section := file.Section(name); section != nil {
			return section.Data()
		}
	}
	return nil, errors.New("no .debug_frame")
}

func openImage(path string) (*image, error) {
	file, err := elf.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	symbols, err := file.Symbols()
	if err != nil {
		return nil, err
	}
	im := &image{}
	var text, end uint64 // C's functions are none of these
	for _, s := range symbols {
		switch s.Name {
		case "runtime.text":
			text = s.Value
		case "runtime.etext":
			end = s.Value
		}
	}
	for _, s := range symbols {
		if elf.ST_TYPE(s.Info) == elf.STT_FUNC && s.Size > 0 && s.Value >= text && s.Value < end {
			im.functions = append(im.functions, function{s.Value, s.Value + s.Size, s.Name})
		}
	}
	sort.Slice(im.functions, func(i, j int) bool { return im.functions[i].start < im.functions[j].start })
	data, err := debugFrame(file)
	if err != nil {
		return nil, err
	}
	if im.frames, err = frame.Parse(data, binary.LittleEndian, 0, 8, 0); err != nil {
		return nil, err
	}
	im.offsets, err = readOffsets(file)
	return im, err
}

// find tells the Go function at pc, "" none; the suffix of its ABI is not part of the name.
func (im *image) find(pc uint64) string {
	i := sort.Search(len(im.functions), func(i int) bool { return im.functions[i].start > pc }) - 1
	if i < 0 || pc >= im.functions[i].end {
		return ""
	}
	return strings.TrimSuffix(strings.TrimSuffix(im.functions[i].name, ".abi0"), ".abiinternal")
}

// beginsAt says whether a function's first instruction is at pc.
func (im *image) beginsAt(pc uint64) bool {
	i := sort.Search(len(im.functions), func(i int) bool { return im.functions[i].start >= pc })
	return i < len(im.functions) && im.functions[i].start == pc
}

// cfa is the address behind the return address of the frame that executes pc.
func (im *image) cfa(pc, sp, bp uint64) (uint64, bool) {
	fde, err := im.frames.FDEForPC(pc)
	if err != nil {
		return 0, false
	}
	context, err := fde.EstablishFrame(pc)
	if err != nil || context.CFA.Rule != frame.RuleCFA {
		return 0, false
	}
	switch context.CFA.Reg {
	case regRSP:
		return sp + uint64(context.CFA.Offset), true
	case regRBP:
		return bp + uint64(context.CFA.Offset), true
	}
	return 0, false
}

// example shows what is known of a stack, and what spanprof told of it.
func (im *image) example(c *capture, pcs []uint64, got []string) string {
	names := []string{fmt.Sprintf("ip %x sp %x bp %x curg %x stack %x..%x", c.IP, c.SP, c.BP, c.Curg, c.CurgWords[0], c.CurgWords[1])}
	for _, pc := range pcs {
		names = append(names, im.find(pc-1))
	}
	return strings.Join(names, "\n\t\t") + "\n\tgot\n\t\t" + strings.Join(got, "\n\t\t")
}

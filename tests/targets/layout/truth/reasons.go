// SPDX-License-Identifier: Apache-2.0

package main

import (
	"debug/elf"
	"encoding/binary"
	"errors"
	"fmt"
)

// relocated gives the pointers of a position-independent file, by their places.
func relocated(file *elf.File) (map[uint64]uint64, error) {
	words := map[uint64]uint64{}
	for _, section := range file.Sections {
		if section.Type != elf.SHT_RELA {
			continue
		}
		data, err := section.Data()
		if err != nil {
			return nil, err
		}
		for ; len(data) >= 24; data = data[24:] {
			place, addend := binary.LittleEndian.Uint64(data), binary.LittleEndian.Uint64(data[16:])
			if addend != 0 {
				words[place] = addend
			}
		}
	}
	return words, nil
}

// read gives bytes of the file as they lie in memory.
func (c *checker) read(address uint64, size uint64) ([]byte, error) {
	for _, p := range c.file.Progs {
		if p.Type == elf.PT_LOAD && address >= p.Vaddr && address-p.Vaddr+size <= p.Filesz {
			data := make([]byte, size)
			_, err := p.ReadAt(data, int64(address-p.Vaddr))
			return data, err
		}
	}
	return nil, fmt.Errorf("no bytes at %#x", address)
}

// checkReasons compares the names of wait reasons with the runtime's variable.
func (c *checker) checkReasons() error {
	words, err := relocated(c.file)
	if err != nil {
		return err
	}
	s, ok := c.symbols["runtime.waitReasonStrings"]
	if !ok {
		return errors.New("no runtime.waitReasonStrings")
	}
	headers, err := c.read(s.Value, s.Size)
	if err != nil {
		return err
	}
	for i := uint64(0); i < s.Size/16; i++ {
		pointer := binary.LittleEndian.Uint64(headers[i*16:])
		if word, ok := words[s.Value+i*16]; ok {
			pointer = word
		}
		name, err := c.read(pointer, binary.LittleEndian.Uint64(headers[i*16+8:]))
		if err != nil && i > 0 {
			return err
		}
		c.expect(fmt.Sprintf("reason.%d", i), string(name))
	}
	c.expect("reason.count", fmt.Sprint(s.Size/16))
	return nil
}

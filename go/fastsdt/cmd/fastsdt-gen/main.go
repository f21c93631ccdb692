// SPDX-License-Identifier: BSD-2-Clause

// Fastsdt-gen makes the USDT probes that comments of a Go package declare:
//
//	//fastsdt:probe shop:order func Order(id int64, item string)
//
// It writes fastsdt_probes.go, fastsdt_probes_off.go and an assembly file for each architecture into the package's folder. They need no other
// package and no cgo. See go/fastsdt/README.md.
package main

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"
)

func main() {
	flag.Usage = func() {
		fmt.Fprint(flag.CommandLine.Output(), "usage: fastsdt-gen [FOLDER]\n"+
			"Makes the probes that the package in FOLDER (.) declares: //fastsdt:probe PROVIDER:NAME func FUNCTION(PARAMETERS)\n")
	}
	flag.Parse()
	folder := "."
	switch flag.NArg() {
	case 0:
	case 1:
		folder = flag.Arg(0)
	default:
		flag.Usage()
		os.Exit(2)
	}
	if err := generate(folder); err != nil {
		fmt.Fprintln(os.Stderr, "fastsdt-gen:", err)
		os.Exit(1)
	}
}

// Reads everything, then writes everything: what is wrong with a declaration leaves the files as they were.
func generate(folder string) error {
	declared, err := read(folder, os.Getenv("GOPACKAGE"))
	if err != nil {
		return err
	}
	files, err := emit(declared)
	if err != nil {
		return err
	}
	for _, file := range files {
		if err := write(filepath.Join(folder, file.name), file.text); err != nil {
			return err
		}
	}
	return nil
}

// A file that is right already keeps its time, so that go builds nothing again.
func write(path string, text []byte) error {
	if old, err := os.ReadFile(path); err == nil && bytes.Equal(old, text) {
		return nil
	}
	temporary, err := os.CreateTemp(filepath.Dir(path), ".fastsdt-gen-*")
	if err != nil {
		return err
	}
	defer os.Remove(temporary.Name()) // it is gone if all went well
	_, err = temporary.Write(text)
	if mode := temporary.Chmod(0o644); err == nil {
		err = mode
	}
	if closed := temporary.Close(); err == nil {
		err = closed
	}
	if err != nil {
		return err
	}
	return os.Rename(temporary.Name(), path)
}

// SPDX-License-Identifier: BSD-2-Clause

package main

import (
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"sort"
	"strings"
)

const directive = "//fastsdt:probe"

// As many as there are registers that Go's assembly may use, and that tools know as arg0 to arg11.
const mostArguments = 12

// kind says how one word of an argument is loaded, and what notes call it.
type kind struct {
	size  int    // bytes; below 0: signed, as notes have it
	cType string // for the record of names
}

var basic = map[string]kind{
	"bool": {1, "bool"}, "byte": {1, "unsigned char"}, "rune": {-4, "int"},
	"int": {-8, "long"}, "int8": {-1, "signed char"}, "int16": {-2, "short"}, "int32": {-4, "int"}, "int64": {-8, "long"},
	"uint": {8, "unsigned long"}, "uint8": {1, "unsigned char"}, "uint16": {2, "unsigned short"}, "uint32": {4, "unsigned int"},
	"uint64": {8, "unsigned long"}, "uintptr": {8, "unsigned long"},
	"float32": {4, "float"}, "float64": {8, "double"},
}

var pointer = kind{8, "void *"}

// word is one argument of a probe: a parameter of the function, or a part of one.
type word struct {
	name   string // as go vet wants it of assembly: a0, a1_base, a1_len
	note   string // as tools call it: id, item, item_len
	kind   kind
	offset int // in the function's arguments
}

type probe struct {
	provider, name string
	function       string
	parameters     string   // as they were written
	values         []string // its parameters, to pass them on
	types          []string
	words          []word
	size           int // of all arguments
	unsafe         bool
}

type declarations struct {
	packageName string
	probes      []probe
}

var (
	declaration = regexp.MustCompile(`^\s+([A-Za-z_]\w*):([A-Za-z_]\w*)\s+func\s+([A-Za-z_]\w*)(\(.*\))\s*$`)
	generated   = regexp.MustCompile(`^fastsdt_probes(_off)?\.go$`)
)

// read finds the declarations in the files of a folder that belong to a package: packageName, or the one that declares probes.
func read(folder, packageName string) (declarations, error) {
	found := declarations{packageName: packageName}
	entries, err := os.ReadDir(folder)
	if err != nil {
		return found, err
	}
	set := token.NewFileSet()
	files := map[string][]*ast.File{} // by package
	for _, entry := range entries {
		name := entry.Name()
		if entry.IsDir() || !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") || generated.MatchString(name) {
			continue
		}
		file, err := parser.ParseFile(set, filepath.Join(folder, name), nil, parser.ParseComments)
		if err != nil {
			return found, err
		}
		files[file.Name.Name] = append(files[file.Name.Name], file)
	}
	type line struct {
		place token.Position
		text  string
	}
	lines := map[string][]line{}
	for name, of := range files {
		for _, file := range of {
			for _, group := range file.Comments {
				for _, comment := range group.List {
					if strings.HasPrefix(comment.Text, directive) {
						lines[name] = append(lines[name], line{set.Position(comment.Pos()), strings.TrimPrefix(comment.Text, directive)})
					}
				}
			}
		}
	}
	if found.packageName == "" {
		if len(lines) > 1 {
			return found, fmt.Errorf("%s: more than one package declares probes: say which by GOPACKAGE", folder)
		}
		for name := range lines {
			found.packageName = name
		}
	}
	if len(lines[found.packageName]) == 0 {
		return found, fmt.Errorf("%s: no probe is declared: write %s PROVIDER:NAME func FUNCTION(PARAMETERS)", folder, directive)
	}
	for _, file := range files[found.packageName] {
		for _, imported := range file.Imports {
			if imported.Path.Value == `"C"` {
				return found, fmt.Errorf("%s: the package uses cgo, and go gives its assembly to the C compiler: declare the probes in a package without cgo",
					set.Position(imported.Pos()))
			}
		}
	}
	types := typesOf(files[found.packageName])
	names, functions := map[string]bool{}, map[string]bool{}
	for _, line := range lines[found.packageName] {
		one, err := parse(line.text, types)
		if err == nil && names[one.provider+":"+one.name] {
			err = fmt.Errorf("%s:%s is declared twice", one.provider, one.name)
		}
		if err == nil && functions[strings.ToLower(one.function)] {
			err = fmt.Errorf("another probe's function is called %s, but for upper and lower case", one.function)
		}
		if err != nil {
			return found, fmt.Errorf("%s: %w", line.place, err)
		}
		names[one.provider+":"+one.name], functions[strings.ToLower(one.function)] = true, true
		found.probes = append(found.probes, one)
	}
	sort.Slice(found.probes, func(i, j int) bool {
		a, b := found.probes[i], found.probes[j]
		return a.provider < b.provider || a.provider == b.provider && a.name < b.name
	})
	return found, nil
}

// The package's own types, for parameters that have one.
func typesOf(files []*ast.File) map[string]ast.Expr {
	types := map[string]ast.Expr{}
	for _, file := range files {
		for _, d := range file.Decls {
			if general, ok := d.(*ast.GenDecl); ok {
				for _, spec := range general.Specs {
					if one, ok := spec.(*ast.TypeSpec); ok && one.TypeParams == nil {
						types[one.Name.Name] = one.Type
					}
				}
			}
		}
	}
	return types
}

func parse(text string, types map[string]ast.Expr) (probe, error) {
	parts := declaration.FindStringSubmatch(text)
	if parts == nil {
		return probe{}, fmt.Errorf("not a declaration: %s PROVIDER:NAME func FUNCTION(PARAMETERS), the names of letters, digits and _", directive)
	}
	one := probe{provider: parts[1], name: parts[2], function: parts[3], parameters: parts[4]}
	expression, err := parser.ParseExpr("func" + one.parameters)
	if err != nil {
		return one, fmt.Errorf("%s: no parameters of a function: %w", one.parameters, err)
	}
	signature, ok := expression.(*ast.FuncType)
	if !ok || signature.Results != nil {
		return one, errors.New("a probe has no results")
	}
	seen := map[string]bool{}
	offset := 0
	add := func(name, note string, kind kind) error {
		if seen[note] {
			return fmt.Errorf("two arguments are called %s: a string and a slice have a second one, NAME_len", note)
		}
		seen[note] = true
		size := kind.size
		if size < 0 {
			size = -size
		}
		offset = (offset + size - 1) / size * size
		one.words = append(one.words, word{name, note, kind, offset})
		offset += size
		return nil
	}
	for _, field := range signature.Params.List {
		if len(field.Names) == 0 {
			return one, errors.New("each parameter needs a name, by which tools call the argument")
		}
		for _, name := range field.Names {
			if name.Name == "_" {
				return one, errors.New("each parameter needs a name, by which tools call the argument")
			}
			if name.Name == "atomic" || name.Name == "unsafe" {
				return one, fmt.Errorf("%s: the name of a package that the function needs: choose another", name.Name)
			}
			// Not by its own name, which may be that of a register: g.
			assembly := fmt.Sprint("a", len(one.values))
			one.values = append(one.values, name.Name)
			from := int(signature.Params.Opening) // the text begins there
			one.types = append(one.types, one.parameters[int(field.Type.Pos())-from:int(field.Type.End())-from])
			shape, err := shapeOf(field.Type, types, 0)
			if err != nil {
				return one, fmt.Errorf("%s: %w", name.Name, err)
			}
			one.unsafe = one.unsafe || mentionsUnsafe(field.Type)
			switch shape {
			case "string", "slice":
				of := kind{8, "const char *"}
				if shape == "slice" {
					of = pointer
				}
				offset = (offset + 7) / 8 * 8
				if err = add(assembly+"_base", name.Name, of); err == nil {
					err = add(assembly+"_len", name.Name+"_len", kind{-8, "long"})
				}
				if shape == "slice" {
					offset += 8 // its capacity
				}
			case "pointer":
				err = add(assembly, name.Name, pointer)
			default:
				err = add(assembly, name.Name, basic[shape])
			}
			if err != nil {
				return one, err
			}
		}
	}
	if len(one.words) > mostArguments {
		return one, fmt.Errorf("%d arguments: a probe has at most %d, and strings and slices have two each", len(one.words), mostArguments)
	}
	one.size = offset
	if len(text) > 4096 {
		return one, errors.New("a declaration has at most 4096 characters")
	}
	return one, nil
}

// shapeOf tells what a parameter is in memory: a key of basic, "string", "slice" or "pointer".
func shapeOf(of ast.Expr, types map[string]ast.Expr, depth int) (string, error) {
	switch t := of.(type) {
	case *ast.ParenExpr:
		return shapeOf(t.X, types, depth)
	case *ast.StarExpr:
		return "pointer", qualified(t.X)
	case *ast.ArrayType:
		if t.Len == nil {
			return "slice", qualified(t.Elt)
		}
	case *ast.SelectorExpr:
		if mentionsUnsafe(t) {
			return "pointer", nil
		}
		return "", errors.New("the type of another package: convert it to one of Go's own, or pass an unsafe.Pointer")
	case *ast.Ident:
		if own, ok := types[t.Name]; ok && depth < 100 { // a type that is made of itself has no end
			return shapeOf(own, types, depth+1)
		}
		if _, ok := basic[t.Name]; ok || t.Name == "string" {
			return t.Name, nil
		}
		return "", fmt.Errorf("the type %s is unknown here: a probe takes integers, bool, floats, strings, slices and pointers", t.Name)
	}
	return "", errors.New("a probe takes integers, bool, floats, strings, slices and pointers: pass the parts, or a pointer")
}

func mentionsUnsafe(of ast.Expr) bool {
	selector, ok := of.(*ast.SelectorExpr)
	if !ok || selector.Sel.Name != "Pointer" {
		return false
	}
	name, ok := selector.X.(*ast.Ident)
	return ok && name.Name == "unsafe"
}

// The file with the functions imports nothing but what it needs itself.
func qualified(of ast.Expr) (err error) {
	ast.Inspect(of, func(node ast.Node) bool {
		if _, ok := node.(*ast.SelectorExpr); ok {
			err = errors.New("the type of another package: pass an unsafe.Pointer")
		}
		return err == nil
	})
	return err
}

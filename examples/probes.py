#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Lists the probes of a process or of a file with their arguments, by ctypes: probes.py 4711, probes.py /usr/bin/shop.

The structures are the first members of those in fastsdt/reader.h: later ones may be left out, since the library makes them."""
import ctypes
import sys
from ctypes import POINTER, c_char, c_char_p, c_int, c_size_t, c_uint, c_uint64, c_void_p


def structure(name, *fields):
    return type(name, (ctypes.Structure,), {"_fields_": list(fields)})


Error = structure("Error", ("kind", c_int), ("what", c_char * 512), ("where", c_char * 1024), ("cure", c_char * 256))
Options = structure("Options", ("size", c_size_t), ("flags", c_uint), ("kernels", c_char_p))
Image = structure("Image", ("path", c_char_p))
Place = structure("Place", ("address", c_uint64), ("file_offset", c_uint64))
Probe = structure("Probe", ("place", POINTER(Place)), ("provider", c_char_p), ("name", c_char_p))
Argument = structure("Argument", ("text", c_char_p), ("size", c_int), ("is_signed", c_int), ("is_float", c_int),
                     ("operand", c_char_p), ("name", c_char_p), ("type", c_char_p))
library = ctypes.CDLL("libfastsdt.so.0")
for function, result, *arguments in [("open", c_void_p, c_char_p, POINTER(Options), POINTER(Error)),
                                     ("open_process", c_void_p, c_int, POINTER(Options), POINTER(Error)),
                                     ("close", None, c_void_p),
                                     ("image_at", POINTER(Image), c_void_p, c_size_t),
                                     ("probe_at", POINTER(Probe), POINTER(Image), c_size_t),
                                     ("argument_at", POINTER(Argument), POINTER(Probe), c_size_t)]:
    entry = getattr(library, "fastsdt_reader_" + function)
    entry.restype, entry.argtypes = result, arguments


def each(at, of):
    index = 0
    while item := at(of, index):
        yield item
        index += 1


def text(value):
    return value.decode(errors="backslashreplace")


def main(of):
    error = Error()
    options = Options(size=ctypes.sizeof(Options), kernels=b"")
    if of.isdigit():
        reader = library.fastsdt_reader_open_process(int(of), options, error)
    else:
        reader = library.fastsdt_reader_open(of.encode(), options, error)
    if not reader:
        sys.exit(f"probes.py: {text(error.where)}: {text(error.what)}")
    for image in each(library.fastsdt_reader_image_at, reader):
        for probe in each(library.fastsdt_reader_probe_at, image):
            arguments = [text(a.contents.name or a.contents.text) for a in each(library.fastsdt_reader_argument_at, probe)]
            print(f"{text(image.contents.path)}:{text(probe.contents.provider)}:{text(probe.contents.name)}({', '.join(arguments)})")
    library.fastsdt_reader_close(reader)


main(sys.argv[1])

// Texts of values for gdb (share/gdb/tessera.py), which calls these functions by name. They need no
// debug information of the library, and nothing of it runs but the making of the text.
#pragma once
#include "tessera/visibility.h"

namespace TESSERA_PUBLIC tessera {

extern "C" {
// Return the text of an Array, ArrayType, PartitionSpec, Sharding, Mesh or Program, which is valid
// until the next call. They throw nothing: the text of an error is in angle brackets.
const char* tessera_debugger_array(const void* x);
const char* tessera_debugger_type(const void* type);
const char* tessera_debugger_spec(const void* spec);
const char* tessera_debugger_sharding(const void* sharding);
const char* tessera_debugger_mesh(const void* mesh);
const char* tessera_debugger_program(const void* program);
}

}  // namespace tessera

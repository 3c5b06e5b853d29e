// Files of programs. All numbers are little-endian:
//
//   8 bytes   kProgramMagic
//   u64       kProgramVersion
//   u64       the number of bytes of the header
//   u64       the checksum of the header
//   header    JSON: "text", the program; "inputs", "outputs" and "donated", its border; and
//             "constants", the arrays that it captures: each [begin, end, checksum in hexadecimal]
//   elements  row-major; each array begins at a multiple of 64 bytes of the file
#pragma once
#include <string>

#include "api/core/operands.h"
#include "tessera/program.h"

namespace tessera::api {

// Whether a file begins as a saved program does.
bool IsSavedProgram(const std::string& path);
Program ReadProgram(const std::string& path, Call call);
void WriteProgram(const std::string& path, const Program& program, Call call);

}  // namespace tessera::api

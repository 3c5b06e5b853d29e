// Programs as text, for tests of transforms.
#pragma once
#include <sstream>
#include <string>

#include "ir/program_text.h"
#include "ops/ops.h"

namespace tessera::transforms {

inline ir::Program Parsed(const char* text) {
  ops::Install();
  return ir::ParseProgram(text, Loc::Current());
}

// Returns the text without lines' places.
inline std::string TextOf(const ir::Program& program) {
  std::string out;
  std::istringstream lines(ir::Text(program));
  for (std::string line; std::getline(lines, line);)
    out += line.substr(0, line.find_last_not_of(' ', line.find("//") - 1) + 1) + "\n";
  return out;
}

}  // namespace tessera::transforms

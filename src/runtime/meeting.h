// Places in a program where all processes meet, and check that they do the same.
#pragma once
#include <string>

namespace tessera::runtime {

struct Meeting {
  std::string what;   // the activity of the process: "compiling a program"
  std::string where;  // the user's line
  // Lines that must be equal on all processes. The part of a line after " // " is not compared. It
  // names the user's line.
  std::string text;
  std::string hint = "";  // how to make the texts equal
};

// All processes call it. Throws the same RuntimeError on every process if they do not all do the
// same. It shows the first line of the texts that differs.
void Meet(const Meeting& meeting);

}  // namespace tessera::runtime

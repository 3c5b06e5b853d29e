// Types of a run at the lines of its source.
#pragma once
#include <ostream>
#include <string>

namespace tessera::cli {

struct AnnotateRequest {
  std::string file;   // "model.cc"
  std::string types;  // written by a run with TESSERA_TYPES
  bool hints = false;
};

// Prints the file with a comment at each line that made values in a run: the types of the last one,
// `// f32[8@data,32@model]`, or those of several programs, `// f32[8] | f32[16]`. Such a comment
// that is there already is replaced. With `hints` prints an array of inlay hints of the Language
// Server Protocol instead. Throws std::runtime_error for files that cannot be read, and if no
// value was made in the file.
void PrintAnnotated(const AnnotateRequest& request, std::ostream& out);

}  // namespace tessera::cli

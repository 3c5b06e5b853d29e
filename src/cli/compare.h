// Which value two programs make differently first.
#pragma once
#include <ostream>
#include <string>
#include <vector>

#include "cli/run.h"
#include "cli/source.h"

namespace tessera::cli {

struct CompareRequest {
  std::string other = {};                  // the second file; "": the first again
  std::vector<std::string> meshes = {};    // none, one for both, or one for each
  std::vector<std::string> settings = {};  // of the second alone, after those of both
  std::string modes = {};                  // of the second; "": those of the first
  RunRequest arguments = {};
  double tolerance = 0;  // as in DifferenceOptions
};

struct ComparedSources {
  ProgramSource a, b;
};
// Returns the two programs that a request names, with the changes of each.
ComparedSources SourcesOf(const ProgramSource& first, const CompareRequest& request);

// Returns why a text is no tolerance; "" if it is one.
std::string ReasonAgainstTolerance(const std::string& text);

// Runs both programs on the same arguments, and prints the first value that differs. Returns
// whether there is one. Throws std::runtime_error if the arguments of the programs differ, and as
// RunProgram.
bool PrintComparison(const ComparedSources& sources, const CompareRequest& request,
                     std::ostream& out);

}  // namespace tessera::cli

// Changes between two programs.
#pragma once
#include <ostream>
#include <string>
#include <vector>

#include "cli/source.h"

namespace tessera::cli {

struct DiffRequest {
  std::string after;                // the second file
  std::vector<std::string> allows;  // "bytes=+2%", "peak=+1000"
  bool json = false;
};

// Prints the changes from `before` to the second file of the request, under the same options:
// shardings and collectives by line, then bytes sent, FLOPs and peak memory of a device. Returns
// whether one of these grew by more than is allowed, which is nothing by default. Throws
// std::runtime_error for an allowance that is not understood, and errors of the library.
bool PrintDiff(const ProgramSource& before, const DiffRequest& request, std::ostream& out);

// Returns why an allowance is not understood; "" if it is.
std::string ReasonAgainstAllowance(const std::string& text);

}  // namespace tessera::cli

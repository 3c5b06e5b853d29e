// Errors of `tessera check` for machines.
#pragma once
#include <tessera/error.h>

#include <optional>
#include <string>

namespace tessera::cli {

struct CheckRequest {
  bool stats = false, json = false, sarif = false;
};

// Returns an array of errors as Error::json has them; empty without one. Edits that replace a text
// of `file` have its range: the line, and columns [begin, end), counted from 1.
std::string DiagnosticsJson(const std::optional<Error>& refused, const std::string& file);

// Returns a log of SARIF 2.1.0 with one run of this command on `file`. Its result has the place of
// the error, those of the operands, and the fixes that replace a part of the file.
std::string DiagnosticsSarif(const std::optional<Error>& refused, const std::string& file);

}  // namespace tessera::cli

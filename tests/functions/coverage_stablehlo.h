// The operations of StableHLO's dialects on the page of coverage.
#pragma once
#include <string>

namespace tessera::functions {

// Returns rows of a summary, and the tables that it sums up.
struct OperationPages {
  std::string summary, tables;
};
OperationPages PagesOfOperations();

}  // namespace tessera::functions

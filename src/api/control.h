// What loops and branches share: checks of trees and arrays.
#pragma once
#include "api/regions.h"
#include "trace/tree.h"

namespace tessera::api {

enum Check { kTypes = 1, kTree = 2, kPredicate = 3, kSizes = 4, kLength = 5, kShardedSteps = 6 };

// Throws TraceError unless the trees are of the same sizes, keys and numbers. `what`: "the body
// returns".
void CheckTree(Call call, const trace::Leaves& wanted, const trace::Leaves& came, const char* what);

// Throws TraceError for arrays that cannot be used.
void CheckUsable(const std::vector<Array>& arrays, Call call);

}  // namespace tessera::api

// The data of the page: the program, its communication and its memory as JSON.
#pragma once
#include <tessera/explain.h>
#include <tessera/memory_advice.h>

#include <optional>
#include <string>

#include "cli/listing.h"

namespace tessera::cli {

// The communication and memory of a lowered program, and changes that lower its peak.
struct Costs {
  CommReport comm;
  MemoryReport memory;
  MemoryAdvice advice;  // without changes if it was not asked for
};

// Returns an object that page/data.js reads. Texts are indices into `texts`, which has each once:
//   mesh     [name, size, is Auto] per axis; the name is a text itself
//   rows     columns of equal length, one entry per row of the listing: depth, value, name, type,
//            sharding, op, rest, line, scope, backward
//   comm     [kind, axes, bytes, times, flags, line, scope, made by, made at, read by, read at,
//            change] per collective; flags: 1 backward, 2 implied, 4 per iteration
//   memory   kinds: names, texts themselves; steps: [op, line, backward];
//            buffers: [kind, bytes, begin, end, op, type, line, scope, backward];
//            changes: [change, line, peak bytes, more bytes sent, more FLOPs]
// Without costs, `comm` and `memory` are null.
std::string PageData(const Listing& listing, const std::vector<Explanation>& explanations,
                     const std::optional<Costs>& costs);
// Returns an object with all lines of explanations, each once, and the indices of those that
// explain each row's value. Values on one path share most of their lines.
std::string ExplanationData(const Listing& listing, const std::vector<Explanation>& explanations);

}  // namespace tessera::cli

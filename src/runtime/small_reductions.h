// Reductions of short dense buffers. Such a reduction takes less time than a walk over the tables
// of its exchange, so everything that it needs is in one table.
#pragma once
#include <cstdint>
#include <vector>

#include "plan/plan.h"
#include "runtime/view.h"

namespace tessera::runtime {

class SmallReductions {
 public:
  struct Source {
    ViewId view;
    int32_t instance;
    int64_t offset;  // in bytes
  };
  // The sources that one reduction may have.
  static constexpr int kMostSources = 64;

  // Adds a reduction of `sources` to an instance of the view `out`.
  void Add(plan::CombineFn combine, int64_t elements, const std::vector<Source>& sources,
           ViewId out, int32_t instance);

  int64_t count() const { return static_cast<int64_t>(reductions_.size()); }
  // Does reductions [begin, end), in the order in which they were added.
  void Run(Views views, int64_t begin, int64_t end) const;

 private:
  struct SmallReduction {
    plan::CombineFn combine;
    int64_t elements, first_source;
    int32_t sources;
    ViewId out;
    int32_t instance;
  };

  // Sets `at` to the reduction's sources, and fetches their first lines into the cache. The
  // hardware prefetcher finds the next lines, but not the next sources.
  void Fetch(Views views, const SmallReduction& reduction, const std::byte** at) const;

  std::vector<SmallReduction> reductions_;
  std::vector<Source> sources_;  // of all reductions, one after the other
};

}  // namespace tessera::runtime

// Adds reductions to the table, and runs them from it.
#include "runtime/small_reductions.h"

#include "runtime/arena.h"

namespace tessera::runtime {

void SmallReductions::Add(plan::CombineFn combine, int64_t elements,
                          const std::vector<Source>& sources, ViewId out, int32_t instance) {
  reductions_.push_back({combine, elements, static_cast<int64_t>(sources_.size()),
                         static_cast<int32_t>(sources.size()), out, instance});
  sources_.insert(sources_.end(), sources.begin(), sources.end());
}

void SmallReductions::Run(Views views, int64_t begin, int64_t end) const {
  if (begin >= end) return;
  const std::byte* at[2][kMostSources];  // of this reduction, and of the next one
  Fetch(views, reductions_[begin], at[begin % 2]);
  for (int64_t r = begin; r < end; ++r) {
    if (r + 1 < end) Fetch(views, reductions_[r + 1], at[(r + 1) % 2]);
    const SmallReduction& reduction = reductions_[r];
    reduction.combine(at[r % 2], reduction.sources, views[reduction.out].at(reduction.instance),
                      reduction.elements, /*stream=*/false);
  }
}

void SmallReductions::Fetch(Views views, const SmallReduction& reduction,
                            const std::byte** at) const {
  const Source* sources = &sources_[reduction.first_source];
  for (int32_t j = 0; j < reduction.sources; ++j) {
    const auto& [view, instance, offset] = sources[j];
    at[j] = views[view].at(instance) + offset;
    __builtin_prefetch(at[j]);
    __builtin_prefetch(at[j] + kLine);
  }
}

}  // namespace tessera::runtime

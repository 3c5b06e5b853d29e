// Packs, sends, receives and unpacks boxes; combines elements with other processes.
#include "runtime/messages.h"

#include <absl/algorithm/container.h>

#include <cstring>
#include <utility>

#include "base/at.h"
#include "runtime/arena.h"

namespace tessera::runtime {
namespace {

// Messages to one process that are smaller together are packed: a copy costs less than a message.
constexpr int64_t kPackBytes = 32 << 10;
// Few processes combine few elements fastest if each sends its own to all others. All of them add
// the elements in the same order.
constexpr int64_t kDirectBytes = 16 << 10;
constexpr size_t kDirectProcesses = 4;

// Returns the memory of a box with these strides (in elements), its neighbours in memory merged.
// `once`: elements that a stride of 0 repeats count once.
ByteRuns RunsOf(const plan::Box& box, const std::vector<int64_t>& strides, int64_t item,
                bool once) {
  ByteRuns runs{.extents = {}, .strides = {}, .run = item};
  for (size_t d = 0; d < box.extents.size(); ++d) {
    if (box.extents[d] == 1 || (once && strides[d] == 0)) continue;
    const int64_t stride = strides[d] * item;
    if (!runs.extents.empty() && runs.strides.back() == stride * box.extents[d]) {
      runs.extents.back() *= box.extents[d];
      runs.strides.back() = stride;
    } else {
      runs.extents.push_back(box.extents[d]);
      runs.strides.push_back(stride);
    }
  }
  if (!runs.extents.empty() && runs.strides.back() == item) {
    runs.run *= runs.extents.back();
    runs.extents.pop_back();
    runs.strides.pop_back();
  }
  return runs;
}

int64_t BytesOf(const ByteRuns& runs) {
  int64_t bytes = runs.run;
  for (int64_t extent : runs.extents) bytes *= extent;
  return bytes;
}

// Calls copy(run) for each run, in their order.
template <class F>
void ForEachRun(const ByteRuns& runs, std::byte* at, size_t dim, F copy) {
  if (dim == runs.extents.size()) return copy(at);
  for (int64_t i = 0; i < runs.extents[dim]; ++i)
    ForEachRun(runs, at + i * runs.strides[dim], dim + 1, copy);
}

}  // namespace

void ReadyMessages::Add(const plan::Exchange& e, const std::vector<ViewId>& in, ViewId out) {
  const int64_t item = e.computed_from.value_or(e.dtype).size();
  for (const plan::Exchange::Message& m : e.sends) {
    const plan::Box& box = base::At(e.boxes, m.box);
    AddPart(sends_, m.process, {base::At(in, m.operand), m.instance, m.offset * item, 0, 0},
            RunsOf(box, box.in_strides, item, e.receives_as_sent));
  }
  for (const plan::Exchange::Message& m : e.receives) {
    const plan::Box& box = base::At(e.boxes, m.box);
    AddPart(receives_, m.process, {out, m.instance, m.offset * item, 0, 0},
            RunsOf(box, e.receives_as_sent ? box.in_strides : box.out_strides, item,
                   e.receives_as_sent));
  }
  for (const plan::Exchange::GroupReduction& r : e.reductions) AddSum(e, r, in, out);
}

// Small sums over the same processes are packed.
void ReadyMessages::AddSum(const plan::Exchange& e, const plan::Exchange::GroupReduction& r,
                           const std::vector<ViewId>& in, ViewId out) {
  const int64_t item = e.dtype.size(), bytes = r.elements * item;
  const auto processes = static_cast<double>(r.processes.size());
  bytes_ += static_cast<double>(bytes) * (r.scatters ? processes : 2);
  auto bundle = absl::c_find_if(sums_, [&](const SumBundle& other) {
    return !r.scatters && !other.scatters && other.processes == r.processes &&
           other.combine == e.combine && other.item == item && other.bytes + bytes <= kPackBytes;
  });
  if (bundle == sums_.end()) {
    bundle = sums_.insert(bundle, {.processes = r.processes});
    bundle->own =
        base::Size(absl::c_find(r.processes, TheTransport()->process()) - r.processes.begin());
    bundle->combine = e.combine;
    bundle->scatters = r.scatters;
    bundle->item = item;
  }
  bundle->bytes += bytes;
  for (int32_t k = 0; k < r.instances; ++k)
    bundle->sums.push_back({base::At(in, r.operand), out, r.source, r.instance + k,
                            r.in_offset * item, bytes / r.instances});
}

void ReadyMessages::AddPart(Bundles& bundles, int32_t process, Part part, const ByteRuns& runs) {
  const auto known =
      absl::c_find_if(patterns_, [&](const Pattern& pattern) { return pattern.runs == runs; });
  part.pattern = static_cast<int32_t>(known - patterns_.begin());
  part.bytes = BytesOf(runs);
  if (known == patterns_.end()) {
    const bool dense = runs.extents.empty();
    patterns_.push_back({runs, dense ? -1 : TheTransport()->AddRuns(runs)});
  }
  auto bundle =
      absl::c_find_if(bundles, [&](const Bundle& other) { return other.process == process; });
  if (bundle == bundles.end()) bundle = bundles.insert(bundle, {.process = process});
  bundle->parts.push_back(part);
  bundle->bytes += part.bytes;
  bytes_ += static_cast<double>(part.bytes);
}

void ReadyMessages::Prepare() {
  for (Bundles* bundles : {&receives_, &sends_}) {
    for (Bundle& bundle : *bundles) {
      const bool dense = base::At(patterns_, bundle.parts[0].pattern).number < 0;
      bundle.packs = bundle.bytes <= kPackBytes && !(dense && bundle.parts.size() == 1);
      if (!bundle.packs) continue;
      bundle.at = packed_bytes_;
      packed_bytes_ += RoundUp(bundle.bytes, kLine);
    }
  }
  for (SumBundle& bundle : sums_) PrepareSums(bundle);
}

void ReadyMessages::PrepareSums(SumBundle& bundle) {
  const auto take = [&] {
    return std::exchange(packed_bytes_, packed_bytes_ + RoundUp(bundle.bytes, kLine));
  };
  if (bundle.packs_sources()) bundle.sources = take();
  if (bundle.packs_results()) bundle.results = take();
  bundle.is_direct = bundle.bytes <= kDirectBytes && bundle.processes.size() <= kDirectProcesses;
  if (bundle.is_direct) {
    for (size_t k = 0; k < bundle.processes.size(); ++k) bundle.received.push_back(take());
  } else {
    bundle.group = TheTransport()->AddGroup(bundle.processes);
    bundle.number = TheTransport()->AddCombine(bundle.combine, bundle.item);
  }
}

void ReadyMessages::AddParcels(const Bundles& bundles, Views views, Mail& mail,
                               std::vector<Parcel>& parcels) const {
  parcels.clear();
  for (const Bundle& bundle : bundles) {
    if (bundle.packs) {
      parcels.push_back(
          {bundle.process, mail.packed.data() + bundle.at, bundle.bytes, -1, /*splits=*/true});
      continue;
    }
    for (const Part& part : bundle.parts)
      parcels.push_back({bundle.process, views[part.view].at(part.instance) + part.offset,
                         part.bytes, base::At(patterns_, part.pattern).number,
                         /*splits=*/bundle.bytes <= kPackBytes});
  }
}

void ReadyMessages::PackSources(Views views, Mail& mail) const {
  mail.packed.resize(base::Size(packed_bytes_));
  for (const Bundle& bundle : sends_) {
    if (!bundle.packs) continue;
    std::byte* to = mail.packed.data() + bundle.at;
    for (const Part& part : bundle.parts) {
      const ByteRuns& runs = base::At(patterns_, part.pattern).runs;
      ForEachRun(runs, views[part.view].at(part.instance) + part.offset, 0,
                 [&](const std::byte* from) {
                   std::memcpy(to, from, base::Size(runs.run));
                   to += runs.run;
                 });
    }
  }
  for (const SumBundle& bundle : sums_) {
    if (!bundle.packs_sources()) continue;
    std::byte* to = mail.packed.data() + bundle.sources;
    for (const Sum& sum : bundle.sums) {
      std::memcpy(to, views[sum.from].at(sum.from_instance) + sum.from_offset,
                  base::Size(sum.bytes));
      to += sum.bytes;
    }
  }
}

const std::byte* ReadyMessages::SourceOf(const SumBundle& bundle, Views views,
                                         const Mail& mail) const {
  if (bundle.packs_sources()) return mail.packed.data() + bundle.sources;
  const Sum& sum = bundle.sums[0];
  return views[sum.from].at(sum.from_instance) + sum.from_offset;
}
std::byte* ReadyMessages::ResultOf(const SumBundle& bundle, Views views, Mail& mail) const {
  if (bundle.packs_results()) return mail.packed.data() + bundle.results;
  const Sum& sum = bundle.sums[0];
  return views[sum.to].at(sum.to_instance);
}

void ReadyMessages::StartSums(const SumBundle& bundle, Views views, Mail& mail) const {
  const std::byte* source = SourceOf(bundle, views, mail);
  if (!bundle.is_direct) {
    mail.combinations.push_back({.group = bundle.group,
                                 .combine = bundle.number,
                                 .from = source,
                                 .to = ResultOf(bundle, views, mail),
                                 .elements = bundle.bytes / bundle.item,
                                 .scatters = bundle.scatters});
    return;
  }
  for (size_t k = 0; k < bundle.processes.size(); ++k) {
    if (k == bundle.own) continue;
    const auto part = bundle.scatters ? static_cast<int64_t>(k) * bundle.bytes : 0;
    mail.receives.push_back({bundle.processes[k], mail.packed.data() + bundle.received[k],
                             bundle.bytes, -1,
                             /*splits=*/true});
    mail.sends.push_back({bundle.processes[k], const_cast<std::byte*>(source) + part, bundle.bytes,
                          -1,
                          /*splits=*/true});
  }
}

void ReadyMessages::FinishSums(const SumBundle& bundle, Views views, Mail& mail) const {
  if (bundle.is_direct) {
    const std::byte* sources[kDirectProcesses];
    for (size_t k = 0; k < bundle.processes.size(); ++k)
      sources[k] = mail.packed.data() + bundle.received[k];
    const auto part =
        bundle.scatters ? static_cast<int64_t>(bundle.own) * bundle.bytes : int64_t{0};
    sources[bundle.own] = SourceOf(bundle, views, mail) + part;
    bundle.combine(sources, static_cast<int>(bundle.processes.size()),
                   ResultOf(bundle, views, mail), bundle.bytes / bundle.item, /*stream=*/false);
  }
  if (!bundle.packs_results()) return;
  const std::byte* from = mail.packed.data() + bundle.results;
  for (const Sum& sum : bundle.sums) {
    std::memcpy(views[sum.to].at(sum.to_instance), from, base::Size(sum.bytes));
    from += sum.bytes;
  }
}

void ReadyMessages::Start(Views views, Mail& mail) const {
  PackSources(views, mail);
  AddParcels(receives_, views, mail, mail.receives);
  AddParcels(sends_, views, mail, mail.sends);
  mail.combinations.clear();
  for (const SumBundle& bundle : sums_) StartSums(bundle, views, mail);
  mail.ticket = TheTransport()->Start(
      {.receives = mail.receives, .sends = mail.sends, .combinations = mail.combinations});
}

void ReadyMessages::Finish(Views views, Mail& mail) const {
  TheTransport()->Finish(mail.ticket);
  UnpackResults(views, mail);
  for (const SumBundle& bundle : sums_) FinishSums(bundle, views, mail);
}

void ReadyMessages::UnpackResults(Views views, Mail& mail) const {
  for (const Bundle& bundle : receives_) {
    if (!bundle.packs) continue;
    const std::byte* from = mail.packed.data() + bundle.at;
    for (const Part& part : bundle.parts) {
      const ByteRuns& runs = base::At(patterns_, part.pattern).runs;
      ForEachRun(runs, views[part.view].at(part.instance) + part.offset, 0, [&](std::byte* to) {
        std::memcpy(to, from, base::Size(runs.run));
        from += runs.run;
      });
    }
  }
}

}  // namespace tessera::runtime

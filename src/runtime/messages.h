// Boxes that travel between this process and others.
#pragma once
#include <cstddef>
#include <cstdint>
#include <vector>

#include "plan/plan.h"
#include "runtime/transport.h"
#include "runtime/view.h"

namespace tessera::runtime {

// Messages on their way in a run, and the memory in which small ones are packed.
struct Mail {
  std::vector<std::byte> packed;
  std::vector<Parcel> receives, sends;
  std::vector<Combination> combinations;
  Transport::Ticket ticket = 0;
};

// The messages of exchanges that run as one, prepared to travel. Small messages to one process are
// packed into one; a large one is sent from its place and received in its place.
class ReadyMessages {
 public:
  // `in` and `out` are the views of the exchange's values.
  void Add(const plan::Exchange& exchange, const std::vector<ViewId>& in, ViewId out);
  // Call after the last Add.
  void Prepare();

  double bytes() const { return bytes_; }  // sent and received

  void Start(Views views, Mail& mail) const;
  void Finish(Views views, Mail& mail) const;

 private:
  struct Part {
    ViewId view;
    int32_t instance;
    int64_t offset, bytes;
    int32_t pattern;  // index into patterns_
  };
  struct Pattern {
    ByteRuns runs;
    int32_t number = -1;  // from Transport::AddRuns
  };
  // The parts for one other process, or from it.
  struct Bundle {
    int32_t process = 0;
    std::vector<Part> parts = {};
    int64_t bytes = 0;
    bool packs = false;
    int64_t at = 0;  // of the packed bytes
  };
  using Bundles = std::vector<Bundle>;

  // Elements to combine with those of other processes.
  struct Sum {
    ViewId from, to;
    int32_t from_instance, to_instance;
    int64_t from_offset, bytes;  // of the source; of the result
  };
  // Sums over the same processes that are combined as one. If there are several, their sources and
  // their results are packed.
  struct SumBundle {
    std::vector<int32_t> processes;
    size_t own = 0;  // the index of this process
    plan::CombineFn combine = nullptr;
    bool scatters = false;
    int64_t item = 1, bytes = 0;  // of an element; of the results
    std::vector<Sum> sums = {};
    // Not direct: the transport combines. Direct: every process sends its elements to all others.
    bool is_direct = false;
    int32_t group = 0, number = 0;       // from AddGroup and AddCombine
    int64_t sources = -1, results = -1;  // of the packed bytes; -1: they are in place
    std::vector<int64_t> received = {};  // direct: of the packed bytes, for each process
    // The source of a scatter is one piece, and its results may be several instances.
    bool packs_sources() const { return sums.size() > 1 && !scatters; }
    bool packs_results() const { return sums.size() > 1; }
  };

  void AddSum(const plan::Exchange& exchange, const plan::Exchange::GroupReduction& reduction,
              const std::vector<ViewId>& in, ViewId out);
  void PrepareSums(SumBundle& bundle);
  const std::byte* SourceOf(const SumBundle& bundle, Views views, const Mail& mail) const;
  std::byte* ResultOf(const SumBundle& bundle, Views views, Mail& mail) const;
  void StartSums(const SumBundle& bundle, Views views, Mail& mail) const;
  void FinishSums(const SumBundle& bundle, Views views, Mail& mail) const;
  void PackSources(Views views, Mail& mail) const;
  void UnpackResults(Views views, Mail& mail) const;
  void AddPart(Bundles& bundles, int32_t process, Part part, const ByteRuns& runs);
  void AddParcels(const Bundles& bundles, Views views, Mail& mail,
                  std::vector<Parcel>& parcels) const;

  std::vector<Pattern> patterns_;
  Bundles sends_, receives_;
  std::vector<SumBundle> sums_;
  int64_t packed_bytes_ = 0;
  double bytes_ = 0;
};

}  // namespace tessera::runtime

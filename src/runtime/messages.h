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

  // `is_awaited`: see Shipment.
  void Start(Views views, Mail& mail, bool is_awaited) const;
  void Finish(Views views, Mail& mail) const;

 private:
  struct Part {
    ViewId view;
    int32_t instance;
    int64_t offset, bytes;
    int32_t pattern;  // index into patterns_
  };
  struct Pattern {
    Runs runs;
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
    int32_t group, combine;
    bool scatters;
    int64_t elements, bytes;
    ViewId from, to;
    int32_t from_instance, to_instance;
    int64_t from_offset;
  };
  // Sums that are combined as one: their sources are packed.
  struct SumBundle {
    std::vector<Sum> sums = {};
    int64_t bytes = 0;
    int64_t at = -1;  // of the packed bytes; -1: a single sum, from its place to its place
  };

  void AddSum(const plan::Exchange::Reduction& reduction, Sum sum);
  void PackSources(Views views, Mail& mail) const;
  void UnpackResults(Views views, Mail& mail) const;
  void AddPart(Bundles& bundles, int32_t process, Part part, const Runs& runs);
  void AddParcels(const Bundles& bundles, Views views, Mail& mail,
                  std::vector<Parcel>& parcels) const;

  std::vector<Pattern> patterns_;
  Bundles sends_, receives_;
  std::vector<SumBundle> sums_;
  int64_t packed_bytes_ = 0;
  double bytes_ = 0;
};

}  // namespace tessera::runtime

// Rows of a workload that is compared with JAX row by row.
#pragma once
#include <fmt/format.h>
#include <tessera/tessera.h>

#include <string>
#include <tuple>
#include <utility>

#include "benchmarks/beside_jax.h"

namespace tessera::bench {

// The rows of W15 on a number of devices, which are the mesh axis "d".
class Rows {
 public:
  // Only rows whose name contains `part` are measured.
  Rows(Recorder& recorder, int devices, std::string part)
      : recorder_(recorder), devices_(devices), part_(std::move(part)) {}

  // Measures a call of f, and then JAX's row of that name.
  template <class F, class... A>
  void Add(const std::string& name, const F& f, const std::tuple<A...>& arguments,
           const Json& cost = Json::object()) {
    if (!Wants(name)) return;
    const auto run = jit(f);
    recorder_.Emit("W15." + name, kOurs, {{"devices", devices_}}, "us",
                   Sample(quick(), [&] { std::apply(run, arguments); }), cost);
    RunJax(recorder_, "numerics.py", fmt::format("{} --devices {}", name, devices_));
  }
  template <class F>
  void Add(const std::string& name, const F& f, const Array& x, const Json& cost = Json::object()) {
    Add(name, f, std::tuple(x), cost);
  }
  // Measures a reference in this process, which does the same as the row of that name.
  template <class F>
  void AddReference(const std::string& name, const std::string& peer, const F& f) {
    recorder_.Emit("W15." + name, peer, {{"devices", devices_}}, "us", Sample(quick(), f));
  }
  bool Wants(const std::string& name) const { return name.find(part_) != std::string::npos; }
  bool quick() const { return recorder_.quick(); }
  int devices() const { return devices_; }
  bool is_alone() const { return devices_ == 1; }
  // Returns a size, or a small one.
  int64_t Size(int64_t n, int64_t small) const { return quick() ? small : n; }

 private:
  Recorder& recorder_;
  const int devices_;
  const std::string part_;
};

// Convolutions, pooling, and a step of samples/fashion.
void ImageRows(Rows& rows);
// Sums of segments, and cross entropy over a sharded vocabulary.
void LookupRows(Rows& rows);
// The encoder of samples/minilm.
void EncoderRows(Rows& rows);

}  // namespace tessera::bench

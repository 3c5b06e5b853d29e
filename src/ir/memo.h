// A cache of results that depend on an op, its params and types alone: programs repeat themselves.
#pragma once
#include <absl/container/node_hash_map.h>
#include <absl/hash/hash.h>

#include <optional>

#include "ir/host_call.h"
#include "ir/op.h"

namespace tessera::ir {

struct OpKey {
  const OpDef* op;
  ParamsPtr params;
  absl::InlinedVector<const Type*, 6> types;  // operands, then all else that decides
  friend bool operator==(const OpKey& a, const OpKey& b) {
    return a.op == b.op && a.types == b.types &&
           (a.params == b.params || (a.params && b.params && a.params->Equals(*b.params)));
  }
  template <class H>
  friend H AbslHashValue(H h, const OpKey& k) {
    return H::combine(std::move(h), k.op, k.types, k.params ? k.params->Hash() : 0);
  }
};

// Bounded: cleared when it is full, since types and ops live forever but programs do not. Results
// of host functions are not kept.
template <class V>
class Memo {
 public:
  // Returns the value for `key`, made by make() the first time.
  template <class F>
  const V& Get(OpKey key, F make) {
    auto it = values_.find(key);
    if (it != values_.end()) return it->second;
    if (HasHostFunction(key.params.get())) return unkept_.emplace(make());
    if (values_.size() >= kMost) values_.clear();
    V value = make();
    return values_.emplace(std::move(key), std::move(value)).first->second;
  }

 private:
  static constexpr size_t kMost = 1 << 14;
  absl::node_hash_map<OpKey, V> values_;
  std::optional<V> unkept_;  // the last result of a host function
};

}  // namespace tessera::ir

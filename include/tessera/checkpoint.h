// Memory for time: what a derivative computes again instead of keeping it.
#pragma once
#include <string>
#include <utility>
#include <vector>

#include "tessera/wrapped.h"

namespace TESSERA_PUBLIC tessera {

// What a checkpoint keeps for the derivative besides its arguments: of its function, of the
// branches in it, and of loops in every iteration, except while_loop, which is computed again.
enum class Remat : uint8_t {
  kNothing,
  kDots,   // results of matmul, dot_general, einsum and the like
  kNamed,  // values that named() gave one of CheckpointOptions::names
};

struct CheckpointOptions {
  Remat save = Remat::kNothing;
  std::vector<std::string> names = {};  // for kNamed
};

namespace detail {

class Checkpoint : public SameTree {
 public:
  template <class F>
  Checkpoint(CheckpointOptions options, const F& f)
      : options_(std::move(options)), shared_(SharedAs<Checkpoint>(TextOf(options_), f)) {}
  FunctionResult Call(const FunctionCall& call) const;
  const void* shared() const { return shared_; }

 private:
  static std::string TextOf(const CheckpointOptions& options);
  CheckpointOptions options_;
  const void* shared_;
};

}  // namespace detail

// Returns f, whose derivatives keep its arguments and what `.save` says, and compute the rest of
// what they need of it again: in a loop, in each iteration. Values are the same as without.
template <class F>
auto checkpoint(F f, CheckpointOptions options = {}, Loc loc = Loc::Current()) {
  detail::Checkpoint transform(std::move(options), f);
  return detail::Wrap(std::move(f), std::move(transform), loc);
}

}  // namespace tessera

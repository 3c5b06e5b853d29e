// checkpoint: the backward pass recomputes values instead of storing them.
#pragma once
#include <string>
#include <utility>
#include <vector>

#include "tessera/wrapped.h"

namespace TESSERA_PUBLIC tessera {

// The values that a checkpoint stores for the derivative, in addition to its arguments. The rule
// applies to the function, to its branches, and to every iteration of its loops, except while_loop,
// which is recomputed.
enum class Remat : uint8_t {
  kNothing,
  kDots,   // results of dot_general, and so of matmul and einsum
  kNamed,  // values that named() calls one of CheckpointOptions::names
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

// Returns f with a derivative that stores only the arguments and the values of `.save`, and
// recomputes the rest: in a loop, iteration by iteration. The results of f do not change.
template <class F>
auto checkpoint(F f, CheckpointOptions options = {}, Loc loc = Loc::Current()) {
  detail::Checkpoint transform(std::move(options), f);
  return detail::Wrap(std::move(f), std::move(transform), loc);
}

}  // namespace tessera

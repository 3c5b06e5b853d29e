// Whether sums of floats have one order.
#pragma once

namespace tessera::base {

// Whether programs that this thread compiles sum floats in an order that depends on the length of
// the sum alone: not on the mesh, the processes, or the other dims; see tessera::Deterministic.
bool KeepsSumOrder();
void SetKeepsSumOrder(bool on);

class SumOrderScope {
 public:
  explicit SumOrderScope(bool on) : outer_(KeepsSumOrder()) { SetKeepsSumOrder(on); }
  ~SumOrderScope() { SetKeepsSumOrder(outer_); }
  SumOrderScope(const SumOrderScope&) = delete;
  SumOrderScope& operator=(const SumOrderScope&) = delete;

 private:
  const bool outer_;
};

}  // namespace tessera::base

// The scope in which sums have one order.
#include "tessera/deterministic.h"

#include "base/sum_order.h"

namespace tessera {

Deterministic::Deterministic() : outer_(base::KeepsSumOrder()) { base::SetKeepsSumOrder(true); }
Deterministic::~Deterministic() { base::SetKeepsSumOrder(outer_); }

}  // namespace tessera

// The order of sums, a setting of each thread.
#include "base/sum_order.h"

namespace tessera::base {
namespace {
thread_local bool keeps_sum_order = false;
}  // namespace

bool KeepsSumOrder() { return keeps_sum_order; }
void SetKeepsSumOrder(bool on) { keeps_sum_order = on; }

}  // namespace tessera::base

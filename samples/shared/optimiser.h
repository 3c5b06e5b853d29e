// The optimiser of the samples that train: AdamW with gradient clipping and a cosine schedule.
#pragma once
#include <tessera/tessera.h>

#include <algorithm>

namespace samples {

using namespace tessera;

// The rate rises to `rate` linearly, then falls to a tenth of it along half a cosine wave.
struct Training {
  double rate = 3e-3;
  int64_t warm_up = 20, steps = 400;

  Optimiser optimiser() const {
    const RateSchedule rising = schedules::linear(rate / static_cast<double>(warm_up), rate,
                                                  warm_up - 1),
                       falling = schedules::cosine_decay(
                           rate, std::max<int64_t>(1, steps - warm_up), {.alpha = 0.1});
    return chain({optimisers::clip_by_global_norm(1),
                  optimisers::adamw(schedules::join({rising, falling}, {warm_up}),
                                    {.b2 = 0.98, .weight_decay = 0.1})});
  }
};

}  // namespace samples

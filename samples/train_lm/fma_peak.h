// The peak of this machine.
#pragma once

namespace train_lm {

// Returns the f32 FLOPs per second of all cores in a loop of multiply-adds only.
double measured_fma_peak();

}  // namespace train_lm

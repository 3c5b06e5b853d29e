// Kernels of two steps, for the steps that most programs consist of: one jump less. A layer norm of
// rows in the caches takes 0.85 of the time.
#include "base/simd_targets.h"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/fused/simd_pairs.cc"
#include <hwy/foreach_target.h>
// Highway requires this order of includes: the targets first.
#include "kernels/fused/kernel_table.h"
#include "kernels/fused/simd_ops.h"

HWY_BEFORE_NAMESPACE();
namespace tessera::kernels::HWY_NAMESPACE {

// A step: its kernel, given the kernel that follows.
struct LoadStep {
  template <class Next>
  static constexpr auto kKernel = &Tile::Load<Next>;
};
struct StoreStep {
  template <class Next>
  static constexpr auto kKernel = &Tile::Store<Next>;
};
template <class F>
struct UnaryStep {
  template <class Next>
  static constexpr auto kKernel = &Tile::Unary<float, F, Next>;
};
template <class F>
struct BinaryStep {
  template <class Next>
  static constexpr auto kKernel = &Tile::Binary<float, F, Next>;
};
template <class F>
struct NumberStep {
  template <class Next>
  static constexpr auto kKernel = &Tile::WithNumber<float, F, Next>;
};
template <class F, bool kReverse>
struct ScaledStep {
  template <class Next>
  static constexpr auto kKernel = &Tile::WithScaled<float, F, kReverse, Next>;
};
template <class F>
struct AccumulateStep {
  template <class>
  static constexpr auto kKernel =
      &Accumulators<std::make_index_sequence<kVectors>>::Run<float, F, kVectors>;
};

// The Next of a kernel that does this step as well.
template <class Step>
struct Then {
  template <class... V>
  static HWY_INLINE void Go(const Instr* pc, Context* c, size_t i, V... v) {
    return Step::template kKernel<Tile>(pc, c, i, v...);
  }
};

template <class... Steps>
struct List {};

template <class First, class... Second>
void AddPairs(KernelTable& t, List<Second...>) {
  (t.pairs.push_back({Erase(First::template kKernel<Tile>), Erase(Second::template kKernel<Tile>),
                      Erase(First::template kKernel<Then<Second>>)}),
   ...);
}
template <class... First, class Second>
void AddAllPairs(KernelTable& t, List<First...>, Second second) {
  (AddPairs<First>(t, second), ...);
}

void AddStepPairsImpl(KernelTable& t) {
  using First = List<LoadStep, BinaryStep<Add>, BinaryStep<Sub>, BinaryStep<Mul>, NumberStep<Add>,
                     NumberStep<Sub>, NumberStep<Mul>, ScaledStep<Add, false>,
                     ScaledStep<Sub, false>, UnaryStep<Square>>;
  using Second = List<BinaryStep<Add>, BinaryStep<Sub>, BinaryStep<Mul>, NumberStep<Add>,
                      NumberStep<Sub>, NumberStep<Mul>, ScaledStep<Add, false>,
                      ScaledStep<Sub, false>, UnaryStep<Square>, StoreStep, AccumulateStep<Add>>;
  AddAllPairs(t, First(), Second());
}

}  // namespace tessera::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tessera::kernels {
HWY_EXPORT(AddStepPairsImpl);
void AddStepPairs(KernelTable& table) { HWY_DYNAMIC_DISPATCH(AddStepPairsImpl)(table); }
}  // namespace tessera::kernels
#endif

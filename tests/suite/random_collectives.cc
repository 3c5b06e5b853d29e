// Collectives with random numbers in them, and their results in plain arithmetic.
#include "suite/random_collectives.h"

#include <cmath>

namespace tessera::suite {
namespace {

using Arrays = std::vector<Array>;

Array Total(const Arrays& xs) {
  Array out = xs[0];
  for (size_t k = 1; k < xs.size(); ++k) out = out + xs[k];
  return out;
}
double Factor(size_t k) { return std::sin(1.0 + 2.0 * static_cast<double>(k)); }
Arrays Scaled(const Array& x, int64_t n) {
  Arrays out;
  for (int64_t k = 0; k < n; ++k) out.push_back(x * Factor(static_cast<size_t>(k)));
  return out;
}
// Adds the entries along dim 0, each with a factor.
Array TotalOfEntries(const Array& entries) {
  Array out = entries[{0}] * Factor(0);
  for (int64_t k = 1; k < entries.shape(0); ++k)
    out = out + entries[{Index(k)}] * Factor(static_cast<size_t>(k));
  return out;
}
Array Weighted(const Arrays& xs) {
  Array out = xs[0] * Factor(0);
  for (size_t k = 1; k < xs.size(); ++k) out = out + xs[k] * Factor(k);
  return out;
}

}  // namespace

Collective RandomCollective(Dice& dice, const AxisSet& axes, int n) {
  const auto total = [](const Arrays& xs, size_t) { return Total(xs); };
  const auto weighted = [](const Arrays& xs, size_t) { return Weighted(xs); };
  const auto varying = [axes](const Array& x) { return x + 0.0 * astype(axis_index(axes), f64); };
  switch (dice.Below(12)) {
    case 0:
      return Collective{"psum", [=](const Array& x) { return psum(x, axes); }, total};
    case 1:
      return Collective{
          "pmean", [=](const Array& x) { return pmean(x, axes); },
          [=](const Arrays& xs, size_t) { return Total(xs) / static_cast<double>(n); }};
    case 2:
      return Collective{
          "pmax",
          [=](const Array& x) { return pmax(x + 0.37 * astype(axis_index(axes), f64), axes); },
          [](const Arrays& xs, size_t) {
            Arrays all;
            for (size_t k = 0; k < xs.size(); ++k)
              all.push_back(xs[k] + 0.37 * static_cast<double>(k));
            return max(stack(all, 0), 0);
          }};
    case 3: {
      const int by = 1 + dice.Below(3);
      return Collective{"pshift", [=](const Array& x) { return pshift(x, axes, by); },
                        [=](const Arrays& xs, size_t at) {
                          return xs[(at + static_cast<size_t>(n * 3 - by)) % xs.size()];
                        }};
    }
    case 4: {
      const int from = dice.Below(n), to = dice.Below(n);
      return Collective{"ppermute",
                        [=](const Array& x) {
                          return ppermute(x, axes, {{from, to}});
                        },
                        [=](const Arrays& xs, size_t at) {
                          return at == static_cast<size_t>(to) ? xs[static_cast<size_t>(from)]
                                                               : zeros_like(xs[0]);
                        }};
    }
    case 5: {
      const int source = dice.Below(n);
      return Collective{"pbroadcast", [=](const Array& x) { return pbroadcast(x, axes, source); },
                        [=](const Arrays& xs, size_t) { return xs[static_cast<size_t>(source)]; }};
    }
    case 6:
      return Collective{
          "axis_index", [=](const Array& x) { return x * astype(axis_index(axes), f64); },
          [](const Arrays& xs, size_t at) { return xs[at] * static_cast<double>(at); }};
    case 7: {
      const Variance to = dice.Below(2) ? Variance::kVarying : Variance::kInvarying;
      return Collective{
          "all_gather",
          [=](const Array& x) { return TotalOfEntries(all_gather(x, axes, {.to = to})); },
          weighted};
    }
    case 8:
      return Collective{
          "gather_reduced",
          [=](const Array& x) { return sum(all_gather(x, axes, {.to = Variance::kReduced}), 0); },
          total};
    case 9:
      return Collective{"psum_scatter",
                        [=](const Array& x) { return psum_scatter(stack(Scaled(x, n), 0), axes); },
                        [](const Arrays& xs, size_t at) { return Total(xs) * Factor(at); }};
    case 10:
      return Collective{"all_to_all",
                        [=](const Array& x) {
                          return TotalOfEntries(all_to_all(stack(Scaled(x, n), 0), axes, 0, 0));
                        },
                        [](const Arrays& xs, size_t at) { return Weighted(xs) * Factor(at); }};
    default:
      return Collective{"unreduced",
                        [=](const Array& x) {
                          return psum(pcast(varying(x), axes, Variance::kUnreduced) * 2.0, axes);
                        },
                        [](const Arrays& xs, size_t) { return Total(xs) * 2.0; }};
  }
}

}  // namespace tessera::suite

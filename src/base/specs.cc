// Specs as values: errors of every layer hold some.
#include <utility>

#include "tessera/sharding.h"

namespace tessera {

AxisSet::AxisSet(std::initializer_list<AxisRef> axes) : axes_(axes) {}
AxisSet::AxisSet(std::initializer_list<const char*> names) : axes_(names.begin(), names.end()) {}
AxisSet::AxisSet(const char* name) : axes_{name} {}
AxisSet::AxisSet(std::string name) : axes_{std::move(name)} {}
AxisSet::AxisSet(AxisRef axis) : axes_{std::move(axis)} {}
AxisSet::AxisSet(std::vector<AxisRef> axes) : axes_(std::move(axes)) {}
AxisSet::AxisSet(const std::vector<std::string>& names) : axes_(names.begin(), names.end()) {}
AxisSet::AxisSet(const AxisNames& names) : AxisSet(names.names()) {}

DimSharding::DimSharding(std::initializer_list<AxisRef> axes) : axes_(axes) {}
DimSharding::DimSharding(std::initializer_list<const char*> names)
    : axes_(names.begin(), names.end()) {}
DimSharding::DimSharding(const char* name) : axes_{{name}} {}
DimSharding::DimSharding(std::string name) : axes_{{std::move(name)}} {}
DimSharding::DimSharding(AxisRef axis) : axes_{std::move(axis)} {}
DimSharding::DimSharding(std::vector<AxisRef> axes) : axes_(std::move(axes)) {}
DimSharding::DimSharding(const DimSharding&) = default;
DimSharding::DimSharding(DimSharding&&) noexcept = default;
DimSharding& DimSharding::operator=(const DimSharding&) = default;
DimSharding& DimSharding::operator=(DimSharding&&) noexcept = default;
DimSharding::~DimSharding() = default;

PartitionSpec::PartitionSpec() = default;
PartitionSpec::PartitionSpec(std::vector<DimSharding> dims) : dims_(std::move(dims)) {}
PartitionSpec::PartitionSpec(const PartitionSpec&) = default;
PartitionSpec::PartitionSpec(PartitionSpec&&) noexcept = default;
PartitionSpec& PartitionSpec::operator=(const PartitionSpec&) = default;
PartitionSpec& PartitionSpec::operator=(PartitionSpec&&) noexcept = default;
PartitionSpec::~PartitionSpec() = default;

PartitionSpec P() { return {}; }
PartitionSpec P(DimSharding a) { return PartitionSpec(std::vector<DimSharding>{std::move(a)}); }
PartitionSpec P(DimSharding a, DimSharding b) {
  return PartitionSpec(std::vector<DimSharding>{std::move(a), std::move(b)});
}
PartitionSpec P(DimSharding a, DimSharding b, DimSharding c) {
  return PartitionSpec(std::vector<DimSharding>{std::move(a), std::move(b), std::move(c)});
}
PartitionSpec P(DimSharding a, DimSharding b, DimSharding c, DimSharding d) {
  return PartitionSpec(
      std::vector<DimSharding>{std::move(a), std::move(b), std::move(c), std::move(d)});
}
PartitionSpec P(DimSharding a, DimSharding b, DimSharding c, DimSharding d, DimSharding e) {
  return PartitionSpec(std::vector<DimSharding>{std::move(a), std::move(b), std::move(c),
                                                std::move(d), std::move(e)});
}
PartitionSpec P(DimSharding a, DimSharding b, DimSharding c, DimSharding d, DimSharding e,
                DimSharding f) {
  return PartitionSpec(std::vector<DimSharding>{std::move(a), std::move(b), std::move(c),
                                                std::move(d), std::move(e), std::move(f)});
}
PartitionSpec P(DimSharding a, DimSharding b, DimSharding c, DimSharding d, DimSharding e,
                DimSharding f, DimSharding g) {
  return PartitionSpec(std::vector<DimSharding>{std::move(a), std::move(b), std::move(c),
                                                std::move(d), std::move(e), std::move(f),
                                                std::move(g)});
}
PartitionSpec P(DimSharding a, DimSharding b, DimSharding c, DimSharding d, DimSharding e,
                DimSharding f, DimSharding g, DimSharding h) {
  return PartitionSpec(std::vector<DimSharding>{std::move(a), std::move(b), std::move(c),
                                                std::move(d), std::move(e), std::move(f),
                                                std::move(g), std::move(h)});
}

}  // namespace tessera

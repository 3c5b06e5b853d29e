// Matches values of two runs, and compares first fingerprints and then elements.
#include "compile/compare/compare_runs.h"

#include <absl/container/flat_hash_map.h>
#include <fmt/format.h>

#include <cmath>
#include <complex>
#include <limits>
#include <map>

#include "base/at.h"
#include "base/error.h"
#include "compile/host/host_array.h"
#include "ir/type.h"
#include "sharding/mesh.h"

namespace tessera::compile {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// Returns the dims of "f32[64@data,384]{V:x}" without axes: "[64,384]".
std::string ShapeOf(const std::string& type) {
  std::string shape;
  bool in_dim = true;
  for (size_t i = std::min(type.find('['), type.size()); i < type.size(); ++i) {
    if (type[i] == '@') in_dim = false;
    if (type[i] == ']') break;
    // Several axes of a dim are in parentheses: their commas separate no dims.
    if (type[i] == '(') i = type.find(')', i);
    if (type[i] == ',') in_dim = true;
    if (in_dim) shape += type[i];
  }
  return shape + "]";
}

std::string DTypeOf(const std::string& type) { return type.substr(0, type.find('[')); }

double ToleranceFor(const std::string& dtype, const DifferenceOptions& options) {
  if (options.tolerance > 0) return options.tolerance;
  if (dtype == "f64" || dtype == "c128") return 1e-9;
  if (dtype == "f32" || dtype == "c64") return 1e-4;
  return 3e-2;
}
double ToleranceFor(const WatchedValue& a, const WatchedValue& b,
                    const DifferenceOptions& options) {
  return std::max(ToleranceFor(DTypeOf(a.type), options), ToleranceFor(DTypeOf(b.type), options));
}

enum class MatchBy { kLine, kShape, kResult };

// Matches values of a with values of b, by key and the number of the value among those of its key.
class Matches {
 public:
  Matches(const RunValues& a, const RunValues& b) : of_(a.values.size(), -1) {
    std::vector<bool> open_a = Seen(a), open_b = Seen(b);
    // A line of a function that is traced twice has twice the values. Only lines with equally many
    // values are matched: otherwise the runs computed other things there.
    for (const MatchBy by : {MatchBy::kLine, MatchBy::kShape, MatchBy::kResult}) {
      if (by == MatchBy::kResult && LastProgram(a) != LastProgram(b)) break;
      const Groups in_b = GroupsOf(b, open_b, by);
      for (const auto& [key, values] : GroupsOf(a, open_a, by)) {
        const auto others = in_b.find(key);
        if (others == in_b.end() || others->second.size() != values.size()) continue;
        for (size_t k = 0; k < values.size(); ++k) {
          of_[values[k]] = static_cast<int64_t>(others->second[k]);
          open_a[values[k]] = open_b[others->second[k]] = false;
        }
      }
    }
  }
  // Returns the value of b; -1: none.
  int64_t Of(int64_t value) const { return of_[base::Size(value)]; }

 private:
  using Groups = std::map<std::string, std::vector<size_t>>;  // key -> values

  static std::vector<bool> Seen(const RunValues& run) {
    std::vector<bool> seen(run.values.size(), false);
    for (const MadeValue& m : run.made) seen[base::Size(m.value)] = true;
    return seen;
  }
  static Groups GroupsOf(const RunValues& run, const std::vector<bool>& open, MatchBy by) {
    Groups groups;
    for (size_t v = 0; v < run.values.size(); ++v)
      if (open[v] && (by != MatchBy::kResult || !run.values[v].result.empty()))
        groups[Key(run.values[v], by)].push_back(v);
    return groups;
  }
  static std::string Key(const WatchedValue& v, MatchBy by) {
    if (by == MatchBy::kResult) return fmt::format("{} {}", v.result, ShapeOf(v.type));
    return fmt::format("{} {} {} {}", v.op, ShapeOf(v.type), v.backward,
                       by == MatchBy::kLine ? v.where : "");
  }
  // Returns the number of the last program that has results; "" if none has.
  static std::string LastProgram(const RunValues& run) {
    std::string last;
    for (const WatchedValue& v : run.values)
      if (!v.result.empty()) last = v.result.substr(0, v.result.find('.'));
    return last;
  }

  std::vector<int64_t> of_;
};

using Moment = std::pair<int64_t, int64_t>;  // value, device

// Differences of the elements of two arrays of one shape.
class Elements {
 public:
  Elements(const WholeValue& a, const WholeValue& b) : a_(a.elements), b_(b.elements) {
    if (a_.shape != b_.shape) return;
    const double n = static_cast<double>(std::max<int64_t>(1, a_.size()));
    double squares = 0;
    const bool is_floating = a_.dtype.is_inexact();
    for (int64_t i = 0; is_floating && i < a_.size(); ++i) {
      const double x = std::abs(a_.Complex(i)), y = std::abs(b_.Complex(i));
      if (std::isfinite(x) && std::isfinite(y)) squares += std::max(x * x, y * y);
    }
    size_ = std::sqrt(squares / n);
  }
  bool comparable() const { return a_.shape == b_.shape; }
  int64_t count() const { return a_.size(); }
  // Returns the difference of an element, relative to the size of the element and of the arrays.
  double Of(int64_t i) const {
    if (!a_.dtype.is_inexact() || !b_.dtype.is_inexact()) return SameWord(i) ? 0 : kInfinity;
    const std::complex<double> x = a_.Complex(i), y = b_.Complex(i);
    if (IsSame(x.real(), y.real()) && IsSame(x.imag(), y.imag())) return 0;
    const double d = std::abs(x - y), size = std::max({size_, std::abs(x), std::abs(y)});
    return std::isfinite(d) ? d / size : kInfinity;
  }
  double largest() const {
    double largest = 0;
    for (int64_t i = 0; i < count(); ++i) largest = std::max(largest, Of(i));
    return largest;
  }

 private:
  static bool IsSame(double x, double y) { return x == y || (std::isnan(x) && std::isnan(y)); }
  bool SameWord(int64_t i) const {
    const size_t size = a_.dtype.size();
    return a_.dtype == b_.dtype &&
           std::equal(a_.data.begin() + i * static_cast<int64_t>(size),
                      a_.data.begin() + (i + 1) * static_cast<int64_t>(size),
                      b_.data.begin() + i * static_cast<int64_t>(size));
  }
  const ir::HostTensor &a_, &b_;
  double size_ = 0;  // root mean square of the larger elements
};

std::vector<int64_t> DevicesWith(const ir::Type& type, std::vector<int64_t> index) {
  std::vector<int64_t> devices;
  if (!type.mesh()) return devices;
  std::optional<int64_t> array;
  if (index.size() > type.shape().size()) {
    array = index[0];
    index.erase(index.begin());
  }
  for (int64_t p = 0; p < type.mesh()->size(); ++p) {
    bool has = !array || ArrayAt(type, p) == *array;
    const std::vector<IndexRange> ranges = RangesOf(type, p);
    for (size_t d = 0; d < index.size(); ++d)
      has = has && ranges[d].begin <= index[d] && index[d] < ranges[d].end;
    if (has) devices.push_back(type.mesh()->Device(p));
  }
  return devices;
}

const WholeValue* FindWhole(const ValueWatch& watch, int64_t value) {
  for (const WholeValue& w : watch.whole())
    if (w.value == value) return &w;
  return nullptr;
}

void SetNames(const WatchedValue& v, FirstDifference& d) {
  d.op = v.op;
  d.where = v.where;
  d.name = v.name;
  d.backward = v.backward;
}

// Returns the number of the first element beyond the tolerance; -1: none.
int64_t FirstBeyond(const Elements& elements, double tolerance, FirstDifference& d) {
  int64_t first = -1, differing = 0;
  for (int64_t i = 0; i < elements.count(); ++i) {
    if (!(elements.Of(i) > tolerance)) continue;
    if (first < 0) first = i;
    ++differing;
  }
  if (first < 0) return first;
  d.difference = elements.Of(first);
  d.differing = differing;
  d.elements = elements.count();
  return first;
}

DifferentSide SideOf(const WatchedValue& v, const WholeValue& w, const std::vector<int64_t>& index,
                     int64_t element) {
  return {v.type, TextAt(w.elements, element), DevicesWith(*w.place, index), v.op, v.where};
}

}  // namespace

FirstPair FindFirst(const RunValues& a, const RunValues& b, const DifferenceOptions& options,
                    size_t from) {
  const Matches matches(a, b);
  absl::flat_hash_map<Moment, std::vector<size_t>> made_b;
  for (size_t k = 0; k < b.made.size(); ++k)
    made_b[{b.made[k].value, b.made[k].device}].push_back(k);
  absl::flat_hash_map<Moment, size_t> next;
  FirstPair out;
  for (size_t k = 0; k < a.made.size(); ++k) {
    const MadeValue& m = a.made[k];
    const int64_t other = matches.Of(m.value);
    const auto moments = made_b.find({other, m.device});
    const size_t occurrence = next[{m.value, m.device}]++;
    if (other < 0 || moments == made_b.end() || occurrence >= moments->second.size()) {
      ++out.unmatched;
      continue;
    }
    const size_t at = moments->second[occurrence];
    ++out.compared;
    if (k < from) continue;
    const double tolerance =
        ToleranceFor(a.values[base::Size(m.value)], b.values[base::Size(other)], options);
    out.excess = DifferenceOf(m.print, b.made[at].print) / tolerance;
    if (m.print.replicas_differ != b.made[at].print.replicas_differ) out.excess = kInfinity;
    if (!(out.excess > 1)) continue;
    out.differs = {k, at};
    return out;
  }
  return out;
}

WatchTarget TargetOf(const RunValues& run, size_t made) {
  const MadeValue& m = run.made[made];
  WatchTarget target{m.value, 0, m.device};
  for (size_t k = 0; k < made; ++k)
    if (run.made[k].value == m.value && run.made[k].device == m.device) ++target.occurrence;
  return target;
}

FirstDifference Described(const RunValues& a, size_t made_a, const RunValues& b, size_t made_b) {
  FirstDifference d;
  const MadeValue &x = a.made[made_a], &y = b.made[made_b];
  const WatchedValue &v = a.values[base::Size(x.value)], &w = b.values[base::Size(y.value)];
  d.found = true;
  SetNames(v, d);
  d.iterations = x.iterations;
  d.run = TargetOf(a, made_a).occurrence;
  d.a = {.type = v.type, .op = v.op, .where = v.where};
  d.b = {.type = w.type, .op = w.op, .where = w.where};
  d.difference = DifferenceOf(x.print, y.print);
  d.replicas_differ = x.print.replicas_differ || y.print.replicas_differ;
  return d;
}

bool Locate(const ValueWatch& a, const ValueWatch& b, const DifferenceOptions& options,
            FirstDifference& difference) {
  // Both kept the values from which one instruction is computed: the k-th value of an op and a
  // shape in a is the k-th in b, and the last one, which other ops may make, is the last.
  std::map<std::string, std::vector<const WholeValue*>> in_b;
  const auto key = [](const ValueWatch& watch, const WholeValue& w) {
    const WatchedValue& v = watch.values()[base::Size(w.value)];
    return &w == &watch.whole().back() ? "last" : v.op + ShapeOf(v.type);
  };
  for (const WholeValue& w : b.whole()) in_b[key(b, w)].push_back(&w);
  std::map<std::string, size_t> next;
  std::map<int64_t, double> differences;  // by value of a
  for (const WholeValue& w : a.whole()) {
    const std::string k = key(a, w);
    const size_t at = next[k]++;
    if (at >= in_b[k].size()) continue;
    const WholeValue& other = *in_b[k][at];
    const Elements elements(w, other);
    if (!elements.comparable()) continue;
    const WatchedValue &v = a.values()[base::Size(w.value)],
                       &u = b.values()[base::Size(other.value)];
    differences[w.value] = elements.largest();
    const int64_t first = FirstBeyond(elements, ToleranceFor(v, u, options), difference);
    const bool replicas = w.replicas_differ != other.replicas_differ;
    if (first < 0 && !replicas) continue;
    SetNames(v, difference);
    difference.replicas_differ = w.replicas_differ || other.replicas_differ;
    difference.a = {.type = v.type, .op = v.op, .where = v.where};
    difference.b = {.type = u.type, .op = u.op, .where = u.where};
    if (first >= 0) {
      difference.index = ir::CoordsOf(w.elements.shape, first);
      difference.a = SideOf(v, w, difference.index, first);
      difference.b = SideOf(u, other, difference.index, first);
    }
    for (int64_t operand : a.operands(w.value)) {
      if (operand < 0 || !FindWhole(a, operand)) continue;
      const WatchedValue& o = a.values()[base::Size(operand)];
      const auto found = differences.find(operand);
      difference.operands.push_back(
          {o.op, o.where, o.name, found == differences.end() ? -1 : found->second});
    }
    return true;
  }
  return false;
}

}  // namespace tessera::compile

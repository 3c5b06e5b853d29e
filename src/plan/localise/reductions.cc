// Finds the groups of processes that reduce together.
#include "plan/localise/reductions.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <tuple>
#include <utility>

#include "base/at.h"

namespace tessera::plan {
namespace {

// Each result is dense in multiples of this, so that neighbours have no gap between them.
constexpr int64_t kLine = 64;

using Processes = std::vector<int32_t>;

// Processes that have every source of an instance once.
struct Group {
  Processes processes;  // ascending
  std::vector<int32_t> process_of_piece;
};

bool IsDense(const Box& box) {
  int64_t elements = 1;
  for (size_t d = box.extents.size(); d-- > 0; elements *= box.extents[d])
    if (box.extents[d] != 1 && box.in_strides[d] != elements) return false;
  return true;
}

class Reducer {
 public:
  Reducer(Exchange& e, Plan& plan, WholeLayouts& layouts, int32_t process)
      : e_(e),
        plan_(plan),
        layouts_(layouts),
        out_(layouts[plan.values[e.out].layout]),
        process_(process),
        elements_(plan.values[e.out].bytes / e.dtype.size()) {}

  bool Run(std::vector<Node>& before) {
    if (elements_ == 0 || !FindGroups()) return false;
    const bool all = EveryoneGetsAll();
    if (!all && !EachGetsAPart()) return false;
    all ? AddWholeReductions() : AddScatters();
    e_.pieces.clear();
    e_.pieces.resize(base::Size(plan_.layouts[plan_.values[e_.out].layout].instances));
    if (!sums_.pieces.empty()) AddSums(before);
    return true;
  }

 private:
  // Splits the hosts of each instance's sources into groups.
  bool FindGroups() {
    for (const std::vector<Exchange::Piece>& pieces : e_.pieces) {
      std::vector<Group>& groups = groups_.emplace_back();
      for (const Exchange::Piece& piece : pieces) {
        const Processes& hosts = base::At(
            layouts_[plan_.values[base::At(e_.in, piece.operand)].layout].hosts, piece.source);
        if (groups.empty()) groups.resize(hosts.size());
        if (groups.size() != hosts.size()) return false;
        for (size_t g = 0; g < groups.size(); ++g) {
          groups[g].process_of_piece.push_back(hosts[g]);
          groups[g].processes.push_back(hosts[g]);
        }
      }
      for (Group& group : groups) {
        Processes& p = group.processes;
        std::sort(p.begin(), p.end());
        p.erase(std::unique(p.begin(), p.end()), p.end());
      }
      if (!DivideAlike(groups)) return false;
    }
    return true;
  }

  // Whether all groups add the pieces in one order, so that copies of a sum have the same bits.
  static bool DivideAlike(const std::vector<Group>& groups) {
    const auto ranks = [](const Group& group) {
      std::vector<std::ptrdiff_t> ranks;
      for (int32_t process : group.process_of_piece)
        ranks.push_back(std::find(group.processes.begin(), group.processes.end(), process) -
                        group.processes.begin());
      return ranks;
    };
    return std::all_of(groups.begin(), groups.end(),
                       [&](const Group& group) { return ranks(group) == ranks(groups[0]); });
  }

  // Whether two instances are copies of one sum: each device has its own.
  bool HasCopies() const {
    std::set<std::vector<std::tuple<int32_t, int32_t, int64_t>>> seen;
    for (const std::vector<Exchange::Piece>& pieces : e_.pieces) {
      std::vector<std::tuple<int32_t, int32_t, int64_t>> key;
      for (const Exchange::Piece& p : pieces) key.push_back({p.operand, p.source, p.in_offset});
      if (!seen.insert(std::move(key)).second) return true;
    }
    return false;
  }

  // Whether the groups of each instance are its hosts, each once, and all have several processes.
  bool EveryoneGetsAll() const {
    for (size_t i = 0; i < groups_.size(); ++i) {
      Processes together;
      for (const Group& group : groups_[i]) {
        if (group.processes.size() == 1) return false;
        together.insert(together.end(), group.processes.begin(), group.processes.end());
      }
      std::sort(together.begin(), together.end());
      if (together != out_.hosts[i]) return false;
    }
    return true;
  }

  // The instances that a group of processes makes, each with the process that gets it.
  struct Made {
    int32_t process;
    int32_t instance;
    const Group* group;
    friend bool operator<(const Made& a, const Made& b) {
      return std::pair(a.process, a.instance) < std::pair(b.process, b.instance);
    }
  };

  // Whether one process of each group gets the instance, and all processes get as many, which are
  // neighbours. Groups of one process are for exchanges inside of it.
  bool EachGetsAPart() {
    if (plan_.values[e_.out].bytes % kLine != 0 || HasCopies()) return false;
    for (size_t i = 0; i < groups_.size(); ++i) {
      for (const Group& group : groups_[i]) {
        if (group.processes.size() == 1) return false;
        Processes getters;
        std::set_intersection(group.processes.begin(), group.processes.end(), out_.hosts[i].begin(),
                              out_.hosts[i].end(), std::back_inserter(getters));
        if (getters.size() != 1) return false;
        made_[group.processes].push_back({getters[0], static_cast<int32_t>(i), &group});
      }
    }
    for (auto& [processes, made] : made_) {
      std::sort(made.begin(), made.end());
      if (!AreEqualParts(processes, made)) return false;
    }
    return true;
  }

  bool AreEqualParts(const Processes& processes, const std::vector<Made>& made) const {
    if (made.size() % processes.size() != 0) return false;
    const size_t each = made.size() / processes.size();
    for (size_t k = 0; k < made.size(); ++k) {
      if (made[k].process != processes[k / each]) return false;
      const auto number = [&](const Made& m) { return out_.NumberOn(m.process, m.instance); };
      if (k % each > 0 && number(made[k]) != number(made[k - 1]) + 1) return false;
    }
    return true;
  }

  // ---- the reductions of this process ----

  // Returns the pieces of an instance that this process combines itself.
  std::vector<Exchange::Piece> OwnPieces(size_t instance, const Group& group) const {
    std::vector<Exchange::Piece> own;
    for (size_t k = 0; k < group.process_of_piece.size(); ++k) {
      if (group.process_of_piece[k] != process_) continue;
      Exchange::Piece piece = e_.pieces[instance][k];
      const PlanValueId v = base::At(e_.in, piece.operand);
      piece.source = base::At(layouts_[plan_.values[v].layout].local, piece.source);
      own.push_back(piece);
    }
    return own;
  }
  bool IsHere(const Processes& processes) const {
    return std::binary_search(processes.begin(), processes.end(), process_);
  }
  bool IsDirect(const std::vector<Exchange::Piece>& own) const {
    return own.size() == 1 && IsDense(base::At(e_.boxes, own[0].box));
  }

  void AddWholeReductions() {
    for (size_t i = 0; i < groups_.size(); ++i) {
      for (const Group& group : groups_[i]) {
        if (!IsHere(group.processes)) continue;
        std::vector<Exchange::Piece> own = OwnPieces(i, group);
        Exchange::GroupReduction r{.processes = group.processes, .elements = elements_};
        r.instance = out_.local[i];
        if (IsDirect(own))
          SetSource(r, own[0]);
        else
          SetSum(r, std::move(own));
        e_.reductions.push_back(std::move(r));
      }
    }
  }

  void AddScatters() {
    for (const auto& [processes, made] : made_) {
      if (!IsHere(processes)) continue;
      std::vector<std::vector<Exchange::Piece>> own;
      for (const Made& m : made) own.push_back(OwnPieces(base::Size(m.instance), *m.group));
      const auto each = static_cast<int64_t>(made.size() / processes.size());
      Exchange::GroupReduction r{.processes = processes, .scatters = true};
      r.elements = elements_ * each;
      r.instances = static_cast<int32_t>(each);
      const auto mine = std::find_if(made.begin(), made.end(),
                                     [&](const Made& m) { return m.process == process_; });
      r.instance = base::At(out_.local, mine->instance);
      if (AreNeighbours(own)) {
        SetSource(r, own[0][0]);
      } else {
        SetSum(r, std::move(own[0]));
        for (size_t k = 1; k < own.size(); ++k) sums_.pieces.push_back(std::move(own[k]));
      }
      e_.reductions.push_back(std::move(r));
    }
  }

  // Whether each part is one dense piece, and the parts follow each other in one operand.
  bool AreNeighbours(const std::vector<std::vector<Exchange::Piece>>& own) const {
    for (size_t k = 0; k < own.size(); ++k) {
      if (!IsDirect(own[k])) return false;
      const Exchange::Piece &first = own[0][0], &piece = own[k][0];
      if (piece.operand != first.operand || piece.source != first.source) return false;
      if (piece.in_offset != first.in_offset + static_cast<int64_t>(k) * elements_) return false;
    }
    return true;
  }

  static void SetSource(Exchange::GroupReduction& r, const Exchange::Piece& piece) {
    r.operand = piece.operand;
    r.source = piece.source;
    r.in_offset = piece.in_offset;
  }
  // The source is an instance of the value with the sums of this process.
  void SetSum(Exchange::GroupReduction& r, std::vector<Exchange::Piece> own) {
    r.operand = static_cast<int32_t>(e_.in.size());
    r.source = static_cast<int32_t>(sums_.pieces.size());
    sums_.pieces.push_back(std::move(own));
  }

  // Adds the exchange that combines the sources of this process.
  void AddSums(std::vector<Node>& before) {
    sums_.in = e_.in;
    sums_.dtype = e_.dtype;
    sums_.computed_from = e_.computed_from;
    sums_.boxes = e_.boxes;
    sums_.combine = e_.combine;
    sums_.in_one_block = true;
    sums_.note = e_.note;
    const PlanLayoutId layout = plan_.layouts.Add(
        PrivateLayout(plan_.layouts[plan_.values[e_.out].layout], sums_.pieces.size()));
    sums_.out = plan_.values.Add({.kind = ValueKind::kTemp,
                                  .layout = layout,
                                  .bytes = plan_.values[e_.out].bytes,
                                  .data = nullptr});
    e_.in.push_back(sums_.out);
    before.emplace_back(std::move(sums_));
    layouts_.Add({});
  }

  Exchange& e_;
  Plan& plan_;
  WholeLayouts& layouts_;
  const WholeLayout out_;
  const int32_t process_;
  const int64_t elements_;                  // of an instance of the result
  std::vector<std::vector<Group>> groups_;  // by instance of the result
  std::map<Processes, std::vector<Made>> made_;
  Exchange sums_;
};

}  // namespace

bool ReduceOverProcesses(Exchange& exchange, Plan& plan, WholeLayouts& layouts, int32_t process,
                         std::vector<Node>& before) {
  return Reducer(exchange, plan, layouts, process).Run(before);
}

}  // namespace tessera::plan

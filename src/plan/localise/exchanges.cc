// Receives boxes of other processes in the result, or in a value of their own.
#include "plan/localise/exchanges.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

#include "base/at.h"
#include "plan/localise/reductions.h"

namespace tessera::plan {
namespace {

// The elements that a box touches in an operand: [least, past), counted from its start.
struct Touched {
  int64_t least = 0, past = 0;
};
Touched TouchedBy(const Box& box) {
  Touched touched{0, 1};
  for (size_t d = 0; d < box.extents.size(); ++d) {
    if (box.extents[d] == 0) return {};
    const int64_t last = (box.extents[d] - 1) * box.in_strides[d];
    (last < 0 ? touched.least : touched.past) += last;
  }
  return touched;
}

class ExchangeLocaliser {
 public:
  ExchangeLocaliser(Exchange& e, Plan& plan, WholeLayouts& layouts, const Hosts& hosts)
      : e_(e), plan_(plan), layouts_(layouts), process_(hosts.process), lands_(LandsInResult()) {
    staging_.in = e.in;
    staging_.dtype = e.computed_from.value_or(e.dtype);
    staging_.boxes = e.boxes;
    staging_.note = e.note;
    staging_.receives_as_sent = true;
    for (Box& box : staging_.boxes) box.copy = {};
  }

  void Run(std::vector<Node>& before) {
    const auto whole = std::exchange(e_.pieces, {});
    const WholeLayout& out = LayoutOf(e_.out);
    for (size_t i = 0; i < whole.size(); ++i) {
      instance_ = out.local[i];
      if (instance_ != kElsewhere) e_.pieces.emplace_back();
      for (const Exchange::Piece& piece : whole[i]) {
        if (ElementsOf(base::At(e_.boxes, piece.box)) == 0) continue;
        for (int32_t process : out.hosts[i]) Bring(piece, process);
      }
    }
    if (staging_.sends.empty() && staging_.receives.empty()) return;
    AddStaging();
    before.emplace_back(std::move(staging_));
  }

 private:
  const WholeLayout& LayoutOf(PlanValueId v) const { return layouts_[plan_.values[v].layout]; }
  const WholeLayout& LayoutOf(const Exchange::Piece& piece) const {
    return LayoutOf(base::At(e_.in, piece.operand));
  }

  // Whether boxes of other processes can be received at their place in the result.
  bool LandsInResult() const {
    if (e_.combine || e_.computed_from) return false;
    for (const Box& box : e_.boxes)
      if (box.copy.fn) return false;
    const int64_t elements = plan_.values[e_.out].bytes / std::max<int64_t>(e_.dtype.size(), 1);
    for (const std::vector<Exchange::Piece>& pieces : e_.pieces) {
      int64_t covered = 0;
      for (const Exchange::Piece& piece : pieces)
        covered += ElementsOf(base::At(e_.boxes, piece.box));
      if (covered != elements) return false;
    }
    return true;
  }

  // Brings a piece of the current instance to a process that has the instance.
  void Bring(const Exchange::Piece& piece, int32_t process) {
    const WholeLayout& in = LayoutOf(piece);
    const bool here = process == process_;
    if (in.Has(process, piece.source)) {
      if (here) e_.pieces.back().push_back(Local(piece));
      return;
    }
    const std::vector<int32_t>& hosts = base::At(in.hosts, piece.source);
    const int32_t sender = base::At(hosts, process % static_cast<int32_t>(hosts.size()));
    auto& staged = staged_[process];
    const auto [at, is_new] =
        staged.try_emplace({piece.operand, piece.source, piece.in_offset, piece.box},
                           static_cast<int32_t>(staged.size()));
    if ((lands_ || is_new) && sender == process_) Send(piece, process);
    if (!here) return;
    if (lands_)
      e_.receives.push_back(
          {.process = sender, .instance = instance_, .offset = piece.out_offset, .box = piece.box});
    else
      e_.pieces.back().push_back(Staged(piece, sender, at->second, is_new));
  }

  Exchange::Piece Local(Exchange::Piece piece) const {
    piece.source = base::At(LayoutOf(piece).local, piece.source);
    return piece;
  }

  void Send(const Exchange::Piece& piece, int32_t to) {
    (lands_ ? e_ : staging_)
        .sends.push_back({.process = to,
                          .instance = Local(piece).source,
                          .offset = piece.in_offset,
                          .box = piece.box,
                          .operand = piece.operand});
  }

  // Returns the piece that reads instance `number` of the staging value instead.
  Exchange::Piece Staged(const Exchange::Piece& piece, int32_t sender, int32_t number,
                         bool is_new) {
    const int64_t start = -TouchedBy(base::At(e_.boxes, piece.box)).least;
    if (is_new)
      staging_.receives.push_back(
          {.process = sender, .instance = number, .offset = start, .box = piece.box});
    return {.source = number,
            .in_offset = start,
            .out_offset = piece.out_offset,
            .box = piece.box,
            .operand = static_cast<int32_t>(e_.in.size())};
  }

  // Adds the value that receives, and makes it the last operand of the exchange.
  void AddStaging() {
    int64_t elements = 0;
    for (const Exchange::Message& m : staging_.receives) {
      const Touched touched = TouchedBy(base::At(e_.boxes, m.box));
      elements = std::max(elements, touched.past - touched.least);
    }
    const PlanLayoutId layout = plan_.layouts.Add(
        PrivateLayout(plan_.layouts[plan_.values[e_.out].layout], staging_.receives.size()));
    layouts_.Add({});
    staging_.out = plan_.values.Add({.kind = ValueKind::kTemp,
                                     .layout = layout,
                                     .bytes = elements * staging_.dtype.size(),
                                     .data = nullptr});
    staging_.pieces.resize(staging_.receives.size());
    e_.in.push_back(staging_.out);
  }

  // The pieces that a process receives apart from the result, and their number:
  // (operand, source, offset, box).
  using StagedPieces = std::map<std::tuple<int32_t, int32_t, int64_t, int32_t>, int32_t>;

  Exchange& e_;
  Plan& plan_;
  WholeLayouts& layouts_;
  const int32_t process_;
  const bool lands_;
  Exchange staging_;
  std::map<int32_t, StagedPieces> staged_;  // by process
  int32_t instance_ = kElsewhere;           // the current instance of the result
};

}  // namespace

void LocaliseExchange(Exchange& exchange, Plan& plan, WholeLayouts& layouts, const Hosts& hosts,
                      std::vector<Node>& before) {
  if (exchange.combine && !hosts.keeps_order &&
      ReduceOverProcesses(exchange, plan, layouts, hosts.process, before))
    return;
  ExchangeLocaliser(exchange, plan, layouts, hosts).Run(before);
}

}  // namespace tessera::plan

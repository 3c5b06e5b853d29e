// Keeps the instances of this process in layouts, constants, exchanges and host calls.
#include "plan/localise.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <tuple>
#include <utility>

#include "base/at.h"

namespace tessera::plan {
namespace {

constexpr int32_t kElsewhere = -1;

// A layout of all processes.
struct WholeLayout {
  std::vector<std::vector<int32_t>> hosts;  // of each instance, ascending
  std::vector<int32_t> local;               // number of each instance here, or kElsewhere
};

int64_t Elements(const Box& box) {
  int64_t elements = 1;
  for (int64_t extent : box.extents) elements *= extent;
  return elements;
}

// The elements that a box touches in an operand: [least, past), counted from its start.
struct Span {
  int64_t least = 0, past = 0;
};
Span SpanOf(const Box& box) {
  Span span{0, 1};
  for (size_t d = 0; d < box.extents.size(); ++d) {
    if (box.extents[d] == 0) return {};
    const int64_t last = (box.extents[d] - 1) * box.in_strides[d];
    (last < 0 ? span.least : span.past) += last;
  }
  return span;
}

class Localiser {
 public:
  Localiser(Plan& plan, const Hosts& hosts) : plan_(plan), hosts_(hosts) {}

  void Run() {
    for (Layout& layout : plan_.layouts) LocaliseLayout(layout);
    for (PlanValue& value : plan_.values)
      if (value.kind == ValueKind::kConstant) LocaliseConstant(value);
    LocaliseNodes(plan_.nodes);
  }

 private:
  const WholeLayout& LayoutOf(PlanValueId v) const { return whole_[plan_.values[v].layout]; }

  void LocaliseLayout(Layout& layout) {
    WholeLayout whole;
    whole.hosts.resize(base::Size(layout.instances));
    whole.local.assign(base::Size(layout.instances), kElsewhere);
    std::vector<int32_t> first(base::Size(layout.instances), -1);  // device of this process
    for (size_t d = 0; d < layout.instance_of_device.size(); ++d) {
      const int32_t process = hosts_.process_of_device[d];
      if (process == Hosts::kNobody) continue;
      const auto i = base::Size(layout.instance_of_device[d]);
      whole.hosts[i].push_back(process);
      if (process == hosts_.process && first[i] < 0) first[i] = static_cast<int32_t>(d);
    }
    layout.device_of_instance.clear();
    for (size_t i = 0; i < whole.hosts.size(); ++i) {
      std::sort(whole.hosts[i].begin(), whole.hosts[i].end());
      whole.hosts[i].erase(std::unique(whole.hosts[i].begin(), whole.hosts[i].end()),
                           whole.hosts[i].end());
      if (first[i] < 0) continue;
      whole.local[i] = static_cast<int32_t>(layout.device_of_instance.size());
      layout.device_of_instance.push_back(first[i]);
    }
    for (size_t d = 0; d < layout.instance_of_device.size(); ++d) {
      int32_t& instance = layout.instance_of_device[d];
      instance = hosts_.process_of_device[d] == hosts_.process ? base::At(whole.local, instance)
                                                               : kElsewhere;
    }
    layout.instances = static_cast<int32_t>(layout.device_of_instance.size());
    whole_.Add(std::move(whole));
  }

  void LocaliseConstant(PlanValue& value) {
    const std::vector<int32_t>& local = whole_[value.layout].local;
    const int32_t instances = plan_.layouts[value.layout].instances;
    if (static_cast<size_t>(instances) == local.size() || value.bytes == 0) return;
    auto kept = std::make_shared<std::vector<std::byte>>(base::Size(instances * value.bytes));
    for (size_t i = 0; i < local.size(); ++i) {
      if (local[i] == kElsewhere) continue;
      std::memcpy(kept->data() + local[i] * value.bytes,
                  value.data.get() + static_cast<int64_t>(i) * value.bytes,
                  base::Size(value.bytes));
    }
    value.data = {kept, kept->data()};
  }

  void LocaliseNodes(std::vector<Node>& nodes) {
    std::vector<Node> kept;
    for (Node& node : nodes) {
      if (auto* loop = std::get_if<Loop>(&node)) {
        LocaliseNodes(loop->condition);
        LocaliseNodes(loop->body);
      }
      if (auto* branches = std::get_if<Switch>(&node))
        for (std::vector<Node>& branch : branches->branches) LocaliseNodes(branch);
      if (auto* call = std::get_if<HostCall>(&node)) LocaliseCall(*call);
      if (auto* exchange = std::get_if<Exchange>(&node)) {
        if (auto staging = LocaliseExchange(*exchange)) kept.emplace_back(std::move(*staging));
      }
      kept.push_back(std::move(node));
    }
    nodes = std::move(kept);
  }

  // The function gets a buffer for each instance of all processes; null: it is elsewhere.
  void LocaliseCall(HostCall& call) const {
    std::vector<std::vector<int32_t>> local;
    for (PlanValueId v : call.in) local.push_back(LayoutOf(v).local);
    call.function = [function = std::move(call.function), local](const HostBuffers& here) {
      HostBuffers all{.in = {}, .iterations = here.iterations};
      for (size_t k = 0; k < local.size(); ++k) {
        std::vector<const std::byte*>& buffers = all.in.emplace_back();
        for (int32_t i : local[k])
          buffers.push_back(i == kElsewhere ? nullptr : base::At(here.in[k], i));
      }
      function(all);
    };
  }

  // ---- exchanges ----

  // Returns the process that sends an instance of an operand to `process`, which does not have it.
  int32_t SenderOf(const Exchange& e, const Exchange::Piece& piece, int32_t process) const {
    const std::vector<int32_t>& hosts =
        base::At(LayoutOf(base::At(e.in, piece.operand)).hosts, piece.source);
    return base::At(hosts, process % static_cast<int32_t>(hosts.size()));
  }
  bool Has(int32_t process, const Exchange& e, const Exchange::Piece& piece) const {
    const std::vector<int32_t>& hosts =
        base::At(LayoutOf(base::At(e.in, piece.operand)).hosts, piece.source);
    return std::binary_search(hosts.begin(), hosts.end(), process);
  }

  // Whether boxes of other processes can be received at their place in the result.
  bool LandsInResult(const Exchange& e) const {
    if (e.combine || e.computed_from) return false;
    for (const Box& box : e.boxes)
      if (box.copy.fn) return false;
    const int64_t elements = plan_.values[e.out].bytes / std::max<int64_t>(e.dtype.size(), 1);
    for (const std::vector<Exchange::Piece>& pieces : e.pieces) {
      int64_t covered = 0;
      for (const Exchange::Piece& piece : pieces) covered += Elements(base::At(e.boxes, piece.box));
      if (covered != elements) return false;
    }
    return true;
  }

  // Keeps the part of this process. If boxes of other processes cannot be received in the result,
  // returns an exchange that receives them in a value of its own; it runs first.
  std::optional<Exchange> LocaliseExchange(Exchange& e) {
    const bool lands = LandsInResult(e);
    Exchange staging{.in = e.in,
                     .dtype = e.computed_from.value_or(e.dtype),
                     .boxes = e.boxes,
                     .pieces = {},
                     .note = e.note};
    staging.receives_as_sent = true;
    for (Box& box : staging.boxes) box.copy = {};
    Exchange& carrier = lands ? e : staging;
    const WholeLayout& out = LayoutOf(e.out);
    // The staged pieces of each process: (operand, source, offset, box), and their number.
    std::map<int32_t, std::map<std::tuple<int32_t, int32_t, int64_t, int32_t>, int32_t>> staged;
    std::vector<std::vector<Exchange::Piece>> kept;
    const auto whole = std::exchange(e.pieces, {});
    for (size_t i = 0; i < whole.size(); ++i) {
      if (out.local[i] != kElsewhere) kept.emplace_back();
      for (const Exchange::Piece& piece : whole[i]) {
        if (Elements(base::At(e.boxes, piece.box)) == 0) continue;
        for (int32_t process : out.hosts[i]) {
          const bool here = process == hosts_.process;
          if (Has(process, e, piece)) {
            if (here) kept.back().push_back(Local(e, piece));
            continue;
          }
          const int32_t sender = SenderOf(e, piece, process);
          auto& of_process = staged[process];
          const auto number = static_cast<int32_t>(of_process.size());
          const auto [at, is_new] = of_process.try_emplace(
              {piece.operand, piece.source, piece.in_offset, piece.box}, number);
          const bool moves = lands || is_new;
          if (moves && sender == hosts_.process) Send(e, piece, process, carrier);
          if (!here) continue;
          if (lands)
            e.receives.push_back({.process = sender,
                                  .instance = out.local[i],
                                  .offset = piece.out_offset,
                                  .box = piece.box});
          else
            kept.back().push_back(Staged(e, piece, sender, at->second, is_new, staging));
        }
      }
    }
    e.pieces = std::move(kept);
    if (lands || (staging.sends.empty() && staging.receives.empty())) return std::nullopt;
    AddStaging(e, staging);
    return staging;
  }

  Exchange::Piece Local(const Exchange& e, Exchange::Piece piece) const {
    piece.source = base::At(LayoutOf(base::At(e.in, piece.operand)).local, piece.source);
    return piece;
  }

  void Send(const Exchange& e, const Exchange::Piece& piece, int32_t to, Exchange& carrier) const {
    const Exchange::Piece local = Local(e, piece);
    carrier.sends.push_back({.process = to,
                             .instance = local.source,
                             .offset = piece.in_offset,
                             .box = piece.box,
                             .operand = piece.operand});
  }

  // Returns the piece that reads instance `number` of the staging value instead.
  static Exchange::Piece Staged(const Exchange& e, const Exchange::Piece& piece, int32_t sender,
                                int32_t number, bool is_new, Exchange& staging) {
    const int64_t start = -SpanOf(base::At(e.boxes, piece.box)).least;
    if (is_new)
      staging.receives.push_back(
          {.process = sender, .instance = number, .offset = start, .box = piece.box});
    return {.source = number,
            .in_offset = start,
            .out_offset = piece.out_offset,
            .box = piece.box,
            .operand = static_cast<int32_t>(e.in.size())};
  }

  // Adds the value that receives, and makes it the last operand of the exchange.
  void AddStaging(Exchange& e, Exchange& staging) {
    int64_t elements = 0;
    for (const Exchange::Message& m : staging.receives) {
      const Span span = SpanOf(base::At(e.boxes, m.box));
      elements = std::max(elements, span.past - span.least);
    }
    Layout layout = plan_.layouts[plan_.values[e.out].layout];
    const int32_t device = layout.device_of_instance.empty() ? 0 : layout.device_of_instance[0];
    layout.instances = static_cast<int32_t>(staging.receives.size());
    layout.device_of_instance.assign(staging.receives.size(), device);
    std::fill(layout.instance_of_device.begin(), layout.instance_of_device.end(), kElsewhere);
    const PlanLayoutId id = plan_.layouts.Add(std::move(layout));
    whole_.Add({});
    staging.out = plan_.values.Add({.kind = ValueKind::kTemp,
                                    .layout = id,
                                    .bytes = elements * staging.dtype.size(),
                                    .data = nullptr});
    staging.pieces.resize(staging.receives.size());
    e.in.push_back(staging.out);
    e.joined = false;
  }

  Plan& plan_;
  const Hosts& hosts_;
  base::IdVector<PlanLayoutId, WholeLayout> whole_;
};

}  // namespace

Plan Localise(Plan plan, const Hosts& hosts) {
  const bool takes_part = std::find(hosts.process_of_device.begin(), hosts.process_of_device.end(),
                                    hosts.process) != hosts.process_of_device.end();
  if (!takes_part) {
    // Results that nothing makes have no instance here, as if they were constants.
    plan.nodes.clear();
    for (PlanValueId v : plan.outputs)
      if (plan.values[v].kind != ValueKind::kInput) plan.values[v].kind = ValueKind::kConstant;
  }
  Localiser(plan, hosts).Run();
  return plan;
}

}  // namespace tessera::plan

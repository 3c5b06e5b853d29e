#include <algorithm>
#include <limits>

#include "runtime/memory_plan.h"

namespace tessera::runtime {
namespace {

class Analyser {
 public:
  explicit Analyser(const plan::Plan& plan) : plan_(plan) {
    flow_.lives.resize(plan.values.size());
  }

  Flow Run() {
    for (const plan::Node& node : plan_.nodes) {
      if (const auto* segment = std::get_if<plan::Segment>(&node)) AddSegment(*segment);
      else AddExchange(std::get<plan::Exchange>(node));
    }
    for (int32_t v : plan_.outputs) {
      flow_.lives[v].output = true;
      flow_.lives[v].last_node = std::numeric_limits<int32_t>::max();
    }
    return std::move(flow_);
  }

 private:
  // Steps of different layouts do not feed each other inside a segment, so each layout gets a
  // node of its own; where they do all the same, the segment is cut.
  void AddSegment(const plan::Segment& segment) {
    begin_ = flow_.nodes.size();
    for (const plan::Step& step : segment.steps) {
      if (ReadsOtherLayout(step)) begin_ = flow_.nodes.size();
      const size_t node = NodeOf(step.layout);
      flow_.nodes[node].steps.push_back(&step);
      const auto at = static_cast<int32_t>(flow_.nodes[node].steps.size()) - 1;
      for (int32_t v : step.in) Read(v, static_cast<int32_t>(node), at);
      for (int32_t v : step.out) Make(v, static_cast<int32_t>(node), at);
    }
  }

  void AddExchange(const plan::Exchange& exchange) {
    const auto node = static_cast<int32_t>(flow_.nodes.size());
    flow_.nodes.push_back({&exchange, plan_.values[exchange.out].layout, {}});
    Read(exchange.in, node, 0);
    Make(exchange.out, node, 0);
  }

  bool ReadsOtherLayout(const plan::Step& step) const {
    for (int32_t v : step.in) {
      const int32_t node = flow_.lives[v].made_node;
      if (node >= static_cast<int32_t>(begin_) && flow_.nodes[node].layout != step.layout) {
        return true;
      }
    }
    return false;
  }

  size_t NodeOf(int32_t layout) {
    for (size_t n = begin_; n < flow_.nodes.size(); ++n) {
      if (flow_.nodes[n].layout == layout) return n;
    }
    flow_.nodes.push_back({nullptr, layout, {}});
    return flow_.nodes.size() - 1;
  }

  void Read(int32_t value, int32_t node, int32_t step) {
    Life& life = flow_.lives[value];
    if (node < life.last_node) return;
    life.last_step = node == life.last_node ? std::max(life.last_step, step) : step;
    life.last_node = node;
  }

  void Make(int32_t value, int32_t node, int32_t step) {
    Life& life = flow_.lives[value];
    life.made_node = life.last_node = node;
    life.made_step = life.last_step = step;
  }

  const plan::Plan& plan_;
  Flow flow_;
  size_t begin_ = 0;  // first node that may still get steps
};

}  // namespace

Flow Analyse(const plan::Plan& plan) { return Analyser(plan).Run(); }

}  // namespace tessera::runtime

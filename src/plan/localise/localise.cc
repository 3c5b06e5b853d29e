// Keeps the instances of this process in layouts, constants and host calls.
#include "plan/localise/localise.h"

#include <algorithm>
#include <cstring>
#include <iterator>
#include <utility>

#include "base/at.h"
#include "plan/localise/exchanges.h"
#include "plan/localise/whole_layouts.h"

namespace tessera::plan {
namespace {

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
    size_t joined_at = 0;  // the first of the exchanges that run as one
    for (Node& node : nodes) {
      if (auto* loop = std::get_if<Loop>(&node)) {
        LocaliseNodes(loop->condition);
        LocaliseNodes(loop->body);
      }
      if (auto* branches = std::get_if<Switch>(&node))
        for (std::vector<Node>& branch : branches->branches) LocaliseNodes(branch);
      if (auto* call = std::get_if<HostCall>(&node)) LocaliseCall(*call);
      if (auto* exchange = std::get_if<Exchange>(&node)) {
        if (!exchange->joined) joined_at = kept.size();
        std::vector<Node> before;
        LocaliseExchange(*exchange, plan_, whole_, hosts_, before);
        kept.insert(kept.begin() + static_cast<std::ptrdiff_t>(joined_at),
                    std::make_move_iterator(before.begin()), std::make_move_iterator(before.end()));
        joined_at += before.size();
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

  Plan& plan_;
  const Hosts& hosts_;
  WholeLayouts whole_;
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

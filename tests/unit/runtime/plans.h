// Hand-written plans and kernels for the tests of the runtime.
#pragma once
#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <memory>
#include <numeric>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "plan/localise/localise.h"
#include "runtime/buffers.h"
#include "runtime/prepare.h"
#include "runtime/run.h"
#include "runtime/transport.h"

namespace tessera::runtime {

// ---- kernels on f32 -----------------------------------------------------------------------------

struct MapConfig {
  int64_t elements = 0;
  float value = 0;
  int32_t bad_device = -1;  // throws on this device
};

inline std::pair<int64_t, int64_t> Share(const plan::KernelArgs& call, int64_t n) {
  return {n * call.part / call.parts, n * (call.part + 1) / call.parts};
}

// out = in[0] + value
inline void AddValue(const plan::KernelArgs& call) {
  const auto& config = *static_cast<const MapConfig*>(call.config);
  if (call.device == config.bad_device) throw std::runtime_error("bad device");
  const auto* in = reinterpret_cast<const float*>(call.in[0]);
  auto* out = reinterpret_cast<float*>(call.out[0]);
  auto [begin, end] = Share(call, config.elements);
  for (int64_t i = begin; i < end; ++i) out[i] = in[i] + config.value;
}

// out = in[0] * value + in[1]
inline void MulAdd(const plan::KernelArgs& call) {
  const auto& config = *static_cast<const MapConfig*>(call.config);
  const auto* a = reinterpret_cast<const float*>(call.in[0]);
  const auto* b = reinterpret_cast<const float*>(call.in[1]);
  auto* out = reinterpret_cast<float*>(call.out[0]);
  auto [begin, end] = Share(call, config.elements);
  for (int64_t i = begin; i < end; ++i) out[i] = a[i] * config.value + b[i];
}

// out = device + value, through the scratch
inline void DeviceNumber(const plan::KernelArgs& call) {
  const auto& config = *static_cast<const MapConfig*>(call.config);
  auto* scratch = reinterpret_cast<float*>(call.scratch);
  auto* out = reinterpret_cast<float*>(call.out[0]);
  auto [begin, end] = Share(call, config.elements);
  for (int64_t i = begin; i < end; ++i) scratch[i] = static_cast<float>(call.device) + config.value;
  for (int64_t i = begin; i < end; ++i) out[i] = scratch[i];
}

inline plan::Kernel MakeKernel(plan::KernelFn fn, MapConfig config, uint64_t in_place = 0) {
  plan::Kernel kernel;
  kernel.fn = fn;
  kernel.bytes = static_cast<double>(config.elements) * 8;
  kernel.scratch_bytes = fn == DeviceNumber ? config.elements * 4 : 0;
  kernel.max_parts = 16;
  kernel.in_place = in_place;
  kernel.config = std::make_shared<const MapConfig>(config);
  return kernel;
}

// ---- plans --------------------------------------------------------------------------------------

// Device d belongs to instance d / group, or to d % instances if `cyclic`.
inline plan::Layout MakeLayout(int32_t devices, int32_t instances, bool cyclic = false) {
  plan::Layout layout;
  layout.instances = instances;
  layout.device_of_instance.assign(instances, -1);
  for (int32_t d = 0; d < devices; ++d) {
    const int32_t i = cyclic ? d % instances : d / (devices / instances);
    layout.instance_of_device.push_back(i);
    if (layout.device_of_instance[i] < 0) layout.device_of_instance[i] = d;
  }
  return layout;
}

// Layout 0 has one instance per device, layout 1 one instance for all.
inline constexpr plan::PlanLayoutId kPerDevice{0}, kShared{1};

struct PlanBuilder {
  plan::Plan plan;

  explicit PlanBuilder(int32_t devices) {
    plan.devices = devices;
    plan.layouts = {MakeLayout(devices, devices), MakeLayout(devices, 1)};
  }
  plan::PlanLayoutId AddLayout(plan::Layout layout) { return plan.layouts.Add(std::move(layout)); }
  plan::PlanValueId Value(int64_t bytes, plan::PlanLayoutId layout,
                          plan::ValueKind kind = plan::ValueKind::kTemp) {
    return plan.values.Add({kind, layout, bytes, nullptr});
  }
  plan::PlanValueId Input(int64_t bytes, plan::PlanLayoutId layout, bool donated = false) {
    plan.inputs.push_back({Value(bytes, layout, plan::ValueKind::kInput), donated});
    return plan.inputs.back().value;
  }
  void Output(plan::PlanValueId value) {
    if (plan.values[value].kind == plan::ValueKind::kTemp) {
      plan.values[value].kind = plan::ValueKind::kOutput;
    }
    plan.outputs.push_back(value);
  }
  void Segment() { plan.nodes.emplace_back(std::in_place_type<plan::Segment>); }
  void AddStep(plan::Kernel kernel, std::vector<plan::PlanValueId> in, plan::PlanValueId out) {
    plan::Step step;
    step.kernel = std::move(kernel);
    step.layout = plan.values[out].layout;
    step.in = std::move(in);
    step.out.push_back(out);
    std::get<plan::Segment>(plan.nodes.back()).steps.push_back(std::move(step));
  }
  plan::Step& LastStep() { return std::get<plan::Segment>(plan.nodes.back()).steps.back(); }
  // Adds a value and a step that sets it to fn(in...).
  plan::PlanValueId Apply(plan::KernelFn fn, std::vector<plan::PlanValueId> in, float value,
                          int64_t bytes, plan::PlanLayoutId layout, uint64_t in_place = 0) {
    const plan::PlanValueId out = Value(bytes, layout);
    AddStep(MakeKernel(fn, {bytes / 4, value}, in_place), std::move(in), out);
    return out;
  }
  plan::PlanValueId AddExchange(plan::Exchange exchange, std::vector<plan::PlanValueId> in,
                                int64_t bytes, plan::PlanLayoutId layout) {
    exchange.in = std::move(in);
    exchange.out = Value(bytes, layout);
    plan.nodes.push_back(exchange);
    return exchange.out;
  }
  plan::PlanValueId AddExchange(plan::Exchange exchange, plan::PlanValueId in, int64_t bytes,
                                plan::PlanLayoutId layout) {
    return AddExchange(std::move(exchange), std::vector<plan::PlanValueId>{in}, bytes, layout);
  }
};

// ---- several processes -------------------------------------------------------------------------

// A plan, and the part of it that this process runs. The devices are split over the processes.
class SharedPlan {
 public:
  explicit SharedPlan(const plan::Plan& whole, bool keeps_order = true) : plan(whole) {
    const Transport* transport = TheTransport();
    const int32_t processes = transport ? transport->processes() : 1;
    hosts_.process = transport ? transport->process() : 0;
    hosts_.keeps_order = keeps_order;
    for (int32_t d = 0; d < whole.devices; ++d)
      hosts_.process_of_device.push_back(d * processes / whole.devices);
    if (processes > 1) plan = plan::Localise(whole, hosts_);
  }
  // Returns the items of the instances that this process has.
  template <class T>
  std::vector<T> Here(const plan::Plan& whole, plan::PlanValueId v, std::vector<T> items) const {
    const plan::Layout& layout = whole.layouts[whole.values[v].layout];
    std::vector<T> here;
    for (int32_t i = 0; i < layout.instances; ++i)
      for (int32_t d = 0; d < whole.devices; ++d) {
        if (layout.instance_of_device[d] != i || hosts_.process_of_device[d] != hosts_.process)
          continue;
        here.push_back(std::move(items[i]));
        break;
      }
    return here;
  }

  plan::Plan plan;

 private:
  plan::Hosts hosts_;
};

// ---- exchanges --------------------------------------------------------------------------------

inline plan::Exchange Dense(DType dtype, int64_t elements) {
  plan::Exchange e;
  e.dtype = dtype;
  e.boxes = {{{elements}, {1}, {1}}};
  return e;
}

// The combine function of these tests, for f32.
inline void Sum(const std::byte* const* src, int k, std::byte* dst, int64_t n, bool) {
  for (int64_t i = 0; i < n; ++i) {
    float sum = 0;
    for (int j = 0; j < k; ++j) sum += reinterpret_cast<const float*>(src[j])[i];
    reinterpret_cast<float*>(dst)[i] = sum;
  }
}

// Sums all instances of `elements`; `results` instances get the sum.
inline plan::Exchange AllReduce(int32_t devices, int32_t results, DType dtype, int64_t elements) {
  plan::Exchange e = Dense(dtype, elements);
  e.combine = Sum;
  e.pieces.resize(results);
  for (auto& pieces : e.pieces) {
    for (int32_t d = 0; d < devices; ++d) pieces.push_back({d, 0, 0});
  }
  return e;
}

// Gathers [rows, cols] per device along dim 0 or 1 into `results` instances.
inline plan::Exchange AllGather(int32_t devices, int32_t results, DType dtype, int64_t rows,
                                int64_t cols, int dim) {
  plan::Exchange e = Dense(dtype, rows * cols);
  if (dim == 1) {
    e.boxes = {{{rows, cols}, {cols, 1}, {cols * devices, 1}}};
  }
  e.pieces.resize(results);
  for (auto& pieces : e.pieces) {
    for (int32_t d = 0; d < devices; ++d) {
      pieces.push_back({d, 0, d * (dim == 0 ? rows * cols : cols)});
    }
  }
  return e;
}

// Reduces [rows * devices, cols] per device, and scatters row blocks or column blocks of the sum.
inline plan::Exchange ReduceScatter(int32_t devices, DType dtype, int64_t rows, int64_t cols,
                                    int dim) {
  plan::Exchange e = Dense(dtype, rows * cols);
  if (dim == 1) {
    e.boxes = {{{rows, cols}, {cols * devices, 1}, {cols, 1}}};
  }
  e.combine = Sum;
  e.pieces.resize(devices);
  for (int32_t i = 0; i < devices; ++i) {
    for (int32_t d = 0; d < devices; ++d) {
      e.pieces[i].push_back({d, i * (dim == 0 ? rows * cols : cols), 0});
    }
  }
  return e;
}

// [rows * devices, cols] per device -> [rows, cols * devices]: splits dim 0 and joins dim 1.
inline plan::Exchange AllToAll(int32_t devices, DType dtype, int64_t rows, int64_t cols) {
  plan::Exchange e = Dense(dtype, rows * cols);
  e.boxes = {{{rows, cols}, {cols, 1}, {cols * devices, 1}}};
  e.pieces.resize(devices);
  for (int32_t i = 0; i < devices; ++i) {
    for (int32_t d = 0; d < devices; ++d) e.pieces[i].push_back({d, i * rows * cols, d * cols});
  }
  return e;
}

// Instance i gets the buffer of sources[i]; -1: none.
inline plan::Exchange Permute(DType dtype, int64_t elements, const std::vector<int32_t>& sources) {
  plan::Exchange e = Dense(dtype, elements);
  for (int32_t source : sources) {
    e.pieces.emplace_back();
    if (source >= 0) e.pieces.back().push_back({source, 0, 0});
  }
  return e;
}

// The elements of each instance of a value.
using Values = std::vector<std::vector<float>>;

// Calls f(input element, output element) for all elements of the box.
template <class F>
void ForBox(const plan::Box& box, F f) {
  int64_t total = 1;
  for (int64_t extent : box.extents) total *= extent;
  for (int64_t i = 0; i < total; ++i) {
    int64_t rest = i, from = 0, to = 0;
    for (size_t d = box.extents.size(); d-- > 0; rest /= box.extents[d]) {
      from += rest % box.extents[d] * box.in_strides[d];
      to += rest % box.extents[d] * box.out_strides[d];
    }
    f(from, to);
  }
}

inline Values NaiveExchange(const plan::Exchange& e, const std::vector<Values>& in,
                            int64_t out_bytes) {
  Values out(e.pieces.size(), std::vector<float>(out_bytes / 4));
  for (size_t i = 0; i < out.size(); ++i) {
    for (size_t k = 0; k < e.pieces[i].size(); ++k) {
      const auto& p = e.pieces[i][k];
      ForBox(e.boxes[p.box], [&](int64_t from, int64_t to) {
        float& x = out[i][p.out_offset + to];
        x = (e.combine && k > 0 ? x : 0) + in[p.operand][p.source][p.in_offset + from];
      });
    }
  }
  return out;
}
inline Values NaiveExchange(const plan::Exchange& e, const Values& in, int64_t out_bytes) {
  return NaiveExchange(e, std::vector<Values>{in}, out_bytes);
}

// ---- buffers ----------------------------------------------------------------------------------

template <class T>
std::span<T> Elements(const Buffers& buffers, int32_t instance) {
  return {reinterpret_cast<T*>(buffers.at(instance)),
          static_cast<size_t>(buffers.bytes) / sizeof(T)};
}

// Small whole numbers, different for each instance and element, whose f32 sums are exact in
// any order.
inline Buffers MakeInput(int64_t bytes, int32_t instances, int seed = 0) {
  Buffers buffers = Allocate(bytes, instances);
  for (int32_t i = 0; i < instances; ++i) {
    std::span<float> out = Elements<float>(buffers, i);
    for (size_t k = 0; k < out.size(); ++k) {
      out[k] = static_cast<float>((k * 7 + i * 13 + seed * 31) % 101);
    }
  }
  return buffers;
}

inline Values Read(const Buffers& buffers, int32_t instances) {
  Values out;
  for (int32_t i = 0; i < instances; ++i) {
    std::span<const float> in = Elements<const float>(buffers, i);
    out.emplace_back(in.begin(), in.end());
  }
  return out;
}

// Within a TEST, the name Run means gtest's function.
inline Buffers MakeBuffers(const Values& values, int64_t bytes) {
  Buffers out = Allocate(bytes, static_cast<int32_t>(values.size()));
  for (size_t i = 0; i < values.size(); ++i) {
    std::copy(values[i].begin(), values[i].end(),
              Elements<float>(out, static_cast<int32_t>(i)).begin());
  }
  return out;
}

inline std::vector<Buffers> RunPlan(const Executable& executable, std::vector<Buffers> inputs) {
  return Run(executable, std::move(inputs));
}
inline std::vector<Buffers> RunPlan(const plan::Plan& plan, std::vector<Buffers> inputs) {
  return Run(*Prepare(plan), std::move(inputs));
}

// A number of workers. `forced`: treat all work as large. `barriers`: if positive, worker 0 is
// alone from that barrier on.
struct TeamCase {
  int workers;
  bool forced;
  int barriers = 0;
};
inline constexpr TeamCase kTeams[] = {{1, false},   {2, false},  {1, true},    {2, true},
                                      {3, true},    {5, true},   {2, true, 1}, {2, true, 3},
                                      {3, true, 2}, {5, true, 5}};
inline std::string Name(const TeamCase& t) {
  return std::to_string(t.workers) + " workers" + (t.forced ? ", forced" : "") +
         (t.barriers > 0 ? ", until barrier " + std::to_string(t.barriers) : "");
}

// Scope that sets the workers of runs.
class Team {
 public:
  explicit Team(const TeamCase& t) {
    SetWorkerCount(t.workers);
    ForceParallel(t.forced);
    DissolveTeamsAfter(t.barriers);
  }
  Team(int workers, bool forced) : Team(TeamCase{workers, forced}) {}
  ~Team() {
    SetWorkerCount(0);
    ForceParallel(false);
    DissolveTeamsAfter(0);
  }
};

inline void ForAllTeams(void (*check)()) {
  for (const TeamCase& t : kTeams) {
    SCOPED_TRACE(Name(t));
    const Team team(t);
    check();
  }
}

}  // namespace tessera::runtime

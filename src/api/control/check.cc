// check: host calls that throw at the first false element.
#include "tessera/check.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cstring>
#include <optional>

#include "api/control/host_calls.h"
#include "api/core/operands.h"
#include "base/at.h"
#include "base/error.h"
#include "ir/host_tensor.h"
#include "sharding/local.h"

namespace tessera {

using namespace api;

namespace {

thread_local bool checks_are_on = true;

// A part of an array on a device.
struct Part {
  const ir::Type& type;
  base::Shape local;
  explicit Part(const ir::HostArgument& value)
      : type(*value.place), local(sharding::LocalShape(type.shape(), type.sharding())) {}
  // Returns the global index at which the part at mesh position p starts.
  std::vector<int64_t> StartAt(size_t p) const {
    std::vector<int64_t> start(local.size(), 0);
    for (size_t d = 0; d < local.size(); ++d)
      if (const sharding::AxisList& axes = type.sharding().dims[d].axes; !axes.empty())
        start[d] = sharding::ShardIndex(*type.mesh(), axes, static_cast<int64_t>(p)) * local[d];
    return start;
  }
};

struct FalseElement {
  size_t position;  // in the mesh
  std::vector<int64_t> index;
};

// Returns the first false element of a bool array. Padding of shards does not count.
std::optional<FalseElement> FindFalse(const ir::HostArgument& predicate) {
  const Part part(predicate);
  const int64_t count = base::Elements(part.local);
  for (size_t p = 0; p < predicate.shards.size(); ++p) {
    const std::byte* shard = predicate.shards[p];
    if (!shard || !std::memchr(shard, 0, base::Size(count))) continue;
    const std::vector<int64_t> start = part.StartAt(p);
    for (int64_t i = 0; i < count; ++i) {
      if (shard[i] != std::byte{0}) continue;
      std::vector<int64_t> index = ir::CoordsOf(part.local, i);
      bool is_padding = false;
      for (size_t d = 0; d < index.size(); ++d) {
        index[d] += start[d];
        is_padding = is_padding || index[d] >= part.type.shape()[d];
      }
      if (!is_padding) return FalseElement{p, std::move(index)};
    }
  }
  return {};
}

// Returns the text of an element: of the device at the position, if it has it.
std::string ElementText(const ir::HostArgument& value, const FalseElement& at) {
  const Part part(value);
  for (size_t k = 0; k < value.shards.size(); ++k) {
    const size_t p = (at.position + k) % value.shards.size();
    if (!value.shards[p]) continue;
    const std::vector<int64_t> start = part.StartAt(p);
    int64_t flat = 0;
    bool has = true;
    for (size_t d = 0; d < start.size(); ++d) {
      const int64_t i = (part.type.shape()[d] == 1 ? 0 : at.index[d]) - start[d];
      has = has && 0 <= i && i < part.local[d];
      flat = flat * part.local[d] + i;
    }
    if (!has) continue;
    ir::HostTensor element(part.type.dtype(), {});
    const size_t size = element.data.size();
    std::memcpy(element.data.data(), value.shards[p] + base::Size(flat) * size, size);
    if (part.type.dtype().is_complex()) {
      const auto z = element.Complex(0);
      return fmt::format("{:.9g}{:+.9g}i", z.real(), z.imag());
    }
    if (part.type.dtype().is_inexact()) return fmt::format("{:.9g}", element.Float(0));
    return fmt::format("{}", element.Int(0));
  }
  return "of another process";
}

class CheckCall final : public ir::HostFunction {
 public:
  explicit CheckCall(CheckText text) : text_(std::move(text)) {}

  void Run(const ir::HostArguments& arguments) const override {
    const ir::HostArgument& predicate = arguments.values[0];
    const std::optional<FalseElement> found = FindFalse(predicate);
    if (!found) return;
    std::vector<std::string> notes;
    const ir::Type& type = *predicate.place;
    std::string where;
    if (!found->index.empty()) where = fmt::format("element [{}]", fmt::join(found->index, ", "));
    if (arguments.device >= 0 || type.mesh())
      where += fmt::format("{}on device {}", where.empty() ? "" : ", ",
                           arguments.device >= 0
                               ? arguments.device
                               : type.mesh()->Device(static_cast<int64_t>(found->position)));
    if (!where.empty()) notes.push_back(std::move(where));
    if (!arguments.iterations.empty())
      notes.push_back(fmt::format("in iteration {} of the loop{} around it, counted from 0",
                                  fmt::join(arguments.iterations, ", "),
                                  arguments.iterations.size() > 1 ? "s" : ""));
    std::string values;
    for (size_t k = 1; k < arguments.values.size(); ++k)
      values += (k > 1 ? ", " : "values: ") + ElementText(arguments.values[k], *found);
    if (!values.empty()) notes.push_back(std::move(values));
    base::ThrowRuntime({.kind = {},
                        .op = "check",
                        .label = "check",
                        .where = base::Where(text_.loc),
                        .reason = text_.text,
                        .operands = {},
                        .notes = std::move(notes),
                        .fixes = {}});
  }

 private:
  const CheckText text_;
};

void CheckShapes(const ir::Type& predicate, const std::vector<Array>& arrays, Call call) {
  if (!predicate.dtype().is_bool())
    FailDType(call, 1, fmt::format("the predicate is {}, not bool", predicate.text()),
              {"compare it: x > 0"});
  for (size_t k = 1; k < arrays.size(); ++k) {
    const ir::Type& type = *TypeOf(arrays[k]);
    if (type.shape() == predicate.shape() || type.elements() == 1) continue;
    FailShape(
        call, 2,
        fmt::format("value {} is {}, and the predicate {}", k - 1, type.text(), predicate.text()),
        {"give it the shape of the predicate, or one element"});
  }
}

}  // namespace

Checks::Checks(bool on) : old_(checks_are_on) { checks_are_on = on; }
Checks::~Checks() { checks_are_on = old_; }

namespace detail {

void Check(Operand predicate, const CheckText& text, const std::vector<Operand>& values) {
  const Call call{"check", text.loc};
  std::vector<Array> arrays = {ToArray(predicate, call)};
  for (const Operand& value : values) arrays.push_back(ToArray(value, call));
  CheckShapes(*TypeOf(arrays[0]), arrays, call);
  if (!checks_are_on) return;
  CallHost(std::make_shared<const CheckCall>(text), RefsOf(arrays, call), {}, call);
}

}  // namespace detail

}  // namespace tessera

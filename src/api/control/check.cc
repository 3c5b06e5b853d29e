// check: host calls that throw at the first false element.
#include "tessera/check.h"

#include <fmt/format.h>

#include <cstring>
#include <optional>

#include "api/control/host_calls.h"
#include "api/core/operands.h"
#include "base/at.h"
#include "base/error.h"
#include "compile/host/host_array.h"
#include "ir/host_tensor.h"
#include "trace/scopes.h"

namespace tessera {

using namespace api;

namespace {

struct FalseElement {
  size_t position;  // in the mesh
  std::vector<int64_t> index;
};

// Returns the first false element of a bool array.
std::optional<FalseElement> FindFalse(const ir::HostArgument& predicate) {
  const ir::Type& type = *predicate.place;
  for (size_t p = 0; p < predicate.shards.size(); ++p) {
    const std::byte* shard = predicate.shards[p];
    int64_t found = -1;
    if (shard)
      compile::ForEachPiece(type, static_cast<int64_t>(p),
                            [&](int64_t in_whole, int64_t in_shard, int64_t bytes) {
                              if (found >= 0) return;
                              const std::byte* begin = shard + in_shard;
                              if (const void* at = std::memchr(begin, 0, base::Size(bytes)))
                                found = in_whole + (static_cast<const std::byte*>(at) - begin);
                            });
    if (found >= 0)
      return FalseElement{p, ir::CoordsOf({type.shape().begin(), type.shape().end()}, found)};
  }
  return {};
}

// Returns the text of an element: of the device at the position, if it has it.
std::string ElementText(const ir::HostArgument& value, const FalseElement& at) {
  const ir::Type& type = *value.place;
  const DType t = type.dtype();
  int64_t flat = 0;
  for (size_t d = 0; d < type.shape().size(); ++d)
    flat = flat * type.shape()[d] + (type.elements() == 1 ? 0 : at.index[d]);
  const int64_t byte = flat * static_cast<int64_t>(t.size());
  ir::HostTensor element(t, {});
  bool found = false;
  for (size_t k = 0; k < value.shards.size() && !found; ++k) {
    const size_t p = (at.position + k) % value.shards.size();
    if (!value.shards[p]) continue;
    compile::ForEachPiece(type, static_cast<int64_t>(p),
                          [&](int64_t in_whole, int64_t in_shard, int64_t bytes) {
                            if (byte < in_whole || byte >= in_whole + bytes) return;
                            std::memcpy(element.data.data(),
                                        value.shards[p] + in_shard + (byte - in_whole), t.size());
                            found = true;
                          });
  }
  if (!found) return "of another process";
  return compile::TextAt(element, 0);
}

class CheckCall final : public ir::HostFunction {
 public:
  explicit CheckCall(CheckText text) : text_(std::move(text)) {}

  void Run(const ir::HostArguments& arguments) const override {
    const ir::HostArgument& predicate = arguments.values[0];
    const std::optional<FalseElement> found = FindFalse(predicate);
    if (!found) return;
    std::vector<std::string> notes = PlaceNotes(arguments, found->position, found->index);
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

Checks::Checks(bool on) : old_(trace::MakesChecks()) { trace::SetMakesChecks(on); }
Checks::~Checks() { trace::SetMakesChecks(old_); }

namespace detail {

void Check(Operand predicate, const CheckText& text, const std::vector<Operand>& values) {
  const Call call{"check", text.loc};
  std::vector<Array> arrays = {ToArray(predicate, call)};
  for (const Operand& value : values) arrays.push_back(ToArray(value, call));
  CheckShapes(*TypeOf(arrays[0]), arrays, call);
  if (!trace::MakesChecks()) return;
  CallHost(std::make_shared<const CheckCall>(text), RefsOf(arrays, call), {}, call);
}

}  // namespace detail

}  // namespace tessera

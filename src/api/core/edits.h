// Public functions that are composed of others. An error inside one is thrown under its own name,
// with edits that were tried on the whole call.
#pragma once
#include <absl/container/inlined_vector.h>
#include <absl/functional/function_ref.h>

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "api/core/operands.h"
#include "api/core/written.h"

namespace tessera::api {

using Operands = std::vector<Operand>;
using Arguments = absl::InlinedVector<Argument, 5>;
// A public function of its operands. Arrays in braces are separate operands.
using OnOperands = absl::FunctionRef<std::vector<Array>(const Operands&)>;

// Another call that may replace the refused one, and its code.
struct OtherCall {
  std::string code;
  std::function<std::vector<Array>(const Operands&)> f;
};

// Facts about a call that are only asked for if it is refused.
struct Rewritten {
  std::function<std::string()> code = {};               // unless it is name(arguments...)
  std::function<std::vector<OtherCall>()> others = {};  // further edits to try
};

// Returns f(operands) for a call with these arguments. An error inside is thrown under the call's
// name and shows its operands. A ShardingError offers edits of the call that were tried: resharded
// operands, another out_sharding, and auto_axes if that sends less than all other edits. Only the
// outermost such function does this. Without arguments only the name changes; the fixes that edit
// an out_sharding stay.
std::vector<Array> RunAsOne(Call call, const Arguments& arguments, OnOperands f,
                            const Rewritten& how);

// As RunAsOne, for a function that takes all operands, a vector of arrays, or one to three
// operands, and that returns one array or several.
template <class F>
auto AsOne(Call call, const Arguments& arguments, const F& f, const Rewritten& how = {}) {
  const auto apply = [&f](const Operands& xs) {
    if constexpr (std::is_invocable_v<F, const Operands&>) {
      return f(xs);
    } else if constexpr (std::is_invocable_v<F, std::vector<Array>>) {
      std::vector<Array> arrays;
      for (const Operand& x : xs) arrays.push_back(x.array());
      return f(std::move(arrays));
    } else if constexpr (std::is_invocable_v<F, Operand>) {
      return f(xs[0]);
    } else if constexpr (std::is_invocable_v<F, Operand, Operand>) {
      return f(xs[0], xs[1]);
    } else {
      return f(xs[0], xs[1], xs[2]);
    }
  };
  if constexpr (std::is_same_v<decltype(apply(Operands())), Array>)
    return RunAsOne(
        call, arguments, [&](const Operands& xs) { return std::vector<Array>{apply(xs)}; }, how)[0];
  else
    return RunAsOne(call, arguments, apply, how);
}

// An array in a field of a call's options, which may be missing, or a list of arrays.
struct ArrayField {
  ArrayField(const char* field, Array* array)
      : name(field), arrays{array, array->is_given() ? size_t{1} : 0} {}
  ArrayField(const char* field, std::vector<Array>* list)
      : name(field), arrays{*list}, is_list(true) {}

  const char* name;
  std::span<Array> arrays;  // none if the field is not given
  bool is_list = false;
};
// As AsOne, for a function that takes all operands. The fields that are given are operands too,
// after those of `arguments`. While f runs they hold these operands, which edits may change.
template <class F>
auto AsOneWith(Call call, Arguments arguments, std::initializer_list<ArrayField> fields, const F& f,
               const Rewritten& how = {}) {
  // The arguments refer to these.
  absl::InlinedVector<Operand, 4> given;
  absl::InlinedVector<std::vector<Array>, 1> lists;
  given.reserve(fields.size());
  lists.reserve(fields.size());
  size_t count = 0;
  for (const ArrayField& field : fields) {
    if (field.arrays.empty()) continue;
    count += field.arrays.size();
    arguments.push_back(
        field.is_list ? Argument::Field(field.name, lists.emplace_back(field.arrays.begin(),
                                                                       field.arrays.end()))
                      : Argument::Field(field.name, given.emplace_back(field.arrays[0], call.loc)));
  }
  return AsOne(
      call, arguments,
      [&](const Operands& xs) {
        size_t next = xs.size() - count;
        for (const ArrayField& field : fields)
          for (Array& array : field.arrays) array = xs[next++].array();
        return f(xs);
      },
      how);
}

// Returns the code before and after an option in the call that takes it.
using Around = absl::FunctionRef<std::pair<std::string, std::string>(const ErrorDetail&)>;
// Throws the error again. Fixes that set an out_sharding are written as such a call.
[[noreturn]] void ThrowWithCalls(const ShardingError& refused, Around around);

// Runs a call that takes no options, such as an operator or an index. If an out_sharding would mend
// it, the error offers the call that takes one.
template <class F, class G>
Array WithoutOptions(const F& f, const G& around) {
  try {
    return f();
  } catch (const ShardingError& e) {
    ThrowWithCalls(e, around);
  }
}

}  // namespace tessera::api

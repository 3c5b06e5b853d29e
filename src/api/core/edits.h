// Public functions that are made of others: what is refused inside of one is refused by it, with
// edits that were tried on the call as a whole.
#pragma once
#include <absl/container/inlined_vector.h>

#include <functional>
#include <string>
#include <vector>

#include "api/core/operands.h"
#include "api/core/written.h"

namespace tessera::api {

using Operands = std::vector<Operand>;
using Arguments = absl::InlinedVector<Argument, 5>;
// A public function as one of its operands, those in braces one by one.
using OnOperands = std::function<std::vector<Array>(const Operands&)>;

// A call that may stand for the one that was refused, and how it is written.
struct OtherCall {
  std::string code;
  OnOperands f;
};

// What is known of a call beside its arguments, where it is needed: if it is refused.
struct Rewritten {
  std::function<std::string()> code = {};               // if it is not name(arguments...)
  std::function<std::vector<OtherCall>()> others = {};  // further edits to try
};

// Returns f(operands), of a call with these arguments. An error inside is thrown under the call's
// name and shows its operands. Where they, or the result, would have to lie otherwise, it offers
// what has been tried: operands resharded, another out_sharding, the function inside of auto_axes
// if that sends less than all others. The outermost function counts. Without arguments only names
// change: an out_sharding is then what the call takes, too.
std::vector<Array> RunAsOne(Call call, const Arguments& arguments, const OnOperands& f,
                            const Rewritten& how);

// The same of a function of all operands, of a vector of arrays, or of one to three operands, that
// returns an array or several.
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

// What stands before and behind an option in the call that takes one.
using Around = std::function<std::pair<std::string, std::string>(const ErrorDetail&)>;
// Throws the error again, an out_sharding in its fixes written as such a call.
[[noreturn]] void ThrowWithCalls(const ShardingError& refused, const Around& around);

// Runs a call that takes no options: an operator, an index. An out_sharding that would mend it is
// offered as the call that takes one.
template <class F, class G>
Array WithoutOptions(const F& f, const G& around) {
  try {
    return f();
  } catch (const ShardingError& e) {
    ThrowWithCalls(e, around);
  }
}

}  // namespace tessera::api

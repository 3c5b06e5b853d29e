// register_op: users' ops.
#include "tessera/custom_op.h"

#include <fmt/format.h>

#include <cctype>
#include <utility>

#include "api/core/operands.h"
#include "api/functions/custom_derivative.h"
#include "base/error.h"
#include "base/shape.h"
#include "compile/run/executor.h"
#include "trace/scopes.h"

namespace tessera {

using namespace api;

namespace {

bool IsWord(const std::string& name) {
  if (name.empty() || !std::isalpha(static_cast<unsigned char>(name[0]))) return false;
  for (char c : name)
    if (!std::isalnum(static_cast<unsigned char>(c)) && c != '_') return false;
  return true;
}

}  // namespace

int64_t KernelTensor::size() const { return base::Elements(shape_); }
void KernelTensor::Check(DType dtype, Loc loc) const {
  if (dtype != dtype_)
    FailDType({"data", loc}, 17,
              fmt::format("the array's elements are {}, not {}", dtype_.name(), dtype.name()));
}

Array CustomOp::operator()(std::vector<Array> operands, OutOptions options, Loc loc) const {
  Call call{def_->definition.name.c_str(), loc};
  int rank = options.out_sharding ? options.out_sharding->rank() : -1;
  return Run(*def_, nullptr, operands, call, {.out_sharding = options.out_sharding, .rank = rank});
}

std::vector<Array> CustomOp::results(std::vector<Array> operands, Loc loc) const {
  return RunAll(*def_, nullptr, operands, {def_->definition.name.c_str(), loc});
}

std::string CustomOp::report() const { return def_->report; }

CustomOp register_op(OpDefinition definition, Loc loc) {
  Call call{"register_op", loc};
  compile::Install();
  if (trace::CurrentTrace())
    base::ThrowTrace(base::Refusal("register_op", 1, base::Where(loc), "a function is being traced",
                                   {"register ops at the start"}));
  if (!IsWord(definition.name))
    FailShape(call, 2, fmt::format("\"{}\" is not a valid name for an op", definition.name),
              {"use letters, digits and '_', and begin with a letter"});
  if (ir::FindOp(definition.name))
    FailShape(call, 3, fmt::format("an op named \"{}\" already exists", definition.name));
  if (!definition.kernel) FailShape(call, 4, "the op has no .kernel");
  if (definition.samples.empty())
    FailShape(call, 6, "the op has no .samples, so its rule cannot be checked",
              {"name the dtypes of operands to try, such as .samples = {f32}"});
  // A kernel may use arrays. It does so without a mesh, whatever mesh its caller has in scope.
  definition.kernel = [kernel = std::move(definition.kernel)](const KernelCall& call) {
    trace::MeshDefScope mesh(nullptr);
    kernel(call);
  };
  std::unique_ptr<ops::CustomDef> def = ops::MakeCustom(std::move(definition));
  def->diff = DiffOf(def->definition);
  std::string difference = ops::CheckRule(*def, loc);
  if (!difference.empty())
    FailSharding(call, 5,
                 fmt::format("the rule \"{}\" is wrong: {}", def->definition.rule, difference),
                 {"give different names to dims that the kernel treats differently, or mark "
                  "a factor that must be whole with need_replication"});
  difference = CheckVjp(*def, loc);
  if (!difference.empty())
    base::ThrowRuntime(base::Refusal("register_op", 7, base::Where(loc),
                                     "the vjp is wrong: " + difference,
                                     {"it is compared with differences of the kernel's results"}));
  ir::AddOp(def.get());
  return CustomOp(def.release());  // programs name it from now on: it is never freed
}

}  // namespace tessera

// Reads functions, operation by operation.
#include "stablehlo/read/importer.h"

#include <absl/algorithm/container.h>
#include <absl/cleanup/cleanup.h>
#include <fmt/format.h>

#include "api/core/reshard_to.h"
#include "base/at.h"
#include "base/error.h"
#include "ir/move_params.h"
#include "sharding/edit_code.h"
#include "stablehlo/read/argument_names.h"
#include "stablehlo/read/explicit_axes.h"
#include "stablehlo/read/older_manual.h"
#include "stablehlo/read/older_shardings.h"
#include "stablehlo/read/settings.h"
#include "stablehlo/text/unsupported.h"
#include "trace/apply.h"
#include "trace/function.h"
#include "trace/scopes.h"

namespace tessera::stablehlo {
namespace {

constexpr const char* kName = "import_stablehlo";

using Readers = absl::flat_hash_map<std::string_view, OpReader>;

const Readers& AllReaders() {
  static const auto* const readers = [] {
    auto* all = new Readers;
    for (const auto& table : {ElementwiseReaders(), MovementReaders(), ContractionReaders(),
                              LookupReaders(), ControlReaders(), SpecialReaders(), LinalgReaders(),
                              RandomReaders(), ShardingReaders(), CollectiveReaders()})
      for (const OpReader& reader : table) all->emplace(reader.name, reader);
    return all;
  }();
  return *readers;
}

const Readers& CustomCalls() {
  static const auto* const readers = [] {
    auto* all = new Readers;
    for (const auto& table : {CustomCallReaders(), OlderShardingReaders()})
      for (const OpReader& reader : table) all->emplace(reader.name, reader);
    return all;
  }();
  return *readers;
}

bool IsReturn(std::string_view name) {
  return name == "func.return" || name == "stablehlo.return" || name == "sdy.return";
}

// Returns the reader of an operation, null if there is none.
const OpReader* ReaderOf(std::string_view name, std::string_view target) {
  const Readers& table = name == "stablehlo.custom_call" ? CustomCalls() : AllReaders();
  const auto found = table.find(name == "stablehlo.custom_call" ? target : name);
  return found == table.end() ? nullptr : &found->second;
}

const OpReader* ReaderOf(const Operation& op) { return ReaderOf(op.name, TargetOf(op)); }

// Returns a line in a name stack of JAX, which has several parts: other names are those of values.
Loc InScope(Loc line, std::string_view name_stack) {
  if (name_stack.find('/') == name_stack.npos) return line;
  const bool is_backward = name_stack.find("transpose(") != name_stack.npos;
  return (is_backward ? line.Backward() : line).In(name_stack);
}

template <class F>
void ForEachOperation(const TextRegion& region, const F& f) {
  for (const Operation& op : region.operations) {
    f(op);
    for (const TextRegion& inner : op.regions) ForEachOperation(inner, f);
  }
}

}  // namespace

std::string_view TargetOf(const Operation& op) {
  const Attribute* target =
      op.name == "stablehlo.custom_call" ? op.Find("call_target_name") : nullptr;
  return target ? target->text : std::string_view();
}

bool HasReader(std::string_view operation, std::string_view target) {
  return IsReturn(operation) || ReaderOf(operation, target) != nullptr;
}

Importer::Importer(const Module& module, const ImportOptions& options)
    : module_(module), options_(options), meshes_(module, options) {
  for (const TextFunction& f : module.functions) functions_.emplace(f.name, &f);
  const std::string_view text = module.text();
  lines_.push_back(0);
  for (size_t end = text.find('\n'); end != std::string_view::npos; end = text.find('\n', end + 1))
    lines_.push_back(end + 1);
}

Loc Importer::LocOf(LocationNumber location, size_t place) const {
  const UserLine line = module_.locations.LineOf(location);
  const std::string name_stack = NameStackOf(location);
  if (!line.is_of_user && around_) return InScope(*around_, name_stack);
  if (!line.range.file.empty())
    return InScope(base::LineOf(line.range.file, static_cast<int>(line.range.line)), name_stack);
  const Loc file = module_.file();
  if (file.line() != 0) return file;
  const auto count = std::upper_bound(lines_.begin(), lines_.end(), place) - lines_.begin();
  return InScope(base::LineOf(file.file(), static_cast<int>(count)), name_stack);
}

std::string Importer::NameStackOf(LocationNumber location) const {
  std::string_view own = module_.locations.NameStack(location);
  if (own.ends_with(':')) own = {};  // "jit:" is no operation of JAX
  if (own.empty() || name_stack_.empty()) return std::string(own.empty() ? name_stack_ : own);
  return fmt::format("{}/{}", name_stack_, own);
}

Arrays Importer::Inside(const ReadCall& at, bool has_own_names,
                        const std::function<Arrays()>& read) {
  const absl::Cleanup restore = [this, around = around_, name_stack = name_stack_] {
    around_ = around, name_stack_ = name_stack;
  };
  const LocationNumber location = at.op().location;
  if (module_.locations.LineOf(location).is_of_user) around_ = at.loc();
  if (has_own_names) name_stack_ = NameStackOf(location);
  return read();
}

const ir::Type* Importer::TypeOfText(const TextType& type, size_t place) const {
  const DType dtype = type.kind == TextType::Kind::kTensor ? DTypeOf(type.element) : DType{};
  if (dtype.is_default() || type.count == kOpenSize)
    module_.Fail(place, fmt::format("values of type {} are not supported", type.text));
  return ir::Type::Get(base::Shape(type.dims.begin(), type.dims.end()), dtype, mesh());
}

// A dim that is open and has no axes stays as it is.
Array Importer::Resharded(const Array& x, const sharding::TensorSharding& to,
                          api::Call call) const {
  const sharding::TensorSharding& from = api::TypeOf(x)->sharding();
  sharding::TensorSharding s = OverExplicit(*trace::CurrentMesh(), to);
  sharding::AxisList used = s.unreduced;
  for (const sharding::DimAxes& d : s.dims) sharding::AddTo(used, d.axes);
  for (size_t d = 0; d < s.dims.size(); ++d)
    if (to.dims[d].open && to.dims[d].axes.empty() && d < from.dims.size() &&
        sharding::Difference(from.dims[d].axes, used) == from.dims[d].axes)
      s.dims[d].axes = from.dims[d].axes;
  s.reduced = from.reduced, s.varying = from.varying;
  return s == from ? x : api::ReshardTo(x, s, call);
}

Array Importer::Constrained(const Array& given, const sharding::TensorSharding& sharding,
                            api::Call call) const {
  const sharding::MeshDef& modes = *trace::CurrentMesh();
  const bool any_explicit = modes.has_mode(AxisMode::Explicit);
  const Array x = any_explicit ? Resharded(given, sharding, call) : given;
  if (any_explicit && !modes.has_mode(AxisMode::Auto)) return x;
  const ir::Type* type = api::TypeOf(x);
  sharding::TensorSharding s = type->sharding();
  s.mesh = trace::CurrentMesh();
  s.dims.resize(base::Size(type->rank()));
  return trace::Apply({.op = ops::kShardingConstraint,
                       .params = ir::MakeParams(ir::ConstraintParams{
                           any_explicit ? Over(AxisMode::Auto, modes, sharding) : sharding}),
                       .operands = {x.impl()},
                       .loc = call.loc,
                       .shown_as = call.name,
                       .result = type->WithSharding(std::move(s))})[0];
}

Array Importer::JoinGroup(int64_t group, const Array& x, api::Call call) {
  const auto [it, is_first] = groups_.try_emplace(group, x);
  if (is_first) return x;
  return it->second = api::Run(ops::kShardedLike, nullptr, {x, it->second}, call);
}

// All operations that have no reader are one error.
void Importer::CheckSupported() {
  Unsupported missing;
  size_t operations = 0;
  for (const TextFunction& f : module_.functions)
    ForEachOperation(f.body, [&](const Operation& op) {
      ++operations;
      if (IsReturn(op.name) || ReaderOf(op)) return;
      missing.Add(ShownName(op.name, TargetOf(op)), op.place, LocOf(op.location, op.place));
    });
  // Calls are inlined: a short text may call a function very often.
  most_read_ = std::max<size_t>(1'000'000, 100 * operations);
  if (!missing.empty()) missing.Fail(module_.text(), module_.file());
}

// Explanations know values by their names in the text.
void Importer::Name(const Frame& frame, const TextValue& value, bool is_one_of_several,
                    const Array& array) {
  trace::Trace* trace = trace::CurrentTrace();
  if (!trace || !frame.names_values || array.impl()->kind() != trace::ArrayImpl::kTraced) return;
  const auto& traced = static_cast<const trace::TracedArray&>(*array.impl());
  if (traced.trace.get() != trace) return;
  std::string name = frame.path;
  name += '%';
  name += value.name;
  if (is_one_of_several) name += '#' + std::to_string(value.result);
  trace->Name(name, traced.value);
}

std::vector<PartitionSpec> Importer::StatedAfter(const Operation& op,
                                                 std::span<const Operation* const> after) const {
  const sharding::MeshDef* modes = trace::CurrentMesh();
  std::vector<PartitionSpec> stated;
  if (!modes || !modes->has_mode(AxisMode::Explicit) || after.size() < op.result_types.size())
    return {};
  for (uint32_t k = 0; k < op.result_types.size(); ++k) {
    const Operation& next = *after[k];
    const Attribute* s = next.Find("sharding");
    if (next.name != "sdy.sharding_constraint" || !s || next.operands.size() != 1 ||
        next.operands[0] != op.first_result + k)
      return {};
    sharding::TensorSharding sharding = ShardingOf(*s, op.result_types[k]->dims.size());
    if (absl::c_any_of(sharding.dims, [](const sharding::DimAxes& d) { return d.open; })) return {};
    stated.push_back(sharding::ToSpec(OverExplicit(*modes, std::move(sharding))));
  }
  return stated;
}

void Importer::Read(Frame& frame, const Operation& op, std::span<const Operation* const> after) {
  const OpReader* reader = ReaderOf(op);
  if (!reader)
    module_.Fail(op.place, fmt::format("{} is not supported", ShownName(op.name, TargetOf(op))));
  if (++read_ > most_read_)
    module_.Fail(op.place, fmt::format("its calls make more than {} operations", most_read_));
  ReadCall call(*this, frame, op, reader->name, LocOf(op.location, op.place));
  for (uint32_t v : op.operands) call.in.push_back(frame.values[v]);
  Arrays results = ReadStated(*reader, call, StatedAfter(op, after));
  if (results.size() != op.result_types.size())
    call.Fail(fmt::format("it has {} results, not {}", results.size(), op.result_types.size()));
  for (size_t k = 0; k < results.size(); ++k) {
    const TextType& type = *op.result_types[k];
    const ir::Type* made = api::TypeOf(results[k]);
    if (made->dtype() != DTypeOf(type.element) || !absl::c_equal(made->shape(), type.dims))
      call.Fail(fmt::format("its result is {}, not {}", made->text(), type.text));
    const TextValue& value = frame.function.values[op.first_result + k];
    // `%1:2 = ...` names %1#0 and %1#1; `%values, %indices = ...` names each.
    const bool shares_name = results.size() > 1 &&
                             value.name == frame.function.values[op.first_result].name &&
                             frame.function.values[op.first_result + 1].name == value.name;
    Name(frame, value, shares_name, results[k]);
    frame.values[op.first_result + k] = std::move(results[k]);
  }
}

Arrays Importer::RunRegion(Frame& frame, const TextRegion& region, const Arrays& arguments) {
  if (arguments.size() != region.arguments)
    module_.Fail(frame.function.place, fmt::format("a region of {} arguments is called with {}",
                                                   region.arguments, arguments.size()));
  for (uint32_t k = 0; k < region.arguments; ++k) {
    frame.values[region.first_argument + k] = arguments[k];
    Name(frame, frame.function.values[region.first_argument + k], false, arguments[k]);
  }
  // Values of a region end with it, and cannot be in a group with later ones.
  auto outer_groups = &region == &frame.function.body ? decltype(groups_)() : groups_;
  const absl::Cleanup restore = [&] {
    if (&region != &frame.function.body) groups_ = std::move(outer_groups);
  };
  std::vector<const Operation*> left;
  for (const Operation& op : region.operations) left.push_back(&op);
  for (size_t k = 0; k < left.size(); ++k) {
    const Operation& op = *left[k];
    if (BeginsOlderManual(op)) {
      left.erase(left.begin(), left.begin() + static_cast<int64_t>(k));
      left = RunOlderManual(*this, frame, left);
      k = static_cast<size_t>(-1);
      continue;
    }
    if (!IsReturn(op.name)) {
      Read(frame, op, std::span(left).subspan(k + 1));
      continue;
    }
    Arrays results;
    for (uint32_t v : op.operands) results.push_back(frame.values[v]);
    return results;
  }
  return {};
}

Arrays Importer::ReadFunction(const TextFunction& function, const Arrays& arguments) {
  if (!running_.insert(function.name).second)
    module_.Fail(function.place, fmt::format("@{} calls itself", function.name));
  Frame frame{function, Arrays(function.values.size()),
              function.name == "main" ? "" : fmt::format("@{}/", function.name)};
  Arrays results = RunRegion(frame, function.body, arguments);
  running_.erase(function.name);
  return results;
}

Arrays Importer::Call(std::string_view function, const Arrays& arguments, const ReadCall& at) {
  const auto found = functions_.find(function);
  if (found == functions_.end() || found->second->is_declared_only)
    at.Fail(fmt::format("there is no function @{}", function));
  const trace::NestingScope scope(kName, at.loc());
  Arrays inside = arguments;
  // Shardy applies a constraint on an argument to the function alone, not to other users of the
  // caller's value.
  for (const Operation& op : found->second->body.operations)
    if (op.name == "sdy.sharding_constraint" && mesh() && !op.operands.empty() &&
        op.operands[0] < inside.size())
      inside[op.operands[0]] =
          api::Run(ops::kOptimizationBarrier, nullptr, {arguments[op.operands[0]]}, at.call());
  return Inside(at, true, [&] { return ReadFunction(*found->second, inside); });
}

std::optional<sharding::TensorSharding> Importer::ShardingIn(const Attribute& of_value,
                                                             size_t rank) const {
  if (!mesh()) {
    if (const Attribute* s = of_value.Find("sdy.sharding"))
      module_.Fail(
          module_.PlaceOf(s->text),
          fmt::format("the sharding {} needs a mesh, and the text declares none", s->text));
    return {};
  }
  if (const Attribute* s = of_value.Find("sdy.sharding")) return meshes_.ShardingOf(*s, rank);
  if (const Attribute* s = of_value.Find("mhlo.sharding"))
    if (const auto older = ParseOlderSharding(s->text, mesh()->size()); older && !older->is_manual)
      return ShardingOfOlder(*mesh(), *older, rank);
  return {};
}

// Axes that do not divide a dim are left out, because JAX has no such arrays.
void Importer::Place(trace::Parameter& argument, sharding::TensorSharding s) const {
  const ir::Type* type = argument.type;
  for (size_t d = 0; d < s.dims.size(); ++d)
    s.dims[d].axes = sharding::PrefixThatDivides(s.dims[d].axes, type->shape()[d]);
  if (mesh()->has_mode(AxisMode::Explicit))
    argument.type = type->WithSharding(OverExplicit(*mesh(), s));
  if (mesh()->has_mode(AxisMode::Auto)) argument.place = type->WithSharding(std::move(s));
}

void Importer::TakeNotedType(trace::Parameter& argument, const Attribute& attributes) const {
  const Attribute* const notes = attributes.Find("mhlo.frontend_attributes");
  const Attribute* const noted = notes ? notes->Find("tessera.type") : nullptr;
  if (!noted) return;
  std::string_view text = noted->text;
  const bool weak = text.starts_with("weak ");
  if (weak) text.remove_prefix(5);
  const ir::Type* const type = [&] {
    try {
      return ir::ParseType(text, mesh(), module_.file());
    } catch (const Error& e) {
      module_.Fail(module_.PlaceOf(noted->text),
                   fmt::format("tessera.type is \"{}\": {}", text, e.detail().reason));
    }
  }();
  if (type->shape() != argument.type->shape() || type->dtype() != argument.type->dtype())
    module_.Fail(module_.PlaceOf(noted->text),
                 fmt::format("tessera.type is {}, but the argument is {}", type->text(),
                             argument.type->text()));
  argument.type = type->WithWeak(weak);
}

ir::Program Importer::Build() {
  const sharding::JaxEditScope jax_edits;
  CheckSupported();
  const auto main = functions_.find("main");
  const TextFunction* function = main != functions_.end()        ? main->second
                                 : module_.functions.size() == 1 ? &module_.functions[0]
                                                                 : nullptr;
  if (!function) module_.Fail(0, "there is no function @main");
  const trace::MeshDefScope scope(mesh());
  const Settings settings(module_, *function, mesh(), options_.shardings);
  const ArgumentNames names(module_, *function);
  std::vector<trace::Parameter> parameters;
  for (uint32_t k = 0; k < function->body.arguments; ++k) {
    const TextValue& value = function->values[k];
    const ir::Type* type = TypeOfText(*value.type, function->place);
    trace::Parameter parameter{type, LocOf(value.location, function->place)};
    std::optional<sharding::TensorSharding> sharding = settings.Of(k);
    if (!sharding && k < function->argument_attributes.size())
      sharding = ShardingIn(function->argument_attributes[k], base::Size(type->rank()));
    if (sharding && options_.mesh)
      CheckDivides(module_, *value.type, names[k].Shown(), *mesh(), *sharding);
    if (sharding) Place(parameter, std::move(*sharding));
    if (k < function->argument_attributes.size() && !settings.Of(k))
      TakeNotedType(parameter, function->argument_attributes[k]);
    parameters.push_back(parameter);
  }
  const detail::Body body = [&](const Arrays& arguments) {
    Arrays results = ReadFunction(*function, arguments);
    for (size_t k = 0; k < results.size() && k < function->result_attributes.size(); ++k)
      if (auto s = ShardingIn(function->result_attributes[k], base::Size(api::Rank(results[k]))))
        results[k] =
            Constrained(results[k], *s, {kName, LocOf(function->location, function->place)});
    return detail::FunctionResult::Of(detail::AnyTree::Of(std::move(results)));
  };
  ir::Program program =
      trace::TraceFunction(parameters, body, kName, module_.file(), nullptr).program;
  std::vector<std::pair<std::string, ir::ValueId>> given;  // explanations show the first name
  for (size_t k = 0; k < program.inputs.size(); ++k)
    if (!names[k].given.empty()) given.emplace_back(names[k].given, program.inputs[k]);
  program.names.insert(program.names.begin(), given.begin(), given.end());
  return program;
}

}  // namespace tessera::stablehlo

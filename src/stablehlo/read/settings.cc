// Shardings that settings state.
#include "stablehlo/read/settings.h"

#include <absl/strings/str_join.h>
#include <fmt/format.h>

#include <algorithm>

#include "base/at.h"
#include "base/error.h"
#include "base/reader.h"
#include "sharding/text.h"
#include "stablehlo/read/argument_names.h"

namespace tessera::stablehlo {
namespace {

constexpr const char* kImporter = "import_stablehlo";

// Returns the caller's line: a setting is in no line of a file.
Loc CallerOf(const Module& module) {
  return module.file().line() == 0 ? Loc::Unknown() : module.file();
}

[[noreturn]] void Refuse(const Module& module, const char* check, std::string reason,
                         std::vector<std::string> notes = {}) {
  base::ThrowRuntime(base::Refusal(kImporter, check, base::Where(CallerOf(module)),
                                   std::move(reason), std::move(notes)));
}

// Returns `P("x", None, ("x", "y"))` as Shardy writes it, `[{"x"}, {}, {"x", "y"}]`, with at least
// `rank` dims: those that the spec leaves out are unsharded. Strings have quotes of either kind,
// and tuples also braces, as in C++.
std::string ShardyText(std::string spec, size_t rank) {
  std::ranges::replace(spec, '\'', '"');
  base::Reader in(spec, "spec", Loc::Unknown());
  const auto axis = [&] {
    const size_t begin = in.position();
    in.Quoted();
    return std::string(in.Since(begin));
  };
  // A comma may also end a list.
  const auto list = [&](const char* open, const char* close, auto item) {
    in.Expect(open);
    std::vector<std::string> items;
    while (!in.Accept(close)) {
      items.push_back(item());
      if (!in.Peek(close)) in.Expect(",");
    }
    return items;
  };
  const auto dim = [&]() -> std::string {
    if (in.Accept("None")) return "";
    if (in.Peek("(")) return absl::StrJoin(list("(", ")", axis), ", ");
    return in.Peek("{") ? absl::StrJoin(list("{", "}", axis), ", ") : axis();
  };
  in.Expect("P");
  std::vector<std::string> dims = list("(", ")", dim);
  in.ExpectEnd();
  dims.resize(std::max(dims.size(), rank));
  for (std::string& axes : dims) axes = fmt::format("{{{}}}", axes);
  return fmt::format("[{}]", absl::StrJoin(dims, ", "));
}

// Returns a whole sharding in Shardy's syntax.
std::string WholeText(const std::string& text, size_t rank) {
  if (text.starts_with('<')) return text;
  return fmt::format("<@mesh, {}>", text.starts_with('P') ? ShardyText(text, rank) : text);
}

sharding::TensorSharding Parsed(const Module& module, const TextType& type,
                                const ArgumentName& name, const sharding::MeshDef* mesh,
                                const std::string& text) {
  const auto refuse = [&](const std::string& reason) {
    Refuse(module, "setting", fmt::format("the sharding {} of {}: {}", text, name.Shown(), reason),
           {"the mesh is " + mesh->text(), fmt::format("the argument is {}", type.text)});
  };
  sharding::TensorSharding s;
  try {
    s = sharding::ParseSharding(WholeText(text, type.dims.size()), mesh->WithoutModes(),
                                Loc::Unknown());
  } catch (const RuntimeError& e) {
    refuse(e.detail().reason);
  }
  const std::span<const int64_t> dims = type.dims;
  if (s.dims.size() != dims.size())
    refuse(fmt::format("it has {}, but the argument has {}", base::CountText(s.dims.size(), "dim"),
                       dims.size()));
  if (const std::string reason = WhyUneven(type, s); !reason.empty()) refuse(reason);
  return s;
}

}  // namespace

std::string WhyUneven(const TextType& type, const sharding::TensorSharding& s) {
  for (size_t d = 0; d < type.dims.size(); ++d)
    if (const int64_t shards = sharding::SizeOf(s.dims[d].axes); type.dims[d] % shards != 0)
      return fmt::format("dim {} of size {} cannot be divided evenly into {} shards", d,
                         type.dims[d], shards);
  return "";
}

void CheckDivides(const Module& module, const TextType& type, const std::string& argument,
                  const sharding::MeshDef& mesh, const sharding::TensorSharding& s) {
  const std::string reason = WhyUneven(type, s);
  if (reason.empty()) return;
  Refuse(module, "setting", fmt::format("the text shards {}, but {}", argument, reason),
         {"the mesh is " + mesh.text(), fmt::format("the argument is {}", type.text),
          "give the argument another sharding too"});
}

Settings::Settings(const Module& module, const TextFunction& function,
                   const sharding::MeshDef* mesh, const std::vector<ArgumentSharding>& shardings)
    : of_(function.body.arguments) {
  if (shardings.empty()) return;
  if (!mesh)
    Refuse(module, "mesh", "shardings of arguments need a mesh, and the text has none",
           {"give one, such as x=4,y=2"});
  const ArgumentNames names(module, function);
  for (const ArgumentSharding& set : shardings)
    for (size_t k : names.Find(set.argument, kImporter, CallerOf(module)))
      of_[k] = Parsed(module, *function.values[k].type, names[k], mesh, set.sharding);
}

}  // namespace tessera::stablehlo

// Refuses options whose leaves do not match the arrays of a tree.
#include "api/core/specs.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"

namespace tessera::api {

namespace {

[[noreturn]] void FailOption(int check, std::string reason, std::vector<std::string> notes,
                             Said said, Call call) {
  if (said.of_dims) FailShape(call, check, std::move(reason), std::move(notes));
  FailSharding(call, check, std::move(reason), std::move(notes));
}

std::string Nested(Said said) {
  return fmt::format("give one {} for all, or one for each, nested like the arrays", said.leaf);
}

size_t PartsOf(const detail::Outline& tree, const detail::Path& node) {
  for (const auto& [path, parts] : tree.nodes)
    if (path == node) return parts;
  return 0;
}

}  // namespace

std::string LeafCode(const MapDim& dim) { return dim.dim() ? std::to_string(*dim.dim()) : "None"; }

void FailLeaf(detail::TreeRef tree, const detail::Path& array, Said said, const std::string& text,
              absl::FunctionRef<size_t(const detail::Path&)> parts, Call call) {
  const std::string name = InSentence(trace::NameOf(tree, said.tree, array));
  if (const size_t given = parts(array); given > 0)
    FailOption(13,
               fmt::format("{} has {} for {}, which is one array", said.option,
                           base::CountText(given, said.leaf), name),
               {Nested(said)}, said, call);
  std::vector<std::string> notes = {Nested(said)};
  const size_t wanted = PartsOf(detail::OutlineOf(tree), {}), given = parts({});
  if (array.at(0) >= given) {
    std::string whole = text.substr(0, text.size() - 1);
    for (size_t i = given; i < wanted; ++i) whole += fmt::format(", {}", said.other);
    notes.insert(notes.begin(), fmt::format("write {} = {}}}", said.option, whole));
  }
  FailOption(13, fmt::format("{} has no {} for {}", said.option, said.leaf, name), std::move(notes),
             said, call);
}

void FailParts(detail::TreeRef tree, const detail::Path& node, size_t given, size_t parts,
               Said said, Call call) {
  const bool all_arguments = node.empty() && said.tree == std::string(trace::kArguments);
  const std::string given_text = base::CountText(given, said.leaf);
  FailOption(16,
             all_arguments ? fmt::format("{} has {} for {}", said.option, given_text,
                                         base::CountText(parts, "argument"))
                           : fmt::format("{} has {} for {}, which has {}", said.option, given_text,
                                         InSentence(trace::NameOf(tree, said.tree, node)),
                                         base::CountText(parts, "part")),
             {Nested(said)}, said, call);
}

namespace {

// Writes specs as code, with another spec for one array.
class SpecWriter {
 public:
  SpecWriter(const Specs& specs, const detail::Outline& tree, const detail::Path& array,
             const PartitionSpec& spec)
      : specs_(specs), tree_(tree), array_(array), spec_(spec) {}

  std::string At(const detail::Path& node) const {
    if (node == array_) return spec_.text();
    const PartitionSpec* leaf = specs_.At(node);
    const bool above =
        node.size() < array_.size() && std::equal(node.begin(), node.end(), array_.begin());
    if (leaf && !above) return leaf->text();
    const size_t parts = PartsOf(tree_, node);
    // A tree of one part is laid out as that part.
    if (leaf && parts == 1) return At(Below(node, 0));
    std::string text = "{";
    for (size_t i = 0; i < parts; ++i) text += (i ? ", " : "") + At(Below(node, i));
    return text + "}";
  }

 private:
  static detail::Path Below(detail::Path node, size_t part) {
    node.push_back(part);
    return node;
  }
  const Specs& specs_;
  const detail::Outline& tree_;
  const detail::Path& array_;
  const PartitionSpec& spec_;
};

}  // namespace

std::string CodeWith(const Specs& specs, detail::TreeRef tree, const detail::Path& array,
                     const PartitionSpec& spec) {
  constexpr size_t kLong = 120;
  const detail::Outline outline = detail::OutlineOf(tree);
  std::string code = SpecWriter(specs, outline, array, spec).At({});
  return code.size() <= kLong ? code : "";
}

std::string InSentence(const std::string& name) {
  return name.find_first_of(".[ ") == std::string::npos ? "the " + name : name;
}

std::string ReshardCode(const std::string& name, const PartitionSpec& spec) {
  const std::string array = "x" + name.substr(std::min(name.find_first_of(".["), name.size()));
  return fmt::format("{0} = reshard({0}, {1})", array, spec.text());
}

}  // namespace tessera::api

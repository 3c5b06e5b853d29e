// What walks trees: for their arrays, for where these are, and to put others in their place.
#include "trace/tree.h"

#include <fmt/format.h>

#include "trace/apply.h"

namespace tessera {
namespace detail {
namespace {

class Collect final : public Visitor {
 public:
  void Leaf(Array& a) override { leaves.push_back(a); }
  std::vector<Array> leaves;
};

class Put final : public Visitor {
 public:
  explicit Put(const std::vector<Array>& leaves) : leaves_(leaves) {}
  void Leaf(Array& a) override { a = leaves_.at(next_++); }

 private:
  const std::vector<Array>& leaves_;
  size_t next_ = 0;
};

std::string Text(Scalar v) {
  switch (v.kind()) {
    case Scalar::kBool:
      return v.as_int() ? "true" : "false";
    case Scalar::kFloat:
      return fmt::format("{}", v.as_double());
    case Scalar::kUInt:
      return fmt::format("{}", static_cast<uint64_t>(v.as_int()));
    default:
      return fmt::format("{}", v.as_int());
  }
}

class Outliner final : public Visitor {
 public:
  void Leaf(Array&) override { outline.arrays.push_back(at_); }
  void Static(const std::string& text) override { Add('"' + text + '"'); }
  void Static(Scalar v) override { Add(Text(v)); }
  void Present(bool present) override { Add(present ? "a value" : "nothing"); }
  void Enter(size_t) override { at_.push_back(0); }
  void Next() override { ++at_.back(); }
  void Leave() override {
    const size_t parts = at_.back();
    at_.pop_back();
    outline.nodes.emplace_back(at_, parts);
  }
  Outline outline;

 private:
  void Add(std::string text) { outline.statics.emplace_back(at_, std::move(text)); }
  Path at_;
};

class Namer final : public Visitor {
 public:
  void Leaf(Array&) override {
    names.emplace_back();
    for (const Part& part : path_)
      names.back() +=
          (&part == &path_[0] ? "" : ".") + (part.name ? *part.name : std::to_string(part.number));
  }
  void Static(const std::string& text) override { AddToKey(text); }
  void Static(Scalar v) override { AddToKey(Text(v)); }
  void Enter(size_t) override {
    if (!key_) path_.emplace_back();
  }
  void Field(std::string_view name) override { path_.back().name = name; }
  void Key(bool begins) override {
    if (!begins) path_.back().name = *key_;
    key_ = begins ? std::optional<std::string>("") : std::nullopt;
  }
  void Next() override {
    if (key_) return;
    path_.back().name.reset();
    ++path_.back().number;
  }
  void Leave() override {
    if (!key_) path_.pop_back();
  }
  std::vector<std::string> names;

 private:
  struct Part {
    size_t number = 0;
    std::optional<std::string> name;
  };
  void AddToKey(const std::string& text) {
    if (key_) *key_ += (key_->empty() ? "" : ",") + text;
  }
  std::vector<Part> path_;
  std::optional<std::string> key_;  // of the map's part that comes next, while it is read
};

}  // namespace

std::vector<Array> LeavesOf(TreeRef tree) {
  Collect collect;
  tree.type->visit(tree.tree, collect);
  return std::move(collect.leaves);
}

void Replace(TreeRef tree, const std::vector<Array>& leaves) {
  Put put(leaves);
  tree.type->visit(tree.tree, put);
}

Outline OutlineOf(TreeRef tree) {
  Outliner outliner;
  tree.type->visit(tree.tree, outliner);
  return std::move(outliner.outline);
}

std::vector<std::string> NamesOf(TreeRef tree) {
  Namer namer;
  tree.type->visit(tree.tree, namer);
  return std::move(namer.names);
}

}  // namespace detail

namespace trace {
namespace {

std::string Text(const detail::Path& path, size_t from) {
  std::string text;
  for (size_t i = from; i < path.size(); ++i) text += fmt::format("[{}]", path[i]);
  return text;
}

// What is at `above` and below it.
Leaves Below(const detail::Path& above, detail::TreeRef tree, const std::string& name) {
  auto inside = [&](const detail::Path& path) {
    return path.size() >= above.size() && std::equal(above.begin(), above.end(), path.begin());
  };
  const detail::Outline outline = detail::OutlineOf(tree);
  const std::vector<Array> arrays = detail::LeavesOf(tree);
  Leaves leaves;
  for (size_t i = 0; i < arrays.size(); ++i) {
    if (!inside(outline.arrays[i])) continue;
    leaves.arrays.push_back(arrays[i]);
    leaves.names.push_back(name + Text(outline.arrays[i], above.size()));
  }
  for (const auto& [path, parts] : outline.nodes)
    if (inside(path)) leaves.statics += fmt::format("{}n{};", Text(path, above.size()), parts);
  for (const auto& [path, text] : outline.statics)
    if (inside(path))
      leaves.statics += fmt::format("{}={}:{};", Text(path, above.size()), text.size(), text);
  return leaves;
}

}  // namespace

Leaves TakeApart(detail::TreeRef tree, const std::string& name) { return Below({}, tree, name); }
Leaves TakePartApart(detail::TreeRef tree, size_t part, const std::string& name) {
  return Below({part}, tree, name);
}

}  // namespace trace
}  // namespace tessera

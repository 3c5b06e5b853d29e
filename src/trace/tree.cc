// Visitors of trees: collect arrays, describe where they are, and replace them.
#include "trace/tree.h"

#include <absl/algorithm/container.h>
#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "base/error.h"
#include "base/reader.h"
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

std::string ScalarText(Scalar v) {
  switch (v.kind()) {
    case Scalar::kBool:
      return v.as_int() ? "true" : "false";
    case Scalar::kFloat:
      return fmt::format("{}", v.as_double());
    case Scalar::kComplex:
      return fmt::format("({}, {})", v.as_complex().real(), v.as_complex().imag());
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
  void Static(Scalar v) override { Add(ScalarText(v)); }
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

// A visitor that tracks its position in the tree.
class Tracker : public Visitor {
 public:
  void Static(const std::string& text) final {
    key_ ? AddToKey(text, base::Quote(text)) : OnStatic(base::Quote(text));
  }
  void Static(Scalar v) final {
    key_ ? AddToKey(ScalarText(v), ScalarText(v)) : OnStatic(ScalarText(v));
  }
  void Present(bool present) final {
    if (!key_) OnStatic(present ? "a value" : "nothing");
  }
  void Enter(size_t parts) final {
    if (key_) return;
    OnNode(parts);
    path_.emplace_back();
  }
  void Field(std::string_view name) final {
    path_.back().name = name;
    path_.back().access = "." + std::string(name);
  }
  void Key(bool begins) final {
    if (!begins) {
      path_.back().name = key_->name;
      path_.back().access = "[" + key_->access + "]";
    }
    key_ = begins ? std::optional<Part>(Part{}) : std::nullopt;
  }
  void Next() final {
    if (!key_) path_.back() = {path_.back().number + 1, {}, {}};
  }
  void Leave() final {
    if (!key_) path_.pop_back();
  }

 protected:
  virtual void OnStatic(const std::string& /*text*/) {}
  virtual void OnNode(size_t /*parts*/) {}

  // Returns "layers.0.w".
  std::string Dotted() const {
    std::string text;
    for (const Part& part : path_)
      text += (&part == &path_[0] ? "" : ".") +
              (part.access.empty() ? std::to_string(part.number) : part.name);
    return text;
  }
  // Returns ".layers[0].w", from this level on.
  std::string Access(size_t level) const {
    std::string text;
    for (size_t i = level; i < path_.size(); ++i)
      text +=
          path_[i].access.empty() ? "[" + std::to_string(path_[i].number) + "]" : path_[i].access;
    return text;
  }
  // Returns the name in a tree named `name`: "carry.layers[0].w", "argument 0.layers[0].w".
  std::string NameFrom(std::string_view name, size_t level) const {
    if (name != trace::kArguments || path_.size() <= level)
      return std::string(name) + Access(level);
    return fmt::format("argument {}{}", path_[level].number, Access(level + 1));
  }
  bool IsAt(const Path& path) const { return path_.size() == path.size() && IsBelow(path); }
  bool IsBelow(const Path& above) const {
    bool below = path_.size() >= above.size();
    for (size_t i = 0; below && i < above.size(); ++i) below = path_[i].number == above[i];
    return below;
  }

 private:
  struct Part {
    size_t number = 0;
    std::string name, access;  // of a field or a key; empty for an element
  };
  void AddToKey(const std::string& name, const std::string& access) {
    key_->name += (key_->name.empty() ? "" : ",") + name;
    key_->access += (key_->access.empty() ? "" : ",") + access;
  }
  std::vector<Part> path_;
  std::optional<Part> key_;  // the map key that is being read
};

class Namer final : public Tracker {
 public:
  void Leaf(Array&) override { names.push_back(Dotted()); }
  std::vector<std::string> names;
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

// Collects arrays and facts at `above` and below.
class Taker final : public detail::Tracker {
 public:
  Taker(const std::string& name, const detail::Path& above, bool facts)
      : name_(name), above_(above), facts_(facts) {}
  void Leaf(Array& a) override {
    if (!IsBelow(above_)) return;
    leaves.arrays.push_back(a);
    leaves.names.push_back(Name());
    Add(kIsArray);
  }
  Leaves leaves;

 private:
  void OnStatic(const std::string& text) override {
    if (facts_) Add("is " + text);
  }
  void OnNode(size_t parts) override {
    if (facts_) Add("has " + base::CountText(parts, "part"));
  }
  void Add(std::string what) {
    if (facts_ && IsBelow(above_)) leaves.facts.push_back({Name(), std::move(what)});
  }
  std::string Name() const { return NameFrom(name_, above_.size()); }
  const std::string& name_;
  const detail::Path& above_;
  const bool facts_;
};

// Finds the name of a part.
class PartNamer final : public detail::Tracker {
 public:
  PartNamer(const std::string& name, const detail::Path& part) : name_(name), part_(part) {}
  void Leaf(Array&) override { Visit(); }
  std::string found;

 private:
  void OnNode(size_t) override { Visit(); }
  void Visit() {
    if (IsAt(part_)) found = NameFrom(name_, 0);
  }
  const std::string& name_;
  const detail::Path& part_;
};

// Uses each array.
class User final : public detail::Visitor {
 public:
  User(detail::TreeRef tree, const std::string& name, const char* op, Loc loc)
      : tree_(tree), name_(name), op_(op), loc_(loc) {}
  void Leaf(Array& a) override {
    Use(a, op_, loc_, [&] { return TakeArrays(tree_, name_).names.at(before_); });
    ++before_;
  }

 private:
  const detail::TreeRef tree_;
  const std::string& name_;
  const char* const op_;
  const Loc loc_;
  size_t before_ = 0;  // the number of arrays before this one
};

bool IsAmong(const std::string& name, const std::vector<std::string>& names) {
  return absl::c_find(names, name) != names.end();
}
std::string InPlaceOf(const std::string& name, const std::string& wanted) {
  return fmt::format("there is {} instead of {}", name, wanted);
}

}  // namespace

Leaves TakeApart(detail::TreeRef tree, const std::string& name, const detail::Path& above) {
  Taker taker(name, above, /*facts=*/true);
  tree.type->visit(tree.tree, taker);
  return std::move(taker.leaves);
}
Leaves TakeArrays(detail::TreeRef tree, const std::string& name, const detail::Path& above) {
  Taker taker(name, above, /*facts=*/false);
  tree.type->visit(tree.tree, taker);
  return std::move(taker.leaves);
}

Leaves TakeArguments(detail::TreeRef arguments) { return TakeApart(arguments, kArguments); }

std::string NameOf(detail::TreeRef tree, const std::string& name, const detail::Path& part) {
  PartNamer namer(name, part);
  tree.type->visit(tree.tree, namer);
  return std::move(namer.found);
}

void UseAll(detail::TreeRef tree, const std::string& name, const char* op, Loc loc) {
  User user(tree, name, op, loc);
  tree.type->visit(tree.tree, user);
}

std::string DifferenceOf(const Leaves& wanted, const Leaves& came) {
  for (size_t i = 0; i < std::min(wanted.facts.size(), came.facts.size()); ++i) {
    const Fact &want = wanted.facts[i], &fact = came.facts[i];
    if (fact.where != want.where) return InPlaceOf(fact.where, want.where);
    if (fact.what == want.what) continue;
    const size_t verb = want.what.find(' ') + 1;
    return fmt::format("{} {} instead of {}", fact.where, fact.what, want.what.substr(verb));
  }
  return "";
}

std::string DifferenceOf(const std::vector<std::string>& wanted,
                         const std::vector<std::string>& came) {
  const auto [want, name] = std::mismatch(wanted.begin(), wanted.end(), came.begin(), came.end());
  const bool lacks = want != wanted.end() && !IsAmong(*want, came);
  const bool adds = name != came.end() && !IsAmong(*name, wanted);
  if (lacks && !adds) return *want + " is missing";
  if (adds && !lacks) return *name + " is one too many";
  return want == wanted.end() ? "" : InPlaceOf(*name, *want);
}

}  // namespace trace
}  // namespace tessera

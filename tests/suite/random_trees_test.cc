// Two random trees, one of them changed in a random place: wherever two trees meet, the call is
// refused with the first path that differs. Trees that are equal pass.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <tessera/tessera.h>

#include <algorithm>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "fuzz.h"
#include "suite/random_program.h"

namespace tessera::suite::random_trees_test {

struct Node {
  int number = 0;
  std::optional<Array> leaf;
  std::vector<Node> items;
  std::map<std::string, Node> fields;
};
TESSERA_FIELDS(Node, number, leaf, items, fields);

namespace {

Node RandomNode(Dice& dice, int depth) {
  Node node{dice.Below(3), {}, {}, {}};
  const int kind = depth > 0 ? dice.Below(4) : 0;
  if (kind == 0 || dice.Below(3) == 0) node.leaf = Array(static_cast<float>(dice.Below(9)));
  if (kind == 1 || kind == 3)
    for (int n = dice.Below(3); n >= 0; --n) node.items.push_back(RandomNode(dice, depth - 1));
  if (kind >= 2)
    for (int n = dice.Below(3); n >= 0; --n)
      node.fields[std::string(1, static_cast<char>('a' + dice.Below(6)))] =
          RandomNode(dice, depth - 1);
  return node;
}

void AddNodes(Node& node, std::vector<Node*>& nodes) {
  nodes.push_back(&node);
  for (Node& item : node.items) AddNodes(item, nodes);
  for (auto& [key, field] : node.fields) AddNodes(field, nodes);
}

// Changes the tree in one place. The structure may stay as it is.
void Change(Dice& dice, Node& tree) {
  std::vector<Node*> nodes;
  AddNodes(tree, nodes);
  Node& node = *dice.Of(nodes);
  switch (dice.Below(6)) {
    case 0:  // an array is missing, or is too many
      if (node.leaf)
        node.leaf = {};
      else
        node.leaf = Array(1.f);
      break;
    case 1:  // a longer or a shorter vector
      if (node.items.empty() || dice.Below(2))
        node.items.push_back(RandomNode(dice, 0));
      else
        node.items.pop_back();
      break;
    case 2:  // another order
      std::reverse(node.items.begin(), node.items.end());
      break;
    case 3:  // a field is missing, or has another name
      if (!node.fields.empty()) {
        auto taken = node.fields.extract(node.fields.begin());
        taken.key() += "x";
        if (dice.Below(2)) node.fields.insert(std::move(taken));
      }
      break;
    case 4:  // another type: a vector for the array
      if (node.leaf) {
        node.items.push_back({0, node.leaf, {}, {}});
        node.leaf = {};
      }
      break;
    default:
      ++node.number;
  }
}

// A place in a tree, and a fact about it.
struct Fact {
  std::string where, what;
  bool operator==(const Fact& o) const { return where == o.where && what == o.what; }
};
void AddFacts(const Node& node, const std::string& at, std::vector<Fact>& facts) {
  facts.push_back({at, "a node"});
  facts.push_back({at + ".number", std::to_string(node.number)});
  facts.push_back({at + ".leaf", node.leaf ? "an array" : "nothing"});
  facts.push_back({at + ".items", std::to_string(node.items.size())});
  for (size_t i = 0; i < node.items.size(); ++i)
    AddFacts(node.items[i], fmt::format("{}.items[{}]", at, i), facts);
  facts.push_back({at + ".fields", std::to_string(node.fields.size())});
  for (const auto& [key, field] : node.fields)
    AddFacts(field, fmt::format("{}.fields[\"{}\"]", at, key), facts);
}
std::vector<Fact> FactsOf(const Node& tree, bool arrays_only) {
  std::vector<Fact> facts;
  AddFacts(tree, "", facts);
  if (arrays_only)
    facts.erase(std::remove_if(facts.begin(), facts.end(),
                               [](const Fact& f) { return f.what != "an array"; }),
                facts.end());
  return facts;
}

// The places at which the first difference may be said to be; none if the trees are equal.
std::vector<std::string> FirstDifference(const Node& a, const Node& b, bool arrays_only) {
  const std::vector<Fact> left = FactsOf(a, arrays_only), right = FactsOf(b, arrays_only);
  const auto [l, r] = std::mismatch(left.begin(), left.end(), right.begin(), right.end());
  std::vector<std::string> places;
  if (l != left.end()) places.push_back(l->where);
  if (r != right.end()) places.push_back(r->where);
  return places;
}

Array Total(const Node& tree) {
  return tree_reduce([](Array s, Array x) { return s + sum(x); }, tree, Array(0.f));
}

// A call in which a tree `a` meets a tree `b`.
struct Meeting {
  const char* name;
  bool arrays_only;  // numbers and empty parts may differ
  std::function<void(const Node& a, const Node& b)> call;
};
const std::vector<Meeting>& Meetings() {
  static const std::vector<Meeting> meetings = {
      {"tree_map", true,
       [](const Node& a, const Node& b) {
         tree_map([](Array p, Array g) { return p + 10 * g; }, a, b);
       }},
      {"jvp", true, [](const Node& a, const Node& b) { jvp(Total, a, b); }},
      {"vjp", true,
       [](const Node& a, const Node& b) {
         auto [out, pullback] =
             vjp([&](Array x) { return tree_map([&](Array leaf) { return leaf * x; }, a); }, 2.f);
         pullback(b);
       }},
      {"linearize", true, [](const Node& a, const Node& b) { linearize(Total, a).second(b); }},
      {"custom_vjp", true,
       [](const Node& a, const Node& b) {
         grad(custom_vjp(
             Total, [](Node p) { return std::pair(Total(p), None); },
             [&](NoneType, Array) { return b; }))(a);
       }},
      {"custom_jvp", true,
       [](const Node& a, const Node& b) {
         const auto scaled = [](const Node& tree, Array x) {
           return tree_map([&](Array leaf) { return leaf * x; }, tree);
         };
         const auto f =
             custom_jvp([&](Array x) { return scaled(a, x); },
                        [&](std::tuple<Array> x, std::tuple<Array> t) {
                          return std::pair(scaled(a, std::get<0>(x)), scaled(b, std::get<0>(t)));
                        });
         grad([&](Array x) { return Total(f(x)); })(3.f);
       }},
      {"scan", false,
       [](const Node& a, const Node& b) {
         scan([&](Node, NoneType) { return std::pair(b, None); }, a, None, {.length = 2});
       }},
      {"fori_loop", false,
       [](const Node& a, const Node& b) {
         fori_loop(
             0, 3, [&](Array, Node) { return b; }, a);
       }},
      {"cond", false,
       [](const Node& a, const Node& b) {
         cond(
             Array(true), [&](Array) { return a; }, [&](Array) { return b; }, 1.f);
       }},
  };
  return meetings;
}

// Returns the fault of the call's outcome, if there is one.
std::string Try(const Meeting& meeting, const Node& a, const Node& b) {
  const std::vector<std::string> places = FirstDifference(a, b, meeting.arrays_only);
  try {
    meeting.call(a, b);
  } catch (const TraceError& e) {
    const std::string text = e.what();
    if (places.empty()) return "trees that are equal are refused: " + text;
    const size_t at = text.find("different tree: ");
    std::string difference = at < text.size() ? text.substr(at) : "";
    difference.resize(std::min(difference.find('\n'), difference.size()));
    difference += ' ';
    const bool says = std::any_of(places.begin(), places.end(), [&](const std::string& place) {
      return difference.find(place + " ") < difference.size();
    });
    return says ? "" : fmt::format("{} is not named: {}", places[0], text);
  } catch (const std::exception& e) {
    return std::string("another error: ") + e.what();
  }
  return places.empty() ? "" : places[0] + " differs, but nothing is said";
}

TEST(RandomTrees, ThatDifferAreRefusedWithTheFirstPath) {
  RetraceNotes(false);
  int refused = 0;
  for (int seed = 0; seed < FuzzCount(300) && !HasFailure(); ++seed) {
    Dice dice(seed);
    const Node a = RandomNode(dice, 3);
    Node b = a;
    if (dice.Below(8) > 0) Change(dice, b);
    refused += !FirstDifference(a, b, false).empty();
    for (const Meeting& meeting : Meetings()) {
      if (tree_leaves(a).empty()) continue;  // not every call has one without arrays
      EXPECT_EQ(Try(meeting, a, b), "") << meeting.name << ", seed " << seed;
    }
  }
  RetraceNotes(true);
  EXPECT_GT(refused, 100);
}

}  // namespace
}  // namespace tessera::suite::random_trees_test

// The families of programs that the library accepts beyond JAX, as families.json lists them.
#pragma once
#include <optional>
#include <regex>
#include <string>
#include <vector>

#include "case.h"
#include "tessera/array.h"

namespace tessera::conformance {

// The instruction that JAX refuses, or types otherwise, and the types of its operands.
struct Situation {
  const Case& c;
  const Instruction& instruction;
  std::vector<ArrayType> operands;
};

// How the library departs from JAX there.
enum class Departure { kAccepted, kAnotherType, kRefused };

// `may_communicate`: its programs have collectives that JAX's have as well, as where an axis of
// size 1 beside them is all that JAX refuses.
struct Family {
  std::string name;
  bool may_communicate = false;
};

class Families {
 public:
  // An entry is {"family", "argued", "may_communicate", "match": {"ops", "message", "predicate",
  // "departure"}}; all that a match names must hold. `departure` is "accepted" unless it says
  // "another type" or "refused". Throws std::runtime_error for a malformed file.
  static Families Load(const std::string& path);
  // Returns the first family that the situation is in.
  std::optional<Family> Find(const Situation& situation, Departure departure) const;

 private:
  struct Entry {
    Family family;
    std::vector<std::string> ops;         // empty: any
    std::optional<std::regex> message;    // in JAX's error
    bool (*predicate)(const Situation&);  // null: none
    Departure departure = Departure::kAccepted;
  };
  std::vector<Entry> entries_;
};

}  // namespace tessera::conformance

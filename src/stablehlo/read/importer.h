// Builds a program from the syntax tree of StableHLO text: calls the functions that users call, in
// a trace.
#pragma once
#include <absl/container/flat_hash_map.h>
#include <absl/container/flat_hash_set.h>

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ir/program.h"
#include "stablehlo/read/meshes.h"
#include "stablehlo/read/read_call.h"
#include "tessera/stablehlo.h"
#include "trace/function.h"

namespace tessera::stablehlo {

// Values of a function that is being read, by their numbers.
struct Frame {
  const TextFunction& function;
  Arrays values;
  // Before the names of its values: "" in @main, "@f/" in others; "%2/1/" in region 1 of %2.
  std::string path;
  bool names_values = true;  // not in reducers and comparators, which become functions of arrays
};

// Whether an operation can be read. `target`: of a custom call, else "".
bool HasReader(std::string_view operation, std::string_view target);
// Returns the target of a custom call, "" for another operation.
std::string_view TargetOf(const Operation& op);

class Importer {
 public:
  Importer(const Module& module, const ImportOptions& options);
  ir::Program Build();

  const Module& module() const { return module_; }
  // Returns the results of a function.
  Arrays Call(std::string_view function, const Arrays& arguments, const ReadCall& at);
  Arrays RunRegion(Frame& frame, const TextRegion& region, const Arrays& arguments);
  // Reads an operation: sets the values of its results. `after`: the operations that follow.
  void Read(Frame& frame, const Operation& op, std::span<const Operation* const> after = {});
  // Returns the line of the user's program that made an operation; if the text has none, the line
  // of the operation around it or of the call; else the line of the text.
  Loc LocOf(LocationNumber location, size_t place) const;
  // Calls `read`, which reads the operations inside of the one of `at`. Returns its results.
  // `has_own_names`: the name stacks inside do not begin with the one of `at`.
  Arrays Inside(const ReadCall& at, bool has_own_names, const std::function<Arrays()>& read);

  const TextMeshes& meshes() const { return meshes_; }
  // The mesh of the program, with modes; null if the text has none.
  const sharding::MeshDef* mesh() const { return meshes_.mesh(); }
  // Returns a sharding of the text, complete or with open dims, on the mesh without modes.
  sharding::TensorSharding ShardingOf(const Attribute& attribute, size_t rank) const {
    return meshes_.ShardingOf(attribute, rank);
  }
  // Returns x with a constraint over Auto axes, or resharded over Explicit ones.
  Array Constrained(const Array& x, const sharding::TensorSharding& sharding, api::Call call) const;
  // Returns x, sharded like the values that joined the group before.
  Array JoinGroup(int64_t group, const Array& x, api::Call call);

 private:
  // Returns JAX's name stack of a location, in those of the calls around it.
  std::string NameStackOf(LocationNumber location) const;
  const ir::Type* TypeOfText(const TextType& type, size_t place) const;
  // Lays an argument out: over Explicit axes by its type, over Auto axes by its place.
  // Gives the argument the type that export_stablehlo noted, if StableHLO could not say it.
  void TakeNotedType(trace::Parameter& argument, const Attribute& attributes) const;
  void Place(trace::Parameter& argument, sharding::TensorSharding s) const;
  // Returns x over the Explicit axes of a sharding.
  Array Resharded(const Array& x, const sharding::TensorSharding& to, api::Call call) const;
  // Returns the sharding of an argument or result, in either form.
  std::optional<sharding::TensorSharding> ShardingIn(const Attribute& of_value, size_t rank) const;
  // Returns the parts over Explicit axes of the constraints right after an operation, one per
  // result; none if a result has no constraint, or one with an open dim.
  std::vector<PartitionSpec> StatedAfter(const Operation& op,
                                         std::span<const Operation* const> after) const;
  void CheckSupported();
  Arrays ReadFunction(const TextFunction& function, const Arrays& arguments);
  static void Name(const Frame& frame, const TextValue& value, bool is_one_of_several,
                   const Array& array);

  const Module& module_;
  const ImportOptions& options_;
  const TextMeshes meshes_;
  std::vector<size_t> lines_;  // where the lines of the text begin
  absl::flat_hash_map<std::string_view, const TextFunction*> functions_;
  absl::flat_hash_set<std::string_view> running_;  // functions that are being read
  absl::flat_hash_map<int64_t, Array> groups_;     // by number: the last value that joined it
  // The line of the operation that is read around the others, unless it is one of the text; and
  // the name stack in which those of a function or a manual computation are.
  std::optional<Loc> around_;
  std::string name_stack_;
  // Operations read so far, and the most that calls may make of the text.
  size_t read_ = 0, most_read_ = 0;
};

}  // namespace tessera::stablehlo

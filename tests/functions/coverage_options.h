// The options of functions on the page of coverage: those of JAX, and those of the public headers.
#pragma once
#include <map>
#include <set>
#include <string>
#include <vector>

namespace tessera::functions {

// The options of one function of JAX on the page.
struct OptionCoverage {
  size_t all = 0, ours = 0;          // without those that are left out of the count
  std::vector<std::string> missing;  // "name", or "name (reason)"
};

class OptionTable {
 public:
  OptionTable();
  // Returns how many options of JAX's function ours has. `ours` is its name inside tessera.
  OptionCoverage Of(const std::string& module, const std::string& name, const std::string& ours);
  // Returns the functions of the public headers that take an option.
  std::set<std::string> Taking(const std::string& option) const;
  // Lines of renames.txt that no option needed.
  std::vector<std::string> Unused() const;

 private:
  struct Rename {
    std::string names;   // of ours, or "!" or "~"
    std::string reason;  // of an option that is missing or not counted
    bool used = false;
  };
  // Returns the rename of an option, by the function or for all functions; null: there is none.
  Rename* Find(const std::string& module, const std::string& name, const std::string& option);

  std::map<std::string, std::vector<std::string>> jax_;  // by "module.name"
  std::map<std::string, std::set<std::string>> ours_;    // names of parameters and fields
  std::map<std::string, Rename> renames_;                // by "option" or "module.name:option"
};

}  // namespace tessera::functions

// Calls of functions by name, with operands and options that random_calls.py chose.
#pragma once
#include <tessera/tessera.h>

#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace tessera::functions {

using Json = nlohmann::json;

// One call. Options have the names of JAX's keyword arguments; one that is missing has its default.
class RandomCall {
 public:
  RandomCall(std::vector<Array> arrays, const Json& options)
      : arrays_(std::move(arrays)), options_(options) {}
  const Array& operator[](size_t i) const { return arrays_.at(i); }
  const std::vector<Array>& arrays() const { return arrays_; }
  bool has(const char* name) const { return options_.contains(name) && !options_[name].is_null(); }
  int64_t integer(const char* name, int64_t usual) const {
    return has(name) ? options_[name].get<int64_t>() : usual;
  }
  std::optional<int64_t> maybe(const char* name) const {
    return has(name) ? std::optional(options_[name].get<int64_t>()) : std::nullopt;
  }
  double number(const char* name, double usual) const {
    return has(name) ? options_[name].get<double>() : usual;
  }
  bool flag(const char* name, bool usual = false) const {
    return has(name) ? options_[name].get<bool>() : usual;
  }
  std::string text(const char* name, const char* usual) const {
    return has(name) ? options_[name].get<std::string>() : usual;
  }
  std::vector<int64_t> list(const char* name) const {
    if (!has(name)) return {};
    if (options_[name].is_number()) return {options_[name].get<int64_t>()};
    return options_[name].get<std::vector<int64_t>>();
  }
  int axis(int usual = -1) const { return static_cast<int>(integer("axis", usual)); }
  // The option axis. None means all dims.
  Dims dims(const char* name = "axis") const { return has(name) ? Dims(list(name)) : Dims(All); }
  // The operand whose number is an option, or an array that is not given.
  Array at(const char* name) const {
    return has(name) ? arrays_.at(options_[name].get<size_t>()) : Array();
  }

 private:
  std::vector<Array> arrays_;
  const Json& options_;
};

using CallTable = std::map<std::string, std::vector<Array> (*)(const RandomCall&)>;
const CallTable& NumpyCalls();
const CallTable& ElementCalls();
const CallTable& MatrixCalls();

}  // namespace tessera::functions

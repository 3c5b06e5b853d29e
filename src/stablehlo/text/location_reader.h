// Reads locations: `loc(...)`, and lines `#loc3 = loc(...)`, which may come after their uses.
#pragma once
#include <string_view>

#include "absl/container/flat_hash_map.h"
#include "stablehlo/text/attributes.h"
#include "stablehlo/text/lexer.h"
#include "stablehlo/text/tree.h"

namespace tessera::stablehlo {

class LocationReader {
 public:
  LocationReader(Module& module, Lexer& lexer, AttributeReader& attributes, int& level)
      : module_(module), lexer_(lexer), attributes_(attributes), level_(level) {}

  // Reads `loc(...)` if it is next; returns kNoLocation if it is not.
  LocationNumber Accept();
  // Reads `loc(...)` of the alias `name`, which was read.
  void Define(std::string_view name);
  // Throws an error if an alias is not defined, or if a location contains itself.
  void Finish();

 private:
  struct LocationAlias {
    LocationNumber number = kNoLocation;
    size_t place = 0;  // of its first use
  };

  LocationNumber Body();
  LocationNumber Add(const Location& location);
  LocationNumber AliasNumber();
  Location Named();
  Location Fused();
  Location CallSite();

  Module& module_;
  Lexer& lexer_;
  AttributeReader& attributes_;
  int& level_;
  absl::flat_hash_map<std::string_view, LocationAlias> aliases_;
};

}  // namespace tessera::stablehlo

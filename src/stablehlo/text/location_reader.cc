// Reads locations.
#include "stablehlo/text/location_reader.h"

#include <fmt/format.h>

#include "absl/container/inlined_vector.h"

namespace tessera::stablehlo {
namespace {

Location Of(Location::Kind kind) {
  Location location;
  location.kind = kind;
  return location;
}

}  // namespace

LocationNumber LocationReader::Add(const Location& location) {
  module_.locations.all.push_back(location);
  return static_cast<LocationNumber>(module_.locations.all.size() - 1);
}

LocationNumber LocationReader::Accept() {
  if (lexer_.Peek() != 'l' || !lexer_.Accept("loc")) return kNoLocation;
  lexer_.Expect('(');
  const LocationNumber number = Body();
  lexer_.Expect(')');
  return number;
}

LocationNumber LocationReader::AliasNumber() {
  const size_t place = lexer_.place();
  lexer_.Expect('#');
  const std::string_view name = lexer_.Word("the name of a location");
  const auto [alias, is_new] = aliases_.try_emplace(name);
  if (is_new) alias->second = {Add({}), place};
  return alias->second.number;
}

LocationNumber LocationReader::Body() {
  const Level nested(level_, lexer_);
  const char next = lexer_.Peek();
  if (next == '#') return AliasNumber();
  if (next == '"') return Add(Named());
  if (lexer_.Accept("unknown")) return Add(Of(Location::Kind::kUnknown));
  if (lexer_.Accept("callsite")) return Add(CallSite());
  if (lexer_.Accept("fused")) return Add(Fused());
  lexer_.Fail("expected a location");
}

// Reads `"name"`, `"name"(...)` or `"file":12:4 to 13:20`, `"file":12:4 to :20`.
Location LocationReader::Named() {
  Location location = Of(Location::Kind::kName);
  FileRange& range = location.range;
  range.file = attributes_.ReadString();
  if (lexer_.Accept('(')) {
    location.first = Body();
    lexer_.Expect(')');
    return location;
  }
  if (!lexer_.Accept(':')) return location;
  location.kind = Location::Kind::kFile;
  range.line = range.end_line = lexer_.SmallInteger();
  lexer_.Expect(':');
  range.column = range.end_column = lexer_.SmallInteger();
  if (lexer_.Accept("to")) {
    if (lexer_.AtNumber()) range.end_line = lexer_.SmallInteger();
    lexer_.Expect(':');
    range.end_column = lexer_.SmallInteger();
  }
  return location;
}

Location LocationReader::CallSite() {
  Location location = Of(Location::Kind::kCallSite);
  lexer_.Expect('(');
  location.first = Body();
  lexer_.Expect("at");
  location.second = Body();
  lexer_.Expect(')');
  return location;
}

// Reads `fused[...]`, or `fused<metadata>[...]`.
Location LocationReader::Fused() {
  Location location = Of(Location::Kind::kFused);
  if (lexer_.Peek() == '<') location.range.file = lexer_.Balanced();
  absl::InlinedVector<LocationNumber, 4> inside;
  lexer_.Expect('[');
  if (!lexer_.Accept(']')) {
    do inside.push_back(Body());
    while (lexer_.Accept(','));
    lexer_.Expect(']');
  }
  std::vector<LocationNumber>& fused = module_.locations.fused;
  location.first = static_cast<LocationNumber>(fused.size());
  location.second = static_cast<LocationNumber>(inside.size());
  fused.insert(fused.end(), inside.begin(), inside.end());
  return location;
}

void LocationReader::Define(std::string_view name) {
  const size_t place = lexer_.place();
  lexer_.Expect("loc");
  lexer_.Expect('(');
  const auto [alias, is_new] = aliases_.try_emplace(name);
  if (is_new) alias->second = {Add({}), place};
  const LocationNumber number = alias->second.number;
  std::vector<Location>& all = module_.locations.all;
  if (all[number].kind != Location::Kind::kUndefined)
    lexer_.FailAt(place, fmt::format("#{} is defined twice", name));
  if (lexer_.Peek() == '#') {  // another name of a location
    const LocationNumber other = AliasNumber();
    const auto first = static_cast<LocationNumber>(module_.locations.fused.size());
    module_.locations.fused.push_back(other);
    all[number] = Of(Location::Kind::kFused);
    all[number].first = first;
    all[number].second = 1;
  } else {
    const LocationNumber body = Body();
    all[number] = all[body];
    if (body == all.size() - 1) all.pop_back();
  }
  lexer_.Expect(')');
}

void LocationReader::Finish() {
  const LocationNumber cycle = module_.locations.FindCycle();
  std::string_view undefined, in_cycle;
  size_t undefined_place = lexer_.place(), cycle_place = lexer_.place();
  for (const auto& [name, alias] : aliases_) {
    const bool is_undefined =
        module_.locations.all[alias.number].kind == Location::Kind::kUndefined;
    if (is_undefined && alias.place < undefined_place)
      undefined = name, undefined_place = alias.place;
    if (alias.number == cycle) in_cycle = name, cycle_place = alias.place;
  }
  if (!undefined.empty())
    lexer_.FailAt(undefined_place, fmt::format("#{} is not defined", undefined));
  if (cycle != kNoLocation)
    lexer_.FailAt(cycle_place, fmt::format("the location #{} contains itself", in_cycle));
}

}  // namespace tessera::stablehlo

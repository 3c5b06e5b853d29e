// The cases of a conformance table: one JSON object per line.
#pragma once
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tessera/mesh.h"

namespace tessera::conformance {

using Json = nlohmann::json;

struct Function;

struct Instruction {
  std::vector<std::string> out;
  std::string op;
  Json in;                          // names of earlier values, and literals
  Json attrs;                       // an object
  std::vector<Function> functions;  // of a higher-order op
};

struct Function {
  std::vector<std::string> args;
  std::vector<Instruction> body;
  Json returns;  // names, and literals
};

struct Case {
  std::string id, theme;
  bool has_mesh = false;
  std::vector<MeshAxis> mesh;
  Json args;  // name to type text, or to an object with `type` and `data` or `weak`
  std::vector<Instruction> body;
  Json expect;
  bool gap = false, loose = false;
  Json json;  // the whole case, where it asks for propagation

  bool propagates() const { return expect.contains("rules"); }

  // Returns the name of the instruction that must be refused, or an empty text.
  std::string refused_at() const;
  // Returns JAX's message there.
  std::string refusal() const;
};

// A file's cases. Typing tables only ask for types; value tables are computed.
struct Table {
  std::string path;
  bool typing = false;
  std::vector<Case> cases;
};

// Throws std::runtime_error with the line for a file that is missing or malformed.
Table LoadTable(const std::string& path);

}  // namespace tessera::conformance

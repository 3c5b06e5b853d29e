// Meshes and shardings from a line of text, and random ones.
#pragma once
#include <gmock/gmock.h>

#include <algorithm>
#include <random>
#include <sstream>
#include <string>
#include <vector>

#include "sharding/local.h"
#include "sharding/reshard.h"
#include "sharding/tensor_sharding.h"
#include "sharding/text.h"

namespace tessera::sharding {

inline void PrintTo(const TensorSharding& s, std::ostream* os) { *os << Text(s); }

namespace testing {

// Returns the mesh "x=2 y=4".
inline const MeshDef* MeshOf(const std::string& text, std::vector<int64_t> device_ids = {}) {
  std::vector<MeshAxis> axes;
  for (size_t at = 0; at < text.size();) {
    size_t equals = text.find('=', at), end = std::min(text.find(' ', at), text.size());
    axes.push_back(
        {text.substr(at, equals - at), std::stoll(text.substr(equals + 1, end - equals - 1))});
    at = end + 1;
  }
  return MeshDef::Intern(std::move(axes), std::move(device_ids), sharding::MeshKind::kConcrete);
}

// Returns the mesh "x2y4@3,2,1,0": sizes of axes, then the order of the devices.
inline const MeshDef* CompactMesh(const std::string& text) {
  std::string axes;
  std::vector<int64_t> ids;
  size_t at = text.find('@');
  for (char c : text.substr(0, at)) {
    bool letter = std::isalpha(static_cast<unsigned char>(c));
    if (letter && !axes.empty()) axes += ' ';
    axes += c;
    if (letter) axes += '=';
  }
  std::stringstream order(at == std::string::npos ? "" : text.substr(at + 1));
  for (std::string id; std::getline(order, id, ',');) ids.push_back(std::stoll(id));
  return MeshOf(axes, std::move(ids));
}

inline std::vector<std::string> Split(const std::string& line, const std::string& by) {
  std::vector<std::string> parts;
  size_t begin = 0;
  for (size_t at; (at = line.find(by, begin)) != std::string::npos; begin = at + by.size())
    parts.push_back(line.substr(begin, at - begin));
  parts.push_back(line.substr(begin));
  return parts;
}

// Returns the sharding with these dims, `{x}, {y, z:(1)2}`, and with sets after a bar: `{x}, {}
// | unreduced={y}`.
inline TensorSharding Dims(const MeshDef* mesh, std::string text) {
  size_t bar = text.find('|');
  std::string sets = bar == std::string::npos ? "" : ", " + text.substr(bar + 2);
  std::string dims = text.substr(0, bar), quoted;
  bool name = false;
  for (char c : "[" + dims + "]" + sets) {
    bool inside = std::isalpha(static_cast<unsigned char>(c)) &&
                  quoted.find_last_of("{}=") != std::string::npos &&
                  quoted[quoted.find_last_of("{}=")] == '{';
    if (inside != name) quoted += '"';
    name = inside;
    quoted += c;
  }
  return ParseSharding("<@mesh, " + quoted + ">", mesh, Loc::Unknown());
}

// Makes random shardings, some with parts of axes. Equal seeds give equal shardings.
class Random {
 public:
  explicit Random(uint32_t seed) : engine_(seed) {}
  int64_t Below(int64_t n) { return std::uniform_int_distribution<int64_t>(0, n - 1)(engine_); }
  bool Chance(int percent) { return Below(100) < percent; }

  const MeshDef* Mesh() {
    static const char* const kMeshes[] = {"x=2",         "x=2 y=2", "x=4 y=2", "x=2 y=3",
                                          "x=2 y=2 z=2", "x=8 y=2", "x=4 y=6"};
    return MeshOf(kMeshes[Below(std::size(kMeshes))]);
  }

  // Whole axes, or both halves of an axis that 2 divides.
  AxisList Pieces(const MeshDef* mesh, bool parts) {
    AxisList pieces;
    for (int a = 0; a < mesh->rank(); ++a) {
      int64_t n = mesh->axis_size(a);
      if (parts && n > 2 && n % 2 == 0 && Chance(40)) {
        pieces.push_back({a, 1, 2});
        pieces.push_back({a, 2, n / 2});
      } else {
        pieces.push_back(WholeAxis(*mesh, a));
      }
    }
    std::shuffle(pieces.begin(), pieces.end(), engine_);
    return pieces;
  }

  TensorSharding Sharding(const MeshDef* mesh, const Shape& shape, bool parts,
                          bool unreduced = false) {
    TensorSharding s = Replicated(mesh, static_cast<int>(shape.size()));
    for (AxisPart a : Pieces(mesh, parts)) {
      if (unreduced && Chance(20)) {
        s.unreduced.push_back(a);
      } else if (!shape.empty() && Chance(70)) {
        auto d = static_cast<size_t>(Below(static_cast<int64_t>(shape.size())));
        AxisList& axes = s.dims[d].axes;
        if (shape[d] % (SizeOf(axes) * a.size) == 0) AppendMerged(axes, a);
      }
    }
    SortAndMerge(s.unreduced);
    return s;
  }

  Shape SomeShape(int64_t most_dims) {
    static constexpr int64_t kSizes[] = {1, 2, 3, 4, 6, 8, 12, 16, 24, 48};
    Shape shape(static_cast<size_t>(1 + Below(most_dims)));
    for (int64_t& size : shape) size = kSizes[Below(std::size(kSizes))];
    return shape;
  }

 private:
  std::mt19937 engine_;
};

}  // namespace testing
}  // namespace tessera::sharding

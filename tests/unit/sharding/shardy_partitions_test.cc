// Compares our partitions of ops, and the moves before and after, with Shardy on its own tests,
// which the table has. UPDATE_GOLDEN=1 rewrites our lines.
#include <fmt/format.h>

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <sstream>

#include "sharding/einsum_rule.h"
#include "sharding/partition.h"
#include "sharding/rule_text.h"
#include "testing.h"

namespace tessera::sharding {
namespace {

using testing::CompactMesh;
using testing::Dims;
using testing::Split;

constexpr const char* kFile = TESSERA_SOURCE_DIR "/tests/unit/sharding/shardy_partitions.txt";
constexpr int64_t kItemsize = 4;

struct Tensor {
  Shape shape;
  TensorSharding given;
};

struct PartitionRow {
  std::string text;  // as in the file
  const MeshDef* mesh;
  DimMap map;
  std::vector<Tensor> operands, results;
  std::vector<TensorSharding> used, made;  // by Shardy
};

// "4x32 {x}, {} ; 32 {y} + unreduced={x}"
std::vector<Tensor> Tensors(const MeshDef* mesh, const std::string& list) {
  std::vector<Tensor> tensors;
  for (std::string text : Split(list, " ; ")) {
    if (size_t plus = text.find('+'); plus != std::string::npos) text[plus] = '|';
    size_t space = text.find(' ');
    Tensor t{{}, Dims(mesh, text.substr(space + 1))};
    for (const std::string& n : Split(text.substr(0, space), "x")) t.shape.push_back(std::stoll(n));
    tensors.push_back(std::move(t));
  }
  return tensors;
}

Shapes ShapesOf(const std::vector<Tensor>& tensors) {
  Shapes shapes;
  for (const Tensor& t : tensors) shapes.push_back(&t.shape);
  return shapes;
}

DimMap MapOf(const std::string& op, const std::vector<Tensor>& operands,
             const std::vector<Tensor>& results) {
  if (op == "reshape") return ReshapeMap(operands[0].shape, results[0].shape);
  if (op[0] == '(') return ParseRule(op, Loc::Unknown());
  return ParseEinsumRule(op, ShapesOf(operands), ShapesOf(results), Loc::Unknown());
}

// Returns the sharding of each tensor; `=` stands for the given one without its unreduced axes.
std::vector<TensorSharding> Chosen(const MeshDef* mesh, const std::string& list,
                                   const std::vector<Tensor>& tensors) {
  std::vector<TensorSharding> out;
  for (const std::string& text : Split(list, " ; ")) {
    out.push_back(text == "=" ? tensors[out.size()].given : Dims(mesh, text));
    out.back().unreduced.clear();
  }
  return out;
}

// The rows, and the comment at the top of the file.
std::pair<std::string, std::vector<PartitionRow>> ReadFile() {
  std::ifstream file(kFile);
  std::string header, line;
  std::vector<PartitionRow> rows;
  while (std::getline(file, line) && !line.empty()) header += line + "\n";
  while (std::getline(file, line)) {
    std::vector<std::string> parts = Split(line, " | ");
    if (parts.size() != 5) continue;
    PartitionRow row;
    row.text = line + "\n";
    row.mesh = CompactMesh(parts[1]);
    row.operands = Tensors(row.mesh, parts[3]);
    row.results = Tensors(row.mesh, parts[4]);
    row.map = MapOf(parts[2], row.operands, row.results);
    std::getline(file, line);
    std::vector<std::string> shardy = Split(line.substr(sizeof("  shardy:")), " -> ");
    row.used = Chosen(row.mesh, shardy[0], row.operands);
    row.made = Chosen(row.mesh, Split(shardy[1], ", sends ")[0], row.results);
    rows.push_back(std::move(row));
  }
  return {header, rows};
}

// Returns the axes over which the op leaves partial results.
AxisList Partial(const PartitionRow& row) {
  AxisList partial;
  for (size_t t = 0; t < row.used.size(); ++t) {
    Projection p = Project(row.map, row.map.operands[t], row.used[t], AxisCut::kAllowed);
    for (size_t f = 0; f < p.axes.size(); ++f)
      if (row.map.factors[f].kind == FactorKind::kReduce)
        for (AxisPart a : p.axes[f])
          if (!OverlapsAny(partial, a)) partial.push_back(a);
  }
  SortAndMerge(partial);
  return partial;
}

// Adds up the reshards of the operands, an all_reduce, and the reshard to the required result.
int64_t ShardyBytes(const PartitionRow& row) {
  int64_t bytes = 0;
  for (size_t t = 0; t < row.used.size(); ++t)
    bytes += ReshardBytes(row.operands[t].shape, kItemsize, row.operands[t].given, row.used[t]);
  for (size_t t = 0; t < row.made.size(); ++t) {
    const Tensor& result = row.results[t];
    TensorSharding partial = row.made[t], reduced = row.made[t];
    partial.unreduced = Partial(row);
    reduced.unreduced = result.given.unreduced;
    bytes += ReshardBytes(result.shape, kItemsize, partial, reduced) +
             ReshardBytes(result.shape, kItemsize, reduced, result.given);
  }
  return bytes;
}

// Otherwise the count is not the bytes of padded blocks.
bool Even(const PartitionRow& row) {
  auto even = [](const std::vector<Tensor>& tensors, const std::vector<TensorSharding>& shardy) {
    for (size_t t = 0; t < tensors.size(); ++t)
      if (FirstUnevenDim(tensors[t].given, tensors[t].shape) >= 0 ||
          FirstUnevenDim(shardy[t], tensors[t].shape) >= 0)
        return false;
    return true;
  };
  return even(row.operands, row.used) && even(row.results, row.made);
}

std::string TextOf(const std::vector<TensorSharding>& chosen, const std::vector<Tensor>& tensors) {
  std::string text;
  for (size_t t = 0; t < chosen.size(); ++t) {
    TensorSharding given = tensors[t].given, s = chosen[t];
    given.unreduced.clear();
    s.unreduced.clear();
    std::string one;
    for (const DimAxes& d : s.dims) {
      one += one.empty() ? "{" : ", {";
      for (size_t a = 0; a < d.axes.size(); ++a) {
        std::string axis = AxisText(*s.mesh, d.axes[a]);
        std::erase(axis, '"');
        one += (a ? ", " : "") + axis;
      }
      one += "}";
    }
    text += (t ? " ; " : "") + (s == given ? "=" : one);
  }
  return text;
}

Partition Ours(const PartitionRow& row) {
  auto tensors = [](const std::vector<Tensor>& from) {
    std::vector<PartitionTensor> out;
    for (const Tensor& t : from) out.push_back({&t.shape, kItemsize, &t.given});
    return out;
  };
  return ChoosePartition(row.map, tensors(row.operands), tensors(row.results));
}

TEST(ShardyPartitions, CostNoMoreThanThere) {
  auto [header, rows] = ReadFile();
  EXPECT_EQ(rows.size(), 124u);
  std::string text = header;
  for (const PartitionRow& row : rows) {
    Partition ours = Ours(row);
    int64_t shardy = ShardyBytes(row);
    if (Even(row)) {
      if (Even(row)) {
        EXPECT_LE(ours.bytes, shardy) << row.text;
      }
    }
    auto line = [&](const char* whose, const auto& used, const auto& made, int64_t bytes) {
      return fmt::format("  {} {} -> {}, sends {} B\n", whose, TextOf(used, row.operands),
                         TextOf(made, row.results), bytes);
    };
    text += "\n" + row.text + line("shardy:", row.used, row.made, shardy) +
            line("ours:  ", ours.operands, ours.results, ours.bytes);
  }
  if (std::getenv("UPDATE_GOLDEN")) {
    std::ofstream(kFile) << text;
    return;
  }
  std::ifstream file(kFile);
  EXPECT_EQ(text, std::string(std::istreambuf_iterator<char>(file), {}));
}

}  // namespace
}  // namespace tessera::sharding

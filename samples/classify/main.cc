// Which licence is a passage from? `classify [FOLDER]` trains a network of two layers on the
// licence texts that every Debian installation has, over a mesh of 2 x 2 devices. Each text is
// split into blocks of words; passages of every fifth block are held back.
#include <fmt/format.h>
#include <tessera/tessera.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>
#include <stdexcept>

using namespace tessera;
namespace fs = std::filesystem;

constexpr size_t kWords = 40, kBlock = 200;  // words per passage, per block
constexpr int64_t kFeatures = 2048, kHidden = 64, kBatch = 256;

// Hashed counts of words and word pairs, one row per passage, and the labels of the rows.
struct Examples {
  std::vector<float> counts;
  std::vector<int32_t> labels;
  void add(const std::string* words, int32_t label) {
    float* row = &*counts.insert(counts.end(), kFeatures, 0);
    for (size_t i = 0; i < kWords; ++i)
      for (const std::string& w : {words[i], words[i] + " " + words[i + 1]})
        ++row[std::hash<std::string>()(w) % kFeatures];
    labels.push_back(label);
  }
  Array x() const {
    const Array all = array(counts, {.shape = Shape{labels.size(), kFeatures}});
    return all / norm(all, -1, {.keepdims = true});
  }
};

// Examples are sharded over data, hidden units over model: the second product sums over model.
struct Weights {
  Array hidden, bias, out;
};
TESSERA_FIELDS(Weights, hidden, bias, out);

Array logits(const Weights& w, Array x) {
  return matmul(relu(matmul(x, w.hidden) + w.bias), w.out, {.out_sharding = P("data", None)});
}
Array loss(const Weights& w, Array x, Array labels) {
  return -mean(sum(log_softmax(logits(w, x)) * one_hot(labels, w.out.shape(1)), -1));
}
// Returns the weights and their momentum (speed) after a step on a random batch.
std::pair<Weights, Weights> train(Weights w, Weights speed, Array key, Array x, Array labels) {
  const Array rows = random::randint(key, {kBatch}, 0, x.shape(0));
  const Weights g = grad(loss)(w, reshard(x[{rows}], P("data", None)), labels[{rows}]);
  speed = tree_map([](Array s, Array d) { return 0.9 * s - 0.5 * d; }, speed, g);
  return {tree_map([](Array a, Array s) { return a + s; }, w, speed), speed};
}

void run(const char* folder) {
  SetDeviceCount(4);
  MeshScope scope(make_mesh({{"data", 2}, {"model", 2}}));
  std::set<std::string> families;
  Examples shown, held_back;
  // Sorted, so that the files of one family follow each other.
  for (const fs::path& file : std::set<fs::path>{fs::directory_iterator(folder), {}}) {
    if (!fs::is_regular_file(file) || fs::is_symlink(file)) continue;
    std::ifstream text(file);
    const std::vector<std::string> words{std::istream_iterator<std::string>(text), {}};
    const std::string name = file.filename();
    families.insert(name.substr(0, name.find('-')));  // versions of one licence are alike
    const auto label = static_cast<int32_t>(families.size()) - 1;
    for (size_t i = 0; i < words.size() / kBlock * kBlock; i += 10)
      if (i % kBlock + kWords < kBlock)
        (i / kBlock % 5 == 4 ? held_back : shown).add(&words[i], label);
  }
  if (shown.labels.empty() || held_back.labels.empty())
    throw std::runtime_error(std::string(folder) + ": no file has a thousand words");
  const auto [k1, k2, key] = random::split<3>(random::key(0));
  const auto classes = static_cast<int64_t>(families.size());
  Weights w{random::normal(k1, {kFeatures, kHidden}, {.out_sharding = P(None, "model")}) * 0.1,
            zeros({kHidden}, {.out_sharding = P("model")}),
            random::normal(k2, {kHidden, classes}, {.out_sharding = P("model", None)}) * 0.1};
  Weights speed = tree_map([](Array a) { return zeros_like(a); }, w);
  const auto step = jit(train);
  const Array x = shown.x(), labels = array(shown.labels);
  for (int i = 0; i < 1000; ++i)
    std::tie(w, speed) = step(w, speed, random::fold_in(key, i), x, labels);
  const auto report = [&](const Examples& e, const char* which) {
    const Array right = argmax(logits(w, reshard(e.x(), P(None, None))), -1) == array(e.labels);
    fmt::print("{:.0f}% of {} {}\n", 100 * mean(right).item<float>(), e.labels.size(), which);
  };
  report(shown, "passages that were shown");
  report(held_back, "held-back passages");
}

int main(int argc, char** argv) {
  try {
    run(argc > 1 ? argv[1] : "/usr/share/common-licenses");
    return 0;
  } catch (const std::exception& e) {
    fmt::print(stderr, "classify: {}\n", e.what());
    return 1;
  }
}

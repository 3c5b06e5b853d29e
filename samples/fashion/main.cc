// Trains a convolutional network on Fashion-MNIST: 60000 images of clothes in ten classes. The
// result does not depend on the number of devices, nor on the layout.
//
//   fashion [--layout dp|fsdp|spatial] [--devices 8] [--epochs 5] [--images FOLDER] ... (--help)
//
//   images.h   the files, and images as text
//   model.h    the network, and its layouts: which dims the devices cut
//   train.h    one step: a batch, its gradient, the update
//   ../shared  the optimiser, flags, progress and curve
//
// `scripts/demo --fashion` installs the images, which are Debian's package dataset-fashion-mnist.
#include <fmt/format.h>
#include <tessera/data.h>
#include <tessera/processes.h>
#include <tessera/profile.h>

#include <algorithm>
#include <chrono>
#include <fstream>
#include <functional>
#include <numeric>

#include "../shared/flags.h"
#include "../shared/screen.h"
#include "train.h"

namespace fashion {
namespace {

struct Options {
  std::string images = "/usr/share/datasets/fashion-mnist", layout = "dp", losses, checkpoint;
  bool resume = false;
  int64_t devices = 8, epochs = 5, stop_after = 0, batch = 128, seed = 0;
  double rate = 3e-3;
};

std::vector<samples::Flag> flags_of(Options& o) {
  return {{"layout", &o.layout,
           "dp: devices cut each batch; fsdp: also the weights; spatial: the rows of images"},
          {"devices", &o.devices, "number of devices"},
          {"epochs", &o.epochs, "times that each image is seen"},
          {"stop-after", &o.stop_after, "epochs after which to stop; 0: all"},
          {"batch", &o.batch, "images per step"},
          {"rate", &o.rate, "learning rate after warm-up"},
          {"images", &o.images, "folder of the four files"},
          {"seed", &o.seed, "random seed"},
          {"losses", &o.losses, "file to write the loss of each step to; none if empty"},
          {"checkpoint", &o.checkpoint, "file to save to after each epoch; none if empty"},
          {"resume", &o.resume, "continue from the checkpoint"}};
}

template <class... T>
void say(fmt::format_string<T...> text, T&&... values) {
  if (process_index() == 0) fmt::print(text, std::forward<T>(values)...);
}

double seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

struct Epoch {
  double loss = 0, shown = 0, held_back = 0, seconds = 0;  // means of the steps; accuracies
  double waited = 0;                                       // seconds for batches
};

// All that a run needs to go on.
struct Checkpoint {
  State state;
  data::Position position;  // of the next batch
};
TESSERA_FIELDS(Checkpoint, state, position);

struct History {
  int64_t first = 0;                      // epoch
  std::vector<float> losses, accuracies;  // of the steps
  std::vector<Epoch> epochs;
};

class Run {
 public:
  explicit Run(const Options& o) : options_(o) {
    trainer_.model.layout = Layout::named(o.layout);
    check_sizes();
    shown_ = read_images(o.images, "train");
    held_back_ = read_images(o.images, "t10k");
    batches_ = shown_.count() / o.batch;
    if (batches_ == 0 || held_back_.count() == 0)
      throw std::runtime_error(fmt::format("{}: {} images do not fill a batch of {}", o.images,
                                           shown_.count(), o.batch));
    trainer_.training = {.rate = o.rate, .steps = o.epochs * batches_};
  }

  void go() {
    SetDeviceCount(static_cast<int>(options_.devices));
    MeshScope scope(make_mesh({{kDevices, options_.devices}}));
    const auto [weights_key, order_key] = random::split<2>(random::key(options_.seed));
    const data::Pipeline examples = batches_in_order_of(order_key);
    Checkpoint now{.state = trainer_.start(weights_key), .position = examples.start().position()};
    if (options_.resume) now = load_safetensors_like(options_.checkpoint, now);
    announce(now.state);
    const auto step = jit([t = trainer_](State s, Examples batch) { return t.step(s, batch); },
                          {.donate = {0}, .name = "step"});
    const History history = train(now, step, examples);
    if (process_index() == 0) show(history);
    show_mistakes(now.state.weights);
    const Examples batch = *next_of(examples.start());
    const Lowered lowered = step.lower(now.state, batch);
    show_cost(lowered, lowered.profile(now.state, batch));
  }

 private:
  // Refuses sizes that no layout can run, and to resume from nothing.
  void check_sizes() const {
    const Options& o = options_;
    if (o.resume && o.checkpoint.empty()) throw std::runtime_error("--resume needs a --checkpoint");
    for (const auto& [name, size] :
         {std::pair("devices", o.devices), {"epochs", o.epochs}, {"batch", o.batch}})
      if (size == 0) throw std::runtime_error(fmt::format("--{} must not be 0", name));
    const Model& model = trainer_.model;
    if (model.layout.cuts_rows() && model.pooled_rows() % o.devices != 0)
      throw std::runtime_error(
          fmt::format("--devices {} do not divide the {} rows of an image after two poolings",
                      o.devices, model.pooled_rows()));
    if (!model.layout.cuts_rows() && o.batch % o.devices != 0)
      throw std::runtime_error(
          fmt::format("--devices {} do not divide --batch {}", o.devices, o.batch));
  }

  // Prints the types before anything runs.
  void announce(const State& state) const {
    const std::vector<std::string> names = tree_names(state.weights);
    const std::vector<Array> weights = tree_leaves(state.weights);
    int64_t count = 0;
    for (size_t i = 0; i < names.size(); ++i) {
      say("{:<16} {}\n", names[i], type_of(weights[i]));
      count += weights[i].size();
    }
    say("{} parameters, {} images to learn from, {} held back\n\n", count, shown_.count(),
        held_back_.count());
  }

  // An epoch leaves out the images that do not fill a batch.
  data::Pipeline batches_in_order_of(Array key) const {
    const Array pixels = array(shown_.pixels, {.shape = Shape{shown_.count(), kSide, kSide}});
    return data::Pipeline(data::arrays({pixels, array(shown_.labels)}))
        .shuffle(key)
        .batch(options_.batch,
               {.drop_last = true, .out_shardings = {P(trainer_.model.layout.images)}})
        .repeat(options_.epochs)
        .prefetch(2);
  }
  static std::optional<Examples> next_of(data::Batches&& batches) { return next_of(batches); }
  static std::optional<Examples> next_of(data::Batches& batches) {
    const std::optional<std::vector<Array>> batch = batches.next();
    if (!batch) return std::nullopt;
    return Examples{.pixels = batch->at(0), .labels = batch->at(1)};
  }

  // Calls step(state, batch) for each batch from the position on.
  template <class Step>
  History train(Checkpoint& now, const Step& step, const data::Pipeline& examples) const {
    History history;
    data::Batches batches = examples.start(now.position);
    history.first = batches.epoch();
    const int64_t end =
        options_.stop_after == 0 ? options_.epochs : std::min(options_.stop_after, options_.epochs);
    samples::Progress progress(history.first * batches_, options_.epochs * batches_);
    for (int64_t epoch = history.first; epoch < end; ++epoch) {
      Epoch mean;
      const double waited = batches.waited();
      const double begin = seconds();
      for (int64_t done = 1; done <= batches_; ++done) {
        Array loss, right;
        std::tie(now.state, loss, right) = step(std::move(now.state), *next_of(batches));
        history.losses.push_back(loss.item<float>());
        history.accuracies.push_back(right.item<float>());
        mean.loss += loss.item<float>(), mean.shown += right.item<float>();
        mean.seconds = seconds() - begin;
        const auto images = static_cast<double>(options_.batch * done);
        if (process_index() == 0)
          progress.show(epoch * batches_ + done,
                        fmt::format("epoch {}  loss {:.3f}  {:.0f} images/s", epoch + 1,
                                    history.losses.back(), images / mean.seconds));
      }
      mean.loss /= static_cast<double>(batches_), mean.shown /= static_cast<double>(batches_);
      mean.waited = batches.waited() - waited;
      mean.held_back = accuracy(classes_of(now.state.weights));
      history.epochs.push_back(mean);
      now.position = batches.position();
      if (!options_.checkpoint.empty()) save_safetensors(options_.checkpoint, now);
    }
    if (process_index() == 0) progress.end();
    return history;
  }

  // Returns the class that the network gives to each held-back image.
  std::vector<int32_t> classes_of(const Params& stored) const {
    const auto classify = jit([model = trainer_.model](Params p, Array pixels) {
      return argmax(model.logits(model.layout.for_use(p), model.batch_of(pixels)), -1);
    });
    const Array all = array(held_back_.pixels, {.shape = Shape{held_back_.count(), kSide, kSide}});
    std::vector<int32_t> classes;
    for (int64_t first = 0; first < held_back_.count(); first += options_.batch) {
      // The last batch is filled with the last image.
      const Array rows = minimum(first + arange(options_.batch), held_back_.count() - 1);
      const std::vector<int32_t> some =
          gather_to_host(classify(stored, all[{rows}])).to_vector<int32_t>();
      classes.insert(classes.end(), some.begin(), some.end());
    }
    classes.resize(held_back_.labels.size());
    return classes;
  }

  double accuracy(const std::vector<int32_t>& classes) const {
    const auto right = std::inner_product(classes.begin(), classes.end(), held_back_.labels.begin(),
                                          int64_t{0}, std::plus(), std::equal_to());
    return static_cast<double>(right) / static_cast<double>(held_back_.count());
  }

  void show(const History& history) const {
    fmt::print("\nloss of each step\n{}\naccuracy of each step\n{}\n",
               samples::curve(history.losses), samples::curve(history.accuracies));
    fmt::print("epoch    loss   shown   held back   seconds   waiting for data\n");
    for (size_t i = 0; i < history.epochs.size(); ++i) {
      const Epoch& e = history.epochs[i];
      fmt::print("{:>5} {:>7.4f} {:>6.2f}% {:>10.2f}% {:>9.2f} {:>17.2f}%\n",
                 history.first + static_cast<int64_t>(i) + 1, e.loss, 100 * e.shown,
                 100 * e.held_back, e.seconds, 100 * e.waited / e.seconds);
    }
    if (options_.losses.empty()) return;
    std::ofstream file(options_.losses);
    for (float loss : history.losses) file << fmt::format("{}\n", loss);
    if (!file) throw std::runtime_error(options_.losses + ": cannot be written");
  }

  // Shows held-back images that are classified wrongly.
  void show_mistakes(const Params& weights) const {
    constexpr size_t kShown = 3;
    const std::vector<int32_t> classes = classes_of(weights);
    std::vector<std::vector<uint8_t>> images;
    std::vector<std::string> captions;
    for (size_t i = 0; i < classes.size() && images.size() < kShown; ++i) {
      const int32_t label = held_back_.labels[i];
      if (classes[i] == label) continue;
      const auto begin = held_back_.pixels.begin() + static_cast<int64_t>(i) * kSide * kSide;
      images.emplace_back(begin, begin + kSide * kSide);
      captions.push_back(fmt::format("{}, not {}", class_name(label), class_name(classes[i])));
    }
    say("\nmistakes\n{}", pictures(images, captions));
  }

  // Prints the communication of a step, and the kernels and exchanges that take the most time.
  static void show_cost(const Lowered& step, const Profile& profile) {
    constexpr size_t kShown = 8;
    say("\ncommunication of a step:\n{}", step.comm());
    say("memory of a step: at most {:.1f} MiB per device\n\nshare of a step's time\n",
        static_cast<double>(step.peak_bytes()) / (1 << 20));
    double all = 0;
    for (const ProfileStep& s : profile.steps()) all += s.seconds;
    for (size_t i = 0; i < std::min(kShown, profile.steps().size()); ++i)
      say("{:5.1f}%  {}\n", 100 * profile.steps()[i].seconds / all, profile.steps()[i].name);
  }

  const Options options_;
  Trainer trainer_;
  Images shown_, held_back_;
  int64_t batches_ = 0;  // per epoch
};

}  // namespace
}  // namespace fashion

int main(int argc, char** argv) {
  try {
    fashion::Options options;
    if (samples::parse({argv + 1, argv + argc}, fashion::flags_of(options)))
      fashion::Run(options).go();
    return 0;
  } catch (const std::exception& e) {
    fmt::print(stderr, "fashion: {}\n", e.what());
    return 1;
  }
}

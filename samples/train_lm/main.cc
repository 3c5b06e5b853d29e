// Trains a language model of characters on a text. The result does not depend on mesh and layout.
//
//   train_lm [--text FILE | FOLDER] [--mesh 4x2] [--layout dp+tp] [--steps 300] ... (--help)
//
//   model.h      the transformer, and its layouts: the mesh axes that shard each dim
//   train.h      one step: micro-batches, the sum of their gradients, the update
//   text.h       characters as numbers, and a bigram table as the baseline
//   ../shared    the optimiser, flags, progress and curve
//
// The whole run is a function of its State, which is saved as one file. A run that resumes from it
// gives the same bits, or, on another mesh or in another layout, the same numbers; and with
// --deterministic the same bits there too. The processes of
// mpirun train together, and as many as fit the mesh may resume. Process 0 prints.
#include <fmt/format.h>
#include <tessera/deterministic.h>
#include <tessera/processes.h>

#include <chrono>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <optional>
#include <sstream>

#include "../shared/flags.h"
#include "../shared/screen.h"
#include "fma_peak.h"
#include "text.h"
#include "train.h"

namespace train_lm {
namespace {

struct Options {
  std::string text = "/usr/share/common-licenses", mesh = "4x2", layout = "dp+tp";
  std::string out = "train_lm.out";
  int64_t steps = 400, batch = 32, micro_batches = 1, save_every = 100, sample = 400, seed = 0;
  Sizes sizes;
  double dropout = 0.1, rate = 3e-3;
  bool resume = false, deterministic = false;
};

std::vector<samples::Flag> flags_of(Options& o) {
  return {{"text", &o.text, "a file, or a folder of them"},
          {"mesh", &o.mesh, "devices along axes data and model"},
          {"layout", &o.layout, "dp, fsdp, tp, dp+tp, or auto: Tessera lays out axis model"},
          {"layers", &o.sizes.layers, "layers of the model"},
          {"width", &o.sizes.width, "numbers per character between layers"},
          {"heads", &o.sizes.heads, "attention heads, which divide the width"},
          {"hidden", &o.sizes.hidden, "hidden units of each layer"},
          {"context", &o.sizes.context, "characters per sequence"},
          {"batch", &o.batch, "sequences per step"},
          {"micro-batches", &o.micro_batches, "parts of a batch, computed one after the other"},
          {"steps", &o.steps, "number of steps"},
          {"rate", &o.rate, "learning rate after warm-up"},
          {"dropout", &o.dropout, "share of activations that are dropped in training"},
          {"seed", &o.seed, "random seed"},
          {"out", &o.out, "checkpoint folder"},
          {"save-every", &o.save_every, "steps between checkpoints"},
          {"sample", &o.sample, "characters to write at the end"},
          {"resume", &o.resume, "continue from the checkpoint"},
          {"deterministic", &o.deterministic, "the same bits on every mesh, for more time"}};
}

std::pair<int64_t, int64_t> mesh_sizes(const std::string& text) {
  int data = 0, model = 0, end = 0;
  if (std::sscanf(text.c_str(), "%dx%d%n", &data, &model, &end) != 2 || text[end] != 0 ||
      data < 1 || model < 1)
    throw std::runtime_error("--mesh takes two sizes, as 4x2, not \"" + text + "\"");
  return {data, model};
}

volatile std::sig_atomic_t interrupted = 0;

bool prints() { return process_index() == 0; }
template <class... T>
void say(fmt::format_string<T...> text, T&&... values) {
  if (prints()) fmt::print(text, std::forward<T>(values)...);
}

double seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

class Run {
 public:
  explicit Run(const Options& o)
      : options_(o), text_(read_text(o.text)), layout_(Layout::named(o.layout)) {
    check_sizes();
    const auto characters = static_cast<int64_t>(text_.alphabet.size());
    trainer_ = {.model = {.sizes = o.sizes, .layout = layout_},
                .training = {.rate = o.rate, .steps = o.steps},
                .batch = o.batch,
                .micro_batches = o.micro_batches,
                .dropout = o.dropout};
    // More numbers than characters, so that layouts can shard them.
    trainer_.model.sizes.characters = (characters + 23) / 24 * 24;
  }

  int go() {
    const auto [data, model] = mesh_sizes(options_.mesh);
    SetDeviceCount(static_cast<int>(data * model));
    {
      MeshScope scope(make_mesh({{"data", data}, {"model", model, layout_.split_mode}}));
      trainer_.model.layout =
          layout_.fitted(trainer_.model.sizes, options_.batch / options_.micro_batches,
                         [](const std::string& line) { say("{}\n", line); });
      State state = begin();
      state = train(std::move(state));
      if (interrupted) return 130;
      say("\nloss of each step\n{}", samples::curve(state.losses.to_vector<float>()));
      say("\nheld-back text: loss {:.3f} per character, bigram table {:.3f}\n",
          held_back_loss(state), bigram_loss(text_));
    }
    if (options_.sample > 0) say("\n{}\n", generate());
    return 0;
  }

 private:
  // Refuses sizes that no layout can run.
  void check_sizes() const {
    const Options& o = options_;
    for (const auto& [name, size] : {std::pair("steps", o.steps),
                                     {"save-every", o.save_every},
                                     {"layers", o.sizes.layers},
                                     {"width", o.sizes.width},
                                     {"hidden", o.sizes.hidden},
                                     {"context", o.sizes.context},
                                     {"batch", o.batch}})
      if (size == 0) throw std::runtime_error(fmt::format("--{} must not be 0", name));
    if (o.dropout >= 1) throw std::runtime_error("--dropout is a share, less than 1");
    const auto divides = [](int64_t part, int64_t whole) { return part > 0 && whole % part == 0; };
    if (!divides(o.sizes.heads, o.sizes.width) || !divides(2, o.sizes.width / o.sizes.heads))
      throw std::runtime_error("--heads must split --width into parts of an even size");
    if (!divides(o.micro_batches, o.batch))
      throw std::runtime_error("--micro-batches must split --batch into equal parts");
    if (static_cast<int64_t>(text_.held_back.size()) < o.batch * (o.sizes.context + 1))
      throw std::runtime_error(
          "a tenth of the text must fill a batch: reduce --batch or --context");
  }

  std::string file() const { return options_.out + "/state.safetensors"; }

  // The settings that a run shares with the run that it resumes.
  std::string identity() const {
    const Options& o = options_;
    const Sizes& s = o.sizes;
    return fmt::format(
        "text {} alphabet {} width {} heads {} hidden {} layers {} context {} batch {} "
        "micro-batches {} steps {} rate {} dropout {} seed {}",
        text_.train.size(), text_.alphabet.size(), s.width, s.heads, s.hidden, s.layers, s.context,
        o.batch, o.micro_batches, o.steps, o.rate, o.dropout, o.seed);
  }

  void save(const State& state) const {
    save_safetensors(file(), state, {.metadata = {{"run", identity()}}});
    if (!prints()) return;
    std::ofstream losses(options_.out + "/losses.txt");
    for (float loss : state.losses.to_vector<float>()) losses << fmt::format("{}\n", loss);
  }

  State begin() const {
    std::filesystem::create_directories(options_.out);
    State state = trainer_.start(options_.seed);
    if (!options_.resume) return state;
    const std::string saved = load_safetensors_metadata(file())["run"];
    if (saved != identity())
      throw std::runtime_error(fmt::format("{} is from a different run\n  saved: {}\n  asked: {}",
                                           file(), saved, identity()));
    return load_safetensors_like(file(), state);
  }

  // Prints the types and the communication of a step before it runs.
  void announce(const State& state, const Lowered& step, double peak) const {
    const std::vector<std::string> names = tree_names(state.weights);
    const std::vector<Array> weights = tree_leaves(state.weights);
    // One line per value, arguments first: the propagated shardings, which types do not show.
    std::istringstream places(dump_shardings(step.program()));
    fmt::print("{} characters of text, {} different, on the mesh {}\n\n",
               text_.train.size() + text_.held_back.size(), text_.alphabet.size(), current_mesh());
    int64_t count = 0;
    for (size_t i = 0; i < names.size(); ++i) {
      std::string place;
      std::getline(places, place);
      const bool automatic = layout_.split_mode == Auto;
      fmt::print("{:<22} {}{}\n", names[i], type_of(weights[i]),
                 automatic ? place.substr(place.find(" : ")) : "");
      count += weights[i].size();
    }
    fmt::print("{} parameters\n\ncommunication of a step:\n{}", count, step.comm());
    fmt::print(
        "memory of a step: at most {:.1f} MiB per device\nmeasured FMA peak: {:.0f} GFLOP/s\n\n",
        static_cast<double>(step.peak_bytes()) / (1 << 20), peak / 1e9);
  }

  State train(State state) const {
    const auto step =
        jit([t = trainer_](State s, Array text) { return t.step(std::move(s), text); },
            {.donate = {0}, .name = "step"});
    const Array text = array(text_.train);
    KeyReuseCheck check;  // a key that is used twice would be an error here
    // Lowered from types: over Auto axes a concrete array already has a sharding.
    const Lowered lowered = step.lower(abstract_like(state), text);
    const double peak = prints() ? measured_fma_peak() : 1;
    if (prints()) announce(state, lowered, peak);
    const double flops =
        static_cast<double>(lowered.split_flops()) * static_cast<double>(current_mesh().size());
    const auto tokens = static_cast<double>(options_.batch * options_.sizes.context);

    std::signal(SIGINT, [](int) { interrupted = 1; });
    int64_t done = state.step.item<int>();
    samples::Progress progress(done, options_.steps);
    double begin = seconds();
    while (done < options_.steps && !interrupted) {
      state = step(std::move(state), text);
      const double loss = state.losses[done++].item<double>();
      const double now = seconds(), rate = 1 / (now - begin);
      begin = now;
      if (prints())
        progress.show(done, fmt::format("loss {:.3f}  {:.0f} tokens/s  {:.1f}% of the FMA peak",
                                        loss, tokens * rate, 100 * flops * rate / peak));
      if (done % options_.save_every == 0 && done < options_.steps) save(state);
    }
    if (prints()) progress.end();
    save(state);
    say("{} {}\n", interrupted ? "stopped; --resume continues from" : "saved", file());
    return state;
  }

  double held_back_loss(const State& state) const {
    const Model& model = trainer_.model;
    const int64_t length = model.sizes.context + 1, each = options_.batch * length;
    const auto loss = jit([model](Params weights, Array text) {
      weights = tree_map([&](Array w) { return model.layout.for_use(w); }, weights);
      return model.loss(weights, reshard(text, P(model.layout.batch, None)), random::key(0), 0);
    });
    double sum = 0;
    int64_t batches = 0;
    for (const int32_t* at = text_.held_back.data();
         at + each <= text_.held_back.data() + text_.held_back.size(); at += each, ++batches)
      sum +=
          loss(state.weights, array(std::span(at, each), {.shape = Shape{options_.batch, length}}))
              .item<double>();
    return sum / static_cast<double>(batches);
  }

  // Returns the text that the model writes after the first characters of the held-back text. One
  // device is enough for one sequence, so the file is loaded onto another mesh.
  std::string generate() const {
    MeshScope scope(make_mesh({{"data", 1}, {"model", 1}}));
    Trainer alone = trainer_;
    alone.model.layout = Layout::named("dp");
    const Model& model = alone.model;
    const Params weights = load_safetensors_like(file(), alone.start(options_.seed)).weights;
    const auto characters = static_cast<int64_t>(text_.alphabet.size());
    const auto next = [&](Array window, Array key) {
      const Array z = model.logits(weights, window[None], key, 0)[{0, -1, Slice(0, characters)}];
      const Array character = random::categorical(key, z).astype(i32);
      return std::pair(concatenate({window[Slice(1, None)], character[None]}), character);
    };
    const std::vector<int32_t> start(text_.held_back.begin(),
                                     text_.held_back.begin() + model.sizes.context);
    const Array keys = random::split(random::key(options_.seed), options_.sample);
    const Array written = gather_to_host(scan(next, array(start), keys).second);
    return text_.decode(start) + " >>> " + text_.decode(written.to_vector<int32_t>());
  }

  Options options_;
  Text text_;
  Layout layout_;
  Trainer trainer_;
};

}  // namespace
}  // namespace train_lm

int main(int argc, char** argv) {
  try {
    train_lm::Options options;
    if (!samples::parse({argv + 1, argv + argc}, train_lm::flags_of(options))) return 0;
    std::optional<tessera::Deterministic> scope;
    if (options.deterministic) scope.emplace();
    return train_lm::Run(options).go();
  } catch (const std::exception& e) {
    fmt::print(stderr, "train_lm: {}\n", e.what());
    return 1;
  }
}

// Lesson 6: batch parallelism, then Megatron, then ZeRO: one more constraint each time.
//
// A priority says when a constraint is carried to its neighbours: p0 first, then p1, then p2. What
// is decided stays, so each layer of this lesson adds to the ones before and cannot undo them.
#include <tessera/tessera.h>

#include <iostream>

using namespace tessera;

enum class Plan { kBatch, kMegatron, kZero };

// A block of a transformer, its attention left out: x + relu(norm(x) w1) w2.
Array block(Array x, Array w1, Array w2, Plan plan) {
  // p0, batch parallel: each device has some of the rows and all weights.
  x = with_sharding_constraint(x, P(Closed("data").priority(0), Open()));
  // p2, ZeRO: no device keeps a whole weight, not even its part of model; data cuts them further.
  if (plan >= Plan::kZero) {
    w1 = with_sharding_constraint(w1, P(Open("data").priority(2), Open()));
    w2 = with_sharding_constraint(w2, P(Open(), Open("data").priority(2)));
  }
  Array h = relu(matmul(layer_norm(x, 1.0f, 0.0f), w1));
  // p1, Megatron: the columns of h over model. Propagation cuts the columns of w1 and the rows of
  // w2 likewise, so each device needs only its part of both.
  if (plan >= Plan::kMegatron) {
    h = with_sharding_constraint(h, P(Open(), Open("model").priority(1)));
  }
  return x + matmul(h, w2);
}

// What each plan should send, and why. The golden file of this lesson holds it to that.
const char* expected(Plan plan) {
  if (plan == Plan::kBatch) return "batch parallel: nothing, rows do not meet";
  if (plan == Plan::kMegatron) return "Megatron: one all_reduce over model, of partial sums over h";
  return "ZeRO: that, and an all_gather over data of each weight, just before it is used";
}

int main() {
  SetDeviceCount(8);
  auto program = jit(block);
  Array x = arange(512.0 * 32).reshape({512, 32}) % 17 / 17;
  Array w1 = arange(32.0 * 64).reshape({32, 64}) % 13 / 13 - 0.5;
  Array w2 = arange(64.0 * 32).reshape({64, 32}) % 11 / 11 - 0.5;
  std::vector<float> alone;
  {
    MeshScope one(make_mesh({{"data", 1, Auto}, {"model", 1, Auto}}));
    alone = program(x, w1, w2, Plan::kZero).to_vector<float>();
  }

  // 1. Eight devices: what is sent, and that the numbers are those of one device.
  {
    MeshScope scope(make_mesh({{"data", 2, Auto}, {"model", 4, Auto}}));
    for (Plan plan : {Plan::kBatch, Plan::kMegatron, Plan::kZero}) {
      std::cout << expected(plan) << "\n" << program.lower(x, w1, w2, plan).comm();
      Array off = program(x, w1, w2, plan) - array(alone, {.shape = x.shape()});
      std::cout << (max(abs(off)).item<double>() < 1e-4 ? "same numbers as one device"
                                                        : "OTHER NUMBERS")
                << "\n\n";
    }
  }

  // 2. 64 devices that do not exist, with the sizes of a real model. Arguments without data may lie
  // anywhere: the first line of a propagated program says where each should.
  MeshScope scope(abstract_mesh({{"data", 8, Auto}, {"model", 8, Auto}}));
  Array tokens = abstract_array("f32[65536,4096]");
  Array up = abstract_array("f32[4096,16384]"), down = abstract_array("f32[16384,4096]");
  for (Plan plan : {Plan::kBatch, Plan::kMegatron, Plan::kZero}) {
    Lowered lowered = program.lower(tokens, up, down, plan);
    std::string text = lowered.propagated().text();
    size_t begin = text.find("func"), end = text.find('\n', begin);
    std::cout << expected(plan) << "\n" << text.substr(begin, end - begin) << "\n";
    std::cout << lowered.comm() << lowered.peak_bytes() / (1 << 20) << " MiB per device\n\n";
  }
}

// faults CASE [STALL_SECONDS]: one fault of a program that runs as several processes. check.sh says
// which ones must end how.
#include <fmt/format.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <tessera/processes.h>
#include <tessera/tessera.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <map>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

using namespace tessera;

namespace {

// Prints the time, from which check.sh counts until the job ends.
void Fault() {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  fmt::print("fault at {}\n", now / std::chrono::milliseconds(1));
  std::fflush(stdout);
}

void Sleep(double seconds) { std::this_thread::sleep_for(std::chrono::duration<double>(seconds)); }

bool IsLast() { return process_index() == process_count() - 1; }

Array Sharded() { return reshard(arange(4 * DeviceCount(), {.dtype = f32}), P("x")); }
Mesh MakeLine() { return make_mesh({{"x", DeviceCount()}}); }

Array Double(Array x) { return sum(x * 2.0f); }

// Called by another thread, which has no mesh in scope.
void DoubleOnMesh(Array x) {
  const MeshScope mesh(MakeLine());
  Double(std::move(x));
}

// Returns an array without a mesh that differs between processes.
Array ValueOfProcess() {
  const MeshScope none{Mesh()};
  return array({static_cast<float>(process_index())}).at(0).get();
}

// Adds the elements over all processes for some seconds.
void Compute(double seconds) {
  auto f = jit(Double);
  const Array x = Sharded();
  for (double left = seconds; left > 0; left -= 0.01) {
    const int64_t n = x.size();
    if (f(x).item<float>() != static_cast<float>(n * (n - 1)))
      throw std::logic_error("the sum is wrong");
    Sleep(0.01);
  }
}

// Fails on one process, in a run with sums over all processes.
Array Failing(Array x) {
  debug_callback(
      [](Array sum) {
        if (IsLast()) {
          Fault();
          throw std::runtime_error("no more " + std::to_string(sum.item<float>() > 0));
        }
      },
      {sum(x)}, {.ordered = true});
  return sum(x * 3.0f) / sum(x);
}

using Cases = std::map<std::string, std::function<void()>>;

// Cases without a mesh in scope.
const Cases kStarts = {
    {"callbacks_are_equal",  // though only one process has made other ones before
     [] {
       if (IsLast()) debug_callback([](Array) {}, {ones({2})});
       const MeshScope mesh(MakeLine());
       jit([](Array a) {
         debug_callback([](Array) {}, {sum(a)});
         return a * 2.0f;
       })(Sharded());
     }},
    {"devices_differ",
     [] {
       SetDeviceCount(process_count() * (IsLast() ? 4 : 2));
       const MeshScope mesh(make_mesh({{"x", 2}}));
       Sharded();
     }},
    {"meshes_differ",
     [] {
       const MeshScope mesh(make_mesh({{IsLast() ? "y" : "z", DeviceCount()}}));
       ones({4}) + 1;
       reshard(ones({24}), P()) + 1;
     }},
    {"uneven_devices", [] { SetDeviceCount(2 * process_count() - 1); }},
    {"few_devices", [] { SetDeviceCount(process_count() - 1); }},
};

// Cases with a mesh of all devices in scope.
const Cases kCases = {
    {"fine", [] { Compute(0.1); }},
    {"programs_differ",
     [] {
       const Array x = Sharded();
       if (IsLast()) {
         Fault();
         jit([](Array a) { return sum(a + 2.0f); })(x);
       } else {
         jit([](Array a) { return sum(a * 2.0f); })(x);
       }
     }},
    {"constants_differ",
     [] { jit([](Array a) { return a * static_cast<float>(process_index()); })(Sharded()); }},
    {"options_differ",
     [] {
       const Array x = Sharded();
       auto f = jit([](Array a) { return a * 2.0f; });
       if (!IsLast()) {
         f(x);
         return;
       }
       const NanWatch watch;
       f(x);
     }},
    {"values_differ",
     [] {
       const Array x = Sharded();
       jit([](Array a, Array b) { return a * b; })(x, ValueOfProcess());
     }},
    {"shards_differ",
     [] {
       std::vector<Shard> shards;
       for (int64_t d : local_devices())
         shards.push_back(make_shard<float>(d, {{0, 2}}, {1, float(process_index() == 0)}));
       sum(array_from_shards(shards, P(None)));
     }},
    {"shapes_differ",
     [] {
       const int64_t size = (IsLast() ? 2 : 1) * DeviceCount();
       reshard(arange(size, {.dtype = f32}), P("x"));
     }},
    {"compiled_on_one",
     [] {
       const Array x = Sharded();
       if (process_index() == 0) x * 2.0f;
     }},
    {"run_on_one",
     [] {
       auto f = jit(Double);
       const Array x = Sharded();
       f(x);
       if (process_index() == 0) f(x);
     }},
    {"extra_call_on_one",  // of a program that all processes run
     [] {
       auto f = jit(Double);
       const Array x = Sharded();
       f(x);
       if (process_index() == 0) f(x);
       f(x);
     }},
    {"calls_in_another_order",  // of one program, on one line
     [] {
       auto f = jit([](Array a, Array b) { return sum(a) + sum(b); });
       const Array x = Sharded(), y = reshard(arange(8 * DeviceCount(), {.dtype = f32}), P("x"));
       const auto [first, second] = IsLast() ? std::pair(x, y) : std::pair(y, x);
       f(x, y), f(y, x);
       f(first, second), f(second, first);
     }},
    {"sums_in_another_order",  // by collectives of MPI, of other sizes
     [] {
       auto f = jit([](Array a) { return sum(a, 0); });
       const Array x = reshard(ones({DeviceCount(), 1 << 20}), P("x"));
       const Array y = reshard(ones({DeviceCount(), 1 << 15}), P("x"));
       f(x), f(y);
       if (IsLast()) f(x);
       f(y);
     }},
    {"different_calls_and_all_go_on",
     [] {
       auto f = jit(Double);
       const Array x = Sharded();
       f(x);
       try {
         if (IsLast())
           f(x);
         else
           f(x);
         fmt::print("no error\n");
       } catch (const RuntimeError& e) {
         fmt::print("process {} caught: {}\n", process_index(), e.what());
       }
       Compute(0.5);
     }},
    {"gathered_on_one",
     [] {
       const Array x = Sharded();
       gather_to_host(x);
       if (process_index() == 0) gather_to_host(x);
     }},
    {"saved_on_one",
     [] {
       const Array x = Sharded();
       if (process_index() == 0) save_npy("/tmp/tessera_faults.npy", x);
     }},
    {"save_paths_differ",
     [] { save_npy(fmt::format("/tmp/tessera_faults{}.npy", process_index()), Sharded()); }},
    {"saved_trees_differ",
     [] {
       std::map<std::string, Array> tree{{"a", Sharded()}};
       if (process_index() == 0) tree["b"] = tree["a"];
       save_safetensors("/tmp/tessera_faults.safetensors", tree);
     }},
    {"save_fails",  // check.sh looks for the unfinished file
     [] {
       signal(SIGXFSZ, SIG_IGN);
       const rlimit most{1024, 1024};
       setrlimit(RLIMIT_FSIZE, &most);
       save_npy("/tmp/tessera_faults.npy", zeros({DeviceCount(), 1024}, {.out_sharding = P("x")}));
     }},
    {"deadlock_and_all_go_on",
     [] {
       auto f = jit(Double);
       const Array x = Sharded();
       f(x);
       try {
         if (process_index() == 0)
           f(x);
         else
           save_npy("/tmp/tessera_faults.npy", x);
       } catch (const RuntimeError& e) {
         fmt::print("process {} caught: {}\n", process_index(), e.what());
       }
       Compute(0.1);
     }},
    {"throws",
     [] {
       Compute(0.1);
       if (IsLast()) {
         Fault();
         throw std::runtime_error("this one throws");
       }
       Compute(10);
     }},
    {"throws_error",
     [] {
       Compute(0.1);
       if (IsLast()) {
         Fault();
         reshape(Sharded(), {5, 5});
       }
       Compute(10);
     }},
    {"exits",
     [] {
       Compute(0.1);
       if (IsLast()) {
         Fault();
         std::exit(3);
       }
       Compute(10);
     }},
    {"exits_in_order",
     [] {
       Compute(0.1);
       std::exit(0);
     }},
    {"killed",
     [] {
       Compute(0.1);
       if (IsLast()) {
         Fault();
         kill(getpid(), SIGKILL);
       }
       Compute(10);
     }},
    {"segfaults",
     [] {
       Compute(0.1);
       if (IsLast()) {
         Fault();
         kill(getpid(), SIGSEGV);
       }
       Compute(10);
     }},
    {"stopped",  // for three seconds, by a child
     [] {
       Compute(0.1);
       if (IsLast()) {
         const pid_t parent = getpid();
         if (const pid_t child = fork(); child == 0) {
           Sleep(3);
           kill(parent, SIGCONT);
           _exit(0);
         } else {
           raise(SIGSTOP);
           waitpid(child, nullptr, 0);
         }
       } else {
         Sleep(0.5);  // The others wait for a process that has stopped for certain.
       }
       Compute(0.1);
     }},
    {"busy",
     [] {
       Compute(0.1);
       if (IsLast()) Sleep(2.5);
       Compute(0.1);
     }},
    {"run_fails", [] { jit(Failing)(Sharded()); }},
    {"run_fails_and_all_go_on",
     [] {
       auto f = jit(Failing);
       const Array x = Sharded();
       try {
         f(x);
         fmt::print("no error\n");
       } catch (const RuntimeError& e) {
         fmt::print("process {} caught: {}\n", process_index(), e.what());
       }
       Compute(0.1);
     }},
    {"run_fails_and_one_goes_on",
     [] {
       auto f = jit(Failing);
       const Array x = Sharded();
       try {
         f(x);
       } catch (const RuntimeError& e) {
         if (!IsLast()) throw;
       }
       Sleep(10);
     }},
    {"threads_overlap",
     [] {
       const Array x = Sharded();
       jit([&](Array a) {
         debug_callback([&](Array) { std::thread(DoubleOnMesh, x).join(); }, {a});
         return sum(a);
       })(x);
     }},
    {"threads_overlap_on_one",  // which catches the error
     [] {
       const Array x = Sharded();
       const auto try_double = [&] {
         try {
           DoubleOnMesh(x);
         } catch (const RuntimeError& e) {
           fmt::print("process {} caught: {}\n", process_index(), e.what());
         }
       };
       jit([&](Array a) {
         debug_callback(
             [&](Array) {
               if (IsLast()) std::thread(try_double).join();
             },
             {a});
         return sum(a);
       })(x);
       Compute(0.1);
     }},
    {"read_elsewhere", [] { Sharded().to_vector<float>(); }},
    {"second_scope", [] { const Processes again(nullptr, nullptr); }},
};

int RunCase(int argc, char** argv, const std::string& name) {
  const Processes processes(&argc, &argv, {.stall_seconds = argc > 2 ? std::atof(argv[2]) : 30});
  SetDeviceCount(2 * process_count());
  if (kStarts.contains(name)) {
    kStarts.at(name)();
    return 0;
  }
  const MeshScope mesh(MakeLine());
  kCases.at(name)();
  return 0;
}

// Calls f. If it throws, prints the error and returns 1.
template <class F>
int Caught(F f) {
  try {
    f();
    return 0;
  } catch (const Error& e) {
    const std::string text = fmt::format("{}\n", e.what());
    std::fputs(text.c_str(), stderr);
    return 1;
  }
}

// Cases that make the Processes scope themselves, or none.
using Mains = std::map<std::string, std::function<int(int argc, char** argv)>>;
const Mains kMains = {
    {"array_after_scope",
     [](int argc, char** argv) {
       Array part, all;
       {
         const Processes processes(&argc, &argv);
         SetDeviceCount(2 * process_count());
         const MeshScope mesh(MakeLine());
         part = Sharded();
         all = reshard(part, P(None));
       }
       fmt::print("{} elements\n", all.to_vector<float>().size());
       for (const auto& read : {+[](Array x) { x.to_vector<float>(); },
                                +[](Array x) { x.addressable_shards(); }, +[](Array x) { x + x; }})
         Caught([&] { read(part); });
       return 0;
     }},
    {"program_after_scope",
     [](int argc, char** argv) {
       auto f = jit(Double);
       Array x;
       {
         const Processes processes(&argc, &argv);
         SetDeviceCount(2 * process_count());
         const MeshScope mesh(MakeLine());
         x = reshard(Sharded(), P(None));
         f(x);
       }
       const MeshScope mesh(MakeLine());
       fmt::print("{}\n", f(x).item<float>());
       return 0;
     }},
    {"throws_after_scope",
     [](int argc, char** argv) {
       bool is_last = false;
       {
         const Processes processes(&argc, &argv);
         is_last = IsLast();
       }
       if (is_last) throw std::runtime_error("this one throws");
       return 0;
     }},
    {"scope_after_scope",
     [](int argc, char** argv) {
       { const Processes first(&argc, &argv); }
       Caught([&] { const Processes second(&argc, &argv); });
       return 0;
     }},
    {"scope_after_count",
     [](int argc, char** argv) {
       SetDeviceCount(4);
       return Caught([&] { const Processes late(&argc, &argv); });
     }},
    {"scope_after_mesh",
     [](int argc, char** argv) {
       const MeshScope mesh(MakeLine());
       return Caught([&] { const Processes late(&argc, &argv); });
     }},
    {"scope_after_array",
     [](int argc, char** argv) {
       std::optional<MeshScope> mesh(MakeLine());
       const Array x = Sharded();
       mesh.reset();
       return Caught([&] { const Processes late(&argc, &argv); });
     }},
    {"scope_on_some",
     [](int argc, char** argv) {
       const char* rank = std::getenv("OMPI_COMM_WORLD_RANK");
       if (rank && rank == std::string("1")) Sleep(20);
       const Processes processes(&argc, &argv, {.stall_seconds = 2});
       return 0;
     }},
    {"no_scope",
     [](int, char**) {
       for (int i = 0; i < 2; ++i) const MeshScope mesh(MakeLine());
       return 0;
     }},
    {"other_launcher",  // check.sh sets the variables of another one
     [](int argc, char** argv) {
       return Caught([&] { const Processes processes(&argc, &argv); });
     }},
};

}  // namespace

int main(int argc, char** argv) {
  const std::string name = argc > 1 ? argv[1] : "";
  if (kMains.contains(name)) return kMains.at(name)(argc, argv);
  if (name == "leaves_scope") {
    try {
      return RunCase(argc, argv, "throws");
    } catch (const std::exception& e) {
      fmt::print("caught: {}\n", e.what());
      return 1;
    }
  }
  if (!kCases.contains(name) && !kStarts.contains(name)) {
    fmt::print("there is no case \"{}\"\n", name);
    return 2;
  }
  return RunCase(argc, argv, name);
}

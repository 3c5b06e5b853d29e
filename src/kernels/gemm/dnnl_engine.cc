// oneDNN's engine, and the number of threads of OpenMP.
#include "kernels/gemm/dnnl_engine.h"

#include <dlfcn.h>

namespace tessera::kernels {
namespace {

struct OmpFunctions {
  int (*get)() = nullptr;
  void (*set)(int) = nullptr;
};

const OmpFunctions& Omp() {
  static const OmpFunctions functions = [] {
    OmpFunctions f;
    f.get = reinterpret_cast<int (*)()>(dlsym(RTLD_DEFAULT, "omp_get_max_threads"));
    f.set = reinterpret_cast<void (*)(int)>(dlsym(RTLD_DEFAULT, "omp_set_num_threads"));
    if (f.set == nullptr) f.get = nullptr;
    return f;
  }();
  return functions;
}

}  // namespace

const dnnl::engine& DnnlEngine() {
  static const dnnl::engine engine(dnnl::engine::kind::cpu, 0);
  return engine;
}

OneThread::OneThread() : old_(Omp().get == nullptr ? 1 : Omp().get()) {
  if (old_ != 1) Omp().set(1);
}
OneThread::~OneThread() {
  if (old_ != 1) Omp().set(old_);
}

}  // namespace tessera::kernels

// oneDNN's engine, and calls that use one thread.
#pragma once
#include <oneapi/dnnl/dnnl.hpp>

namespace tessera::kernels {

const dnnl::engine& DnnlEngine();

// Scope in which oneDNN's OpenMP creates no threads for the calling thread. The number of threads
// is a setting of each thread; libgomp is present because oneDNN links it.
class OneThread {
 public:
  OneThread();
  ~OneThread();
  OneThread(const OneThread&) = delete;

 private:
  int old_;
};

}  // namespace tessera::kernels

// Makes layouts of values that one process has.
#include "plan/localise/whole_layouts.h"

namespace tessera::plan {

Layout PrivateLayout(const Layout& like, size_t instances) {
  Layout layout = like;
  const int32_t device = like.device_of_instance.empty() ? 0 : like.device_of_instance[0];
  layout.instances = static_cast<int32_t>(instances);
  layout.device_of_instance.assign(instances, device);
  std::fill(layout.instance_of_device.begin(), layout.instance_of_device.end(), kElsewhere);
  return layout;
}

}  // namespace tessera::plan

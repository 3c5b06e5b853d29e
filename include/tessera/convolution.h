// Convolutions of arrays with kernels.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "tessera/array.h"
#include "tessera/ops.h"
#include "tessera/windows.h"

namespace TESSERA_PUBLIC tessera {

// The roles of the dims of lhs, rhs (the kernel) and the result, one letter per dim: N is the
// batch, C the features; O and I are the output and input features of the kernel; other letters are
// spatial dims. Lists for spatial dims follow the order in rhs. Default: {"NCHW", "OIHW", "NCHW"},
// and alike for other numbers of spatial dims.
struct ConvDims {
  std::string lhs = {}, rhs = {}, out = {};
  friend bool operator==(const ConvDims&, const ConvDims&) = default;
};
struct ConvOptions {
  // Positions per element of lhs, and of the kernel; an empty list has ones.
  std::vector<int64_t> lhs_dilation = {}, rhs_dilation = {};
  ConvDims dims = {};
  // Groups of features: group g of the result's features is computed from group g of lhs's features
  // by group g of the kernel's output features. Groups of the batch: group g of the result's
  // features is computed from group g of lhs's batch. Only one of the two may be above 1.
  int64_t feature_group_count = 1, batch_group_count = 1;
  DType dtype = {};  // of the result; default: the dtype of the operands
  std::optional<PartitionSpec> out_sharding = {};
};

// Convolutions of lhs [batch, features, spatial...] with a kernel rhs [output features, input
// features, spatial...], whose windows are not reversed: [batch, output features, windows...]. The
// operands promote to one dtype unless .dtype is given. The result keeps the axes of lhs's batch,
// of lhs's spatial dims, whose number of windows their shards must divide, and of the kernel's
// output features. If input features or spatial dims of the kernel are sharded, it needs an
// out_sharding. Devices exchange the elements at the edges of spatial shards. Throws ShapeError for
// sizes, groups and lists that do not fit.

// Returns the convolution; strides and paddings are one entry per spatial dim.
Array conv_general_dilated(Operand lhs, Operand rhs, std::vector<int64_t> window_strides,
                           WindowPadding padding, ConvOptions options = {},
                           Loc loc = Loc::Current());
// Returns the convolution without dilation and groups, with dims {"NCHW", "OIHW", "NCHW"}.
Array conv(Operand lhs, Operand rhs, std::vector<int64_t> window_strides, WindowPadding padding,
           DotOptions options = {}, Loc loc = Loc::Current());
// Returns the convolution with dims {"NCHW", "OIHW", "NCHW"}. An empty dilation has ones.
Array conv_with_general_padding(Operand lhs, Operand rhs, std::vector<int64_t> window_strides,
                                WindowPadding padding, std::vector<int64_t> lhs_dilation,
                                std::vector<int64_t> rhs_dilation, DotOptions options = {},
                                Loc loc = Loc::Current());

struct ConvTransposeOptions {
  std::vector<int64_t> rhs_dilation = {};
  ConvDims dims = {};  // default: {"NHWC", "HWIO", "NHWC"}
  // Whether the kernel belongs to the forward convolution: its windows are reversed, and its input
  // and output features are exchanged.
  bool transpose_kernel = false;
  DType dtype = {};
  std::optional<PartitionSpec> out_sharding = {};
};
// Returns a convolution of lhs with `strides` positions per element, which undoes the change of
// size by a forward convolution: [batch, spatial..., features]. "SAME" and "VALID" are the padding
// of the forward convolution; edges are those of this one.
Array conv_transpose(Operand lhs, Operand rhs, std::vector<int64_t> strides, WindowPadding padding,
                     ConvTransposeOptions options = {}, Loc loc = Loc::Current());

// Returns the elements of each window of size `window`, which has one entry per spatial dim, along
// the features of the result: feature c * (elements of a window) + w is element w of feature c.
Array conv_general_dilated_patches(Operand lhs, std::vector<int64_t> window,
                                   std::vector<int64_t> window_strides, WindowPadding padding,
                                   ConvOptions options = {}, Loc loc = Loc::Current());

// Returns a convolution with another kernel for each window: the spatial dims of rhs are those of
// the result, and its input features are the elements of a window of size `window`, as features of
// conv_general_dilated_patches. It has no groups.
Array conv_general_dilated_local(Operand lhs, Operand rhs, std::vector<int64_t> window_strides,
                                 WindowPadding padding, std::vector<int64_t> window,
                                 ConvOptions options = {}, Loc loc = Loc::Current());

}  // namespace tessera

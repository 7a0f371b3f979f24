// The memory format that a tensor's storage is said to have.
//
// A card keeps some tensors in formats of its own (FRACTAL_NZ and the like). Here the data of every
// tensor stays in ND; a cast only notes the format, per storage, so that programs which ask for it
// get the answer that a card gives.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>

#include "aclnn/acl_meta.h"

namespace torch_npu {

// CANN's number (aclFormat). Until a cast says otherwise: NCHW for 4 dimensions, NCDHW for 5, else
// ND.
int64_t storageFormat(const at::Tensor& tensor);
void setStorageFormat(const at::Tensor& tensor, int64_t format);

// The format that descriptors say, for operators that take other functions or limits with it: ND
// but for tensors that were cast to a private format, where the operators are softcann's. Another
// CANN reads bytes by it, and the bytes here are in the order of ND.
aclFormat descriptorFormat(const at::Tensor& tensor);

// Whether the descriptor of the tensor says FRACTAL_NZ.
inline bool isNz(const at::Tensor& tensor) {
  return descriptorFormat(tensor) == ACL_FORMAT_FRACTAL_NZ;
}

}  // namespace torch_npu

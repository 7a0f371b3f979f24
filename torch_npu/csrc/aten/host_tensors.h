// CPU tensors that stand for npu tensors while one operator runs on the host, and back.
//
// The correspondence is kept between storages: tensors that share memory on the npu share it on
// the host, so in-place writes, overlaps and views come out as they should. An operator's result
// that is a view of an argument becomes a view of the npu tensor; one with memory of its own is
// moved to the device.
//
// With a host view (see host_view.h) the host storages are the device memory, and nothing is
// copied. Without one the bytes of each tensor are fetched, and writeBack() returns them.
//
//   HostTensors tensors(output_device);
//   at::Tensor host = tensors.toHost(npu_tensor);
//   ... run an operator that writes `host` ...
//   tensors.writeBack(npu_tensor);
//   at::Tensor result = tensors.toDevice(host_result);
#pragma once

#include <ATen/core/Tensor.h>
#include <c10/core/Storage.h>
#include <c10/util/SmallVector.h>

namespace torch_npu {

class HostTensors {
 public:
  // New results go to `device`.
  explicit HostTensors(c10::Device device) : device_(device) {}

  // A tensor of another device is returned as it is. The first call for a device waits for that
  // device's current stream.
  at::Tensor toHost(const at::Tensor& tensor);
  c10::Storage toHost(const c10::Storage& storage);

  // The npu tensor that a CPU tensor stands for, or a new one. Another tensor is returned as it
  // is.
  at::Tensor toDevice(const at::Tensor& tensor);

  // Makes an npu tensor that went through toHost() what the operator has made of its host side:
  // contents, sizes and strides, and new memory if the operator resized it.
  void writeBack(const at::Tensor& tensor);

 private:
  struct StoragePair {
    c10::Storage device;
    c10::Storage host;
    // The host storage's memory at first: the operator has resized the storage if it differs.
    const void* host_data;
  };
  struct TensorPair {
    at::Tensor device;
    at::Tensor host;
  };

  void waitFor(c10::Device device);
  StoragePair& pairOf(const c10::Storage& device_storage);
  c10::Storage toDevice(const c10::Storage& host_storage);
  // Moves a resized host storage's bytes to new device memory.
  void followResize(StoragePair& pair);
  void fetch(const at::Tensor& tensor, const at::Tensor& host);

  at::Tensor stridedToHost(const at::Tensor& tensor);
  at::Tensor stridedToDevice(const at::Tensor& tensor);
  const TensorPair* findDevice(const at::Tensor& tensor) const;
  const TensorPair* findHost(const at::Tensor& tensor) const;
  void writeBackStrided(const at::Tensor& tensor, const at::Tensor& host);

  c10::Device device_;
  c10::SmallVector<StoragePair, 4> storages_;
  c10::SmallVector<TensorPair, 4> tensors_;
  c10::SmallVector<c10::Device, 2> waited_for_;
};

}  // namespace torch_npu

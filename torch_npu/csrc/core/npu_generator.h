// Random generators of an NPU: a seed and an offset into its Philox sequence.
//
// An operator reserves as many numbers as it draws and hands (seed, offset) to CANN; the numbers
// themselves are made there. Seed and offset live in a state object of their own that generators
// can share, so that a graph capture can put another one in their place and see every reservation
// (graphsafe_get_state/graphsafe_set_state). Every method is thread-safe by itself; mutex_ is for
// callers that need several calls to be one step.
#pragma once

#include <ATen/core/Generator.h>
#include <c10/core/GeneratorImpl.h>

#include <cstdint>
#include <mutex>
#include <utility>

#include "torch_npu/csrc/core/npu_functions.h"

namespace torch_npu {

struct C10_EXPORT NPUGeneratorState : public c10::intrusive_ptr_target {
  explicit NPUGeneratorState(uint64_t seed = c10::default_rng_seed_val, uint64_t offset = 0)
      : seed_(seed), offset_(offset) {}

  std::pair<uint64_t, uint64_t> get() const;
  void set(uint64_t seed, uint64_t offset);
  void setOffset(uint64_t offset);
  // The present (seed, offset); the offset then moves on by `increment`, rounded up to 4.
  std::pair<uint64_t, uint64_t> reserve(uint64_t increment);

 private:
  mutable std::mutex mutex_;
  uint64_t seed_;
  uint64_t offset_;
};

struct C10_EXPORT NPUGeneratorImpl final : public c10::GeneratorImpl {
  explicit NPUGeneratorImpl(DeviceIndex device_index = 0);
  NPUGeneratorImpl(DeviceIndex device_index, c10::intrusive_ptr<NPUGeneratorState> state);

  static c10::DeviceType device_type() { return c10::DeviceType::PrivateUse1; }

  c10::intrusive_ptr<NPUGeneratorImpl> clone() const {
    return c10::intrusive_ptr<NPUGeneratorImpl>::reclaim(clone_impl());
  }

  // Sets the seed and starts its sequence again.
  void set_current_seed(uint64_t seed) override;
  uint64_t current_seed() const override;
  // Seeds from the system's entropy and returns the seed.
  uint64_t seed() override;
  // A multiple of 4.
  void set_offset(uint64_t offset) override;
  uint64_t get_offset() const override;

  // A ByteTensor on the CPU: 8 bytes of seed, then 8 of offset, in the machine's byte order. A
  // state without the offset (8 bytes) is accepted and means offset 0.
  void set_state(const c10::TensorImpl& new_state) override;
  c10::intrusive_ptr<c10::TensorImpl> get_state() const override;

  // Shares the state object itself, not a copy.
  void graphsafe_set_state(const c10::intrusive_ptr<c10::GeneratorImpl>& new_state) override;
  c10::intrusive_ptr<c10::GeneratorImpl> graphsafe_get_state() const override;

  // What an operator passes to CANN before it draws `increment` numbers per element group.
  std::pair<uint64_t, uint64_t> philoxSeedOffset(uint64_t increment);

 private:
  NPUGeneratorImpl* clone_impl() const override;
  c10::intrusive_ptr<NPUGeneratorState> state() const;

  mutable std::mutex state_mutex_;  // guards the pointer; the state has a lock of its own
  c10::intrusive_ptr<NPUGeneratorState> state_;
};

// The generator that operators use when none is given; -1 means the current device. Seeded from
// the system's entropy at its first use.
C10_EXPORT const at::Generator& getDefaultNPUGenerator(DeviceIndex device = -1);

// A generator of its own with PyTorch's default seed.
C10_EXPORT at::Generator createNPUGenerator(DeviceIndex device = -1);

}  // namespace torch_npu

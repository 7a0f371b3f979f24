#include "torch_npu/csrc/core/npu_generator.h"

#include <ATen/EmptyTensor.h>
#include <c10/core/TensorImpl.h>
#include <c10/util/Exception.h>

#include <array>
#include <cstring>

namespace torch_npu {
namespace {

constexpr size_t kSeedBytes = sizeof(uint64_t);
constexpr size_t kStateBytes = kSeedBytes + sizeof(uint64_t);

// A Philox counter step makes four 32-bit numbers.
constexpr uint64_t kNumbersPerStep = 4;

void checkOffset(uint64_t offset) {
  TORCH_CHECK(offset % kNumbersPerStep == 0, "NPU generator offset must be a multiple of ",
              kNumbersPerStep, ", but got ", offset);
}

DeviceIndex resolveDevice(DeviceIndex device) {
  if (device < 0) return currentDevice();
  checkDeviceIndex(device);
  return device;
}

}  // namespace

std::pair<uint64_t, uint64_t> NPUGeneratorState::get() const {
  std::lock_guard<std::mutex> lock(mutex_);
  return {seed_, offset_};
}

void NPUGeneratorState::set(uint64_t seed, uint64_t offset) {
  std::lock_guard<std::mutex> lock(mutex_);
  seed_ = seed;
  offset_ = offset;
}

void NPUGeneratorState::setOffset(uint64_t offset) {
  std::lock_guard<std::mutex> lock(mutex_);
  offset_ = offset;
}

std::pair<uint64_t, uint64_t> NPUGeneratorState::reserve(uint64_t increment) {
  const uint64_t steps = (increment + kNumbersPerStep - 1) / kNumbersPerStep;
  std::lock_guard<std::mutex> lock(mutex_);
  const std::pair<uint64_t, uint64_t> reserved{seed_, offset_};
  offset_ += steps * kNumbersPerStep;
  return reserved;
}

NPUGeneratorImpl::NPUGeneratorImpl(DeviceIndex device_index)
    : NPUGeneratorImpl(device_index, c10::make_intrusive<NPUGeneratorState>()) {}

NPUGeneratorImpl::NPUGeneratorImpl(DeviceIndex device_index,
                                   c10::intrusive_ptr<NPUGeneratorState> state)
    : c10::GeneratorImpl(c10::Device(c10::DeviceType::PrivateUse1, device_index),
                         c10::DispatchKeySet(c10::DispatchKey::PrivateUse1)),
      state_(std::move(state)) {}

c10::intrusive_ptr<NPUGeneratorState> NPUGeneratorImpl::state() const {
  std::lock_guard<std::mutex> lock(state_mutex_);
  return state_;
}

void NPUGeneratorImpl::set_current_seed(uint64_t seed) { state()->set(seed, 0); }

uint64_t NPUGeneratorImpl::current_seed() const { return state()->get().first; }

uint64_t NPUGeneratorImpl::seed() {
  const uint64_t random = c10::detail::getNonDeterministicRandom(/*is_cuda=*/true);
  set_current_seed(random);
  return random;
}

void NPUGeneratorImpl::set_offset(uint64_t offset) {
  checkOffset(offset);
  state()->setOffset(offset);
}

uint64_t NPUGeneratorImpl::get_offset() const { return state()->get().second; }

c10::intrusive_ptr<c10::TensorImpl> NPUGeneratorImpl::get_state() const {
  auto tensor = at::detail::empty_cpu({static_cast<int64_t>(kStateBytes)}, at::kByte);
  const auto [seed, offset] = state()->get();
  auto* bytes = static_cast<uint8_t*>(tensor.mutable_data_ptr());
  std::memcpy(bytes, &seed, kSeedBytes);
  std::memcpy(bytes + kSeedBytes, &offset, sizeof(offset));
  return tensor.getIntrusivePtr();
}

void NPUGeneratorImpl::set_state(const c10::TensorImpl& new_state) {
  at::detail::check_rng_state(new_state);
  const auto size = static_cast<size_t>(new_state.numel());
  TORCH_CHECK(size == kStateBytes || size == kSeedBytes, "RNG state is wrong size: expected ",
              kStateBytes, " bytes for an NPU generator, but got ", size);
  const auto* bytes = static_cast<const uint8_t*>(new_state.data());
  uint64_t seed = 0;
  uint64_t offset = 0;
  std::memcpy(&seed, bytes, kSeedBytes);
  if (size == kStateBytes) std::memcpy(&offset, bytes + kSeedBytes, sizeof(offset));
  checkOffset(offset);
  state()->set(seed, offset);
}

void NPUGeneratorImpl::graphsafe_set_state(
    const c10::intrusive_ptr<c10::GeneratorImpl>& new_state) {
  auto* other = dynamic_cast<NPUGeneratorImpl*>(new_state.get());
  TORCH_CHECK(other != nullptr, "expected the state of an NPU generator");
  auto shared = other->state();
  std::lock_guard<std::mutex> lock(state_mutex_);
  state_ = std::move(shared);
}

c10::intrusive_ptr<c10::GeneratorImpl> NPUGeneratorImpl::graphsafe_get_state() const {
  return c10::make_intrusive<NPUGeneratorImpl>(device().index(), state());
}

std::pair<uint64_t, uint64_t> NPUGeneratorImpl::philoxSeedOffset(uint64_t increment) {
  return state()->reserve(increment);
}

NPUGeneratorImpl* NPUGeneratorImpl::clone_impl() const {
  const auto [seed, offset] = state()->get();
  return new NPUGeneratorImpl(device().index(),
                              c10::make_intrusive<NPUGeneratorState>(seed, offset));
}

const at::Generator& getDefaultNPUGenerator(DeviceIndex device) {
  struct Slot {
    std::once_flag once;
    at::Generator generator;
  };
  // Never destroyed: Python objects that wrap a default generator borrow it.
  static auto* const slots = new std::array<Slot, kMaxDevices>();
  device = resolveDevice(device);
  auto& slot = (*slots)[static_cast<size_t>(device)];
  std::call_once(slot.once, [&slot, device] {
    slot.generator = at::make_generator<NPUGeneratorImpl>(device);
    slot.generator.seed();
  });
  return slot.generator;
}

at::Generator createNPUGenerator(DeviceIndex device) {
  return at::make_generator<NPUGeneratorImpl>(resolveDevice(device));
}

}  // namespace torch_npu

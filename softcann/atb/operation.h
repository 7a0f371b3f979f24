// An operation of ATB as calls of aclnn functions.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "aclnn/acl_meta.h"
#include "atb/interface.h"

namespace softcann {

// Sets aclGetRecentErrMsg()'s text. Clients of ATB report that an operation failed and not why, so
// it is printed as well, as ATB does.
atb::Status refuse(const std::string& operation, const std::string& reason);

// Phase one of the functions runs in Setup(), with their checks, and phase two in Execute().
class AclnnOperation : public atb::Operation {
 public:
  // `changed` are the inputs that the outputs are new values of, or are shaped like.
  AclnnOperation(std::string name, uint32_t inputs, std::vector<uint32_t> changed)
      : name_(std::move(name)), inputs_(inputs), changed_(std::move(changed)) {}
  ~AclnnOperation() override { forget(); }

  std::string GetName() const override { return name_; }
  uint32_t GetInputNum() const override { return inputs_; }
  uint32_t GetOutputNum() const override { return static_cast<uint32_t>(changed_.size()); }
  atb::Status InferShape(const atb::SVector<atb::TensorDesc>& inputs,
                         atb::SVector<atb::TensorDesc>& outputs) const override;
  atb::Status Setup(const atb::VariantPack& tensors, uint64_t& workspaceSize,
                    atb::Context* context) override;
  atb::Status Execute(const atb::VariantPack& tensors, uint8_t* workspace, uint64_t workspaceSize,
                      atb::Context* context) override;

 protected:
  using Sizes = std::vector<int64_t>;
  using ExecuteFunction = aclnnStatus(void*, uint64_t, aclOpExecutor*, aclrtStream);

  // Runs phase one of each function, by call(). Throws std::invalid_argument for tensors that do
  // not fit.
  virtual void prepare(const atb::VariantPack& tensors) = 0;

  // Phase one as `function(size, executor)`.
  template <class Function>
  void call(Function function, ExecuteFunction* execute) {
    uint64_t size = 0;
    aclOpExecutor* executor = nullptr;
    note(function(&size, &executor));
    calls_.push_back({executor, execute});
  }

  // Descriptors, which live until the next Setup(). `strides` of a contiguous tensor may be left
  // out.
  aclTensor* describe(const atb::Tensor& tensor, const Sizes& sizes, const Sizes& strides = {});
  aclTensor* describe(const atb::Tensor& tensor);
  aclTensorList* list(const atb::Tensor& tensor, const Sizes& sizes);
  aclIntArray* array(const Sizes& values);
  // The integers of a tensor in host memory.
  static Sizes onHost(const char* what, const atb::Tensor& tensor);
  static Sizes sizes(const atb::Tensor& tensor);
  // For an operation that changes an input in place: the output, with the input's content.
  aclTensor* inPlace(const atb::Tensor& input, const atb::Tensor& output, const Sizes& sizes);

 private:
  struct Call {
    aclOpExecutor* executor;
    ExecuteFunction* execute;
  };
  template <class T>
  using Owned = std::unique_ptr<T, aclnnStatus (*)(const T*)>;

  static void note(aclnnStatus code);
  void forget();

  std::string name_;
  uint32_t inputs_;
  std::vector<uint32_t> changed_;
  std::vector<Call> calls_;
  std::vector<Owned<aclTensor>> tensors_;
  std::vector<Owned<aclTensorList>> lists_;
  std::vector<Owned<aclIntArray>> arrays_;
};

// nullptr, after refuse(), for parameters that softcann has not.
std::unique_ptr<atb::Operation> make(const atb::infer::RopeParam& param);
std::unique_ptr<atb::Operation> make(const atb::infer::ReshapeAndCacheParam& param);
std::unique_ptr<atb::Operation> make(const atb::infer::LinearParam& param);
std::unique_ptr<atb::Operation> make(const atb::infer::PagedAttentionParam& param);
std::unique_ptr<atb::Operation> make(const atb::infer::SelfAttentionParam& param);

}  // namespace softcann

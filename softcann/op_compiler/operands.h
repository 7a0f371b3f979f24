// The tensors of a single operator as aclnn's descriptors.
#pragma once

#include <string>
#include <vector>

#include "acl/acl_op_compiler.h"
#include "aclnn/acl_meta.h"

namespace softcann {

// Owns its descriptors. A tensor in a private format counts as its origin shape: softcann keeps
// every tensor's bytes in the order of that shape.
class Operands {
 public:
  // `attributes` may be null and is read while the operands are in use.
  explicit Operands(const aclopAttr* attributes) : attributes_(attributes) {}
  ~Operands();
  Operands(const Operands&) = delete;
  Operands& operator=(const Operands&) = delete;

  // Returns an error, with a message, for what cannot be described.
  aclError addInput(const aclTensorDesc* desc, const aclDataBuffer* buffer);
  aclError addOutput(const aclTensorDesc* desc, const aclDataBuffer* buffer);

  // Writes into the description the shape that an output has once the operator has run, where that
  // is smaller.
  aclError readOutputShape(size_t index, aclTensorDesc* desc) const;

  // nullptr for an input that was left out or never given, which aclnn refuses by itself.
  const aclTensor* input(size_t index) const { return at(inputs_, index); }
  // One that the operator updates.
  aclTensor* writtenInput(size_t index) { return at(inputs_, index); }
  aclTensor* output(size_t index) const { return at(outputs_, index); }
  size_t inputCount() const { return inputs_.size(); }

  // A boolean attribute; false if it is not given.
  bool flag(const char* name) const;
  // A float attribute.
  float number(const char* name, float otherwise) const;
  int64_t integer(const char* name, int64_t otherwise) const;
  std::string text(const char* name) const;
  // A list of integers; empty if it is not given.
  std::vector<int64_t> integers(const char* name) const;
  // An input of integers that lies in host memory.
  aclError integers(size_t index, std::vector<int64_t>& values) const;
  std::vector<int64_t> inputSizes(size_t index) const;
  // An input with its last two dimensions exchanged; it takes that input's place.
  aclError transposeInput(size_t index);
  // An input with its dimensions in another order.
  aclError permuteInput(size_t index, const std::vector<int64_t>& order);
  // An input, or an output, of a contiguous tensor in another shape.
  aclError reshapeInput(size_t index, const std::vector<int64_t>& sizes);
  aclError reshapeOutput(size_t index, const std::vector<int64_t>& sizes);
  // The part of an input from `starts` on, of shape `sizes`; it takes that input's place.
  aclError narrowInput(size_t index, const std::vector<int64_t>& starts,
                       const std::vector<int64_t>& sizes);

  // 1, for functions that take a factor which the single operator has not.
  const aclScalar* one();
  // Lives as long as the operands.
  const aclIntArray* array(const std::vector<int64_t>& values);

  // Some inputs or outputs as a list, which takes the descriptors over.
  aclTensorList* takeInputs(const std::vector<size_t>& indices) { return take(inputs_, indices); }
  aclTensorList* takeOutputs(const std::vector<size_t>& indices) { return take(outputs_, indices); }

 private:
  using Tensors = std::vector<aclTensor*>;
  static aclTensor* at(const Tensors& tensors, size_t index) {
    return index < tensors.size() ? tensors[index] : nullptr;
  }
  struct View {
    std::vector<int64_t> sizes;
    std::vector<int64_t> strides;
    aclnnStatus read(const aclTensor* tensor);
  };
  static aclError replace(Tensors& tensors, size_t index, const View& view, int64_t offset);
  static aclError reshape(Tensors& tensors, size_t index, const std::vector<int64_t>& sizes);
  aclTensorList* take(Tensors& tensors, const std::vector<size_t>& indices);

  const aclopAttr* attributes_;
  Tensors inputs_;
  Tensors outputs_;
  std::vector<const void*> host_inputs_;  // null for those that lie on the device
  std::vector<aclTensorList*> lists_;
  std::vector<const aclIntArray*> arrays_;
  aclScalar* one_ = nullptr;
};

}  // namespace softcann

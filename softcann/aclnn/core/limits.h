// What CANN's operator documents allow an aclnn function to be called with.
//
// The generator turns a row's `limits` into one function that makes these checks in order; strict
// mode calls it before phase one looks at anything else. A check is a few comparisons, less than
// the hash of the call would cost, so it is made at every call. The first that fails decides the
// code and the text: operator, argument, what was given and what is allowed. A null argument is no
// concern of a limit: phase one reports it as it does without strict mode.
#pragma once

#include <c10/core/ScalarType.h>
#include <c10/util/SmallVector.h>

#include <cstdint>
#include <initializer_list>
#include <string>

#include "aclnn/acl_meta.h"
#include "aclnn/core/descriptors.h"

namespace softcann::aclnn {

// A set of ATen's dtypes.
class DtypeSet {
  static_assert(static_cast<unsigned>(at::ScalarType::NumOptions) <= 64);

 public:
  constexpr DtypeSet(std::initializer_list<at::ScalarType> dtypes) {
    for (const at::ScalarType dtype : dtypes) bits_ |= bit(dtype);
  }
  constexpr bool contains(at::ScalarType dtype) const { return (bits_ & bit(dtype)) != 0; }
  std::string text() const;

 private:
  static constexpr uint64_t bit(at::ScalarType dtype) {
    return uint64_t{1} << static_cast<unsigned>(dtype);
  }
  uint64_t bits_ = 0;
};

// One argument of a call with its name, whatever its kind.
struct Operand {
  Operand(const char* name, const aclTensor* tensor);
  Operand(const char* name, const aclTensorList* list);
  Operand(const char* name, const aclScalar* scalar);
  Operand(const char* name, const aclScalarList* list);
  Operand(const char* name, const aclIntArray* array);
  Operand(const char* name, const aclFloatArray* array);
  Operand(const char* name, const aclBoolArray* array);
  Operand(const char* name, aclDataType dtype);
  Operand(const char* name, const char* text);
  Operand(const char* name, double value);
  Operand(const char* name, bool value) : Operand(name, static_cast<double>(value)) {}
  Operand(const char* name, int8_t value) : Operand(name, static_cast<double>(value)) {}
  Operand(const char* name, int32_t value) : Operand(name, static_cast<double>(value)) {}
  Operand(const char* name, int64_t value) : Operand(name, static_cast<double>(value)) {}
  Operand(const char* name, uint64_t value) : Operand(name, static_cast<double>(value)) {}
  Operand(const char* name, float value) : Operand(name, static_cast<double>(value)) {}

  const char* name;
  bool given = true;    // false for a null pointer
  bool scalar = false;  // a number of the caller's: only the category of its dtype is known
  c10::SmallVector<const TensorDesc*, 4> tensors;  // of a tensor or a list, without its holes
  c10::SmallVector<aclFormat, 4> formats;          // of the tensors
  c10::SmallVector<at::ScalarType, 4> dtypes;      // of the tensors or scalars, or a dtype itself
  c10::SmallVector<double, 4> numbers;             // of a number, an array or real scalars
  std::string text;

 private:
  void add(const aclTensor* tensor);
  void add(const aclScalar* scalar);
};

class Limits {
 public:
  using Operands = std::initializer_list<const Operand*>;

  explicit Limits(const char* function) : function_(function) {}

  aclnnStatus status() const { return status_; }
  // The code of the checks that follow.
  void code(aclnnStatus status) { code_ = status; }

  // Conditions of the checks that a document makes for some calls only. One on several tensors
  // holds for all of them, and what is not given has no dtype, format, number or text.
  static bool isGiven(const Operand& x) { return x.given; }
  static bool hasDtype(const Operand& x, DtypeSet dtypes);
  static bool hasFormat(const Operand& x, std::initializer_list<aclFormat> formats);
  static bool isNumber(const Operand& x, std::initializer_list<double> numbers);
  static bool isText(const Operand& x, std::initializer_list<const char*> texts);

  // Every tensor (or scalar) of `x` has one of these dtypes.
  void dtypes(const Operand& x, DtypeSet allowed);
  // Every tensor of `x` has a rank whose bit is set; `text` says which those are.
  void rank(const Operand& x, uint32_t allowed, const char* text);
  // Every tensor of `x` is stored in one of these formats.
  void formats(const Operand& x, std::initializer_list<aclFormat> allowed);
  // Every number of `x` is in least..most.
  void range(const Operand& x, double least, double most);
  // Every number of `x` is one of these.
  void among(const Operand& x, std::initializer_list<double> allowed);
  // The string `x` is one of these.
  void oneOf(const Operand& x, std::initializer_list<const char*> allowed);
  // The array or list has least..most elements.
  void length(const Operand& x, double least, double most);

  // The optional arguments are there; are not there.
  void given(Operands all);
  void absent(Operands all);
  // No tensor of the operands is empty.
  void notEmpty(Operands all);

  // All tensors of all operands have one dtype.
  void sameDtype(Operands all);
  // `x` has the dtype of `reference`, or float32.
  void likeOrFloat32(const Operand& x, const Operand& reference);
  // CANN has a dtype that all of these promote to.
  void promotable(Operands all);
  // CANN converts the dtype that the inputs promote to into that of `out`.
  void converts(Operands out_and_inputs);
  // Not every operand is boolean.
  void notAllBool(Operands all);

  // The operands have one shape; lists element by element.
  void sameShape(Operands all);
  void sameRank(Operands all);
  void sameLength(Operands all);
  void broadcasts(Operands all);
  // `dims` count dimensions of `x`, from -rank to rank-1, each at most once.
  void axes(const Operand& dims, const Operand& x);
  // Size `x_dim` of `x` equals size `y_dim` of `y`; negative dimensions count from the end.
  void sameSize(const Operand& x, double x_dim, const Operand& y, double y_dim);
  // Size `dim` of `x` is in least..most.
  void size(const Operand& x, double dim, double least, double most);
  // Size `dim` of `x` is not `excluded`.
  void sizeIsNot(const Operand& x, double dim, double excluded);
  // Size `dim` of `x` is the number `wanted`.
  void sizeIs(const Operand& x, double dim, const Operand& wanted);
  // Size `dim` of `x` is a multiple of `factor`.
  void sizeMultiple(const Operand& x, double dim, double factor);
  // `x` has as many elements as the product of the numbers.
  void elements(Operands x_and_factors);
  // The number `x` is a multiple of `divisor`, and the quotient at most `most`.
  void divides(const Operand& divisor, const Operand& x, double most);

  // Matrix products do not mix bfloat16 with other dtypes.
  void bfloat16Alone(Operands all);
  // The cube unit's mode 2 (float16) excludes bfloat16, its mode 3 (HF32) all but float32.
  void cubeMode(Operands mode_and_inputs);
  // Padding is given in pairs, for at most the dimensions of `x`.
  void paddingPairs(const Operand& pad, const Operand& x);
  // The kernel repeats at most three dimensions, or four where the first is among them.
  void repeatedDims(const Operand& repeats);
  // Lengths and signs of a convolution's arrays (161002), then the cube unit's own limits (561103).
  void convolution(const Operand& input, const Operand& weight, const Operand& stride,
                   const Operand& padding, const Operand& dilation, const Operand& transposed,
                   const Operand& mode);
  void convolutionBackward(const Operand& input, const Operand& weight, const Operand& stride,
                           const Operand& padding, const Operand& dilation,
                           const Operand& transposed);
  // Sizes of fused attention as its layout gives them, heads of at most `most`, and the shape of a
  // mask that is not compressed.
  void attention(const Operand& query, const Operand& key, const Operand& value,
                 const Operand& heads, const Operand& layout, const Operand& mask,
                 const Operand& sparse_mode, double most);
  // The like for packed sequences [T,N,D].
  void packedAttention(const Operand& query, const Operand& key, const Operand& value,
                       const Operand& heads, double most);
  // Sizes of attention for inference as its layout gives them; the output's may follow it
  // behind an underscore. The keys and values of a call with a block table are pagedAttention()'s.
  void inferAttention(const Operand& query, const Operand& key, const Operand& value,
                      const Operand& heads, const Operand& key_heads, const Operand& layout,
                      const Operand& block_table);
  // Heads of a query with several positions fill whole blocks of 32 bytes: 16 elements of float16
  // and bfloat16, 32 where int8 is among the operands.
  void alignedHeads(const Operand& query, const Operand& heads, const Operand& layout,
                    Operands others);
  // A query whose heads are not aligned so has a batch of at most 128.
  void unalignedBatch(const Operand& query, const Operand& heads, const Operand& layout);
  // Heads times head size is less than 65535 in the layouts BSH and BSND.
  void rowLength(const Operand& query, const Operand& layout);
  // The head sizes that inference takes for packed sequences.
  void packedHeads(const Operand& query, const Operand& key, const Operand& value,
                   const Operand& layout, const Operand& rope);
  // Blocks of keys and values in the shapes that the query's layout goes with.
  void pagedAttention(const Operand& query, const Operand& key, const Operand& heads,
                      const Operand& layout, const Operand& block_table, const Operand& block_size);

 private:
  bool failed() const { return status_ != ACLNN_SUCCESS; }
  // Notes "aclnnAdd: <what> (strict mode)" as this call's error.
  void refuse(const std::string& what);
  // `what` is a size with this number; it is at most `most`, or exactly `wanted`.
  void within(const char* what, int64_t number, int64_t most);
  void equal(const char* what, int64_t number, int64_t wanted);
  void groupedHeads(int64_t query_heads, int64_t key_heads);
  // Every element of the array `x`, from `first` on, is in least..most.
  void elementsFrom(const Operand& x, size_t first, double least, double most);
  // A limit on every size of `x` from dimension `first` on.
  void sizesFrom(const Operand& x, size_t first, double least, double most);
  void convolutionArrays(const Operand& input, const Operand& weight, const Operand& stride,
                         const Operand& dilation);

  const char* function_;
  aclnnStatus status_ = ACLNN_SUCCESS;
  aclnnStatus code_ = ACLNN_ERR_PARAM_INVALID;
};

}  // namespace softcann::aclnn

#include "aclnn/core/limits.h"

#include <ATen/ExpandUtils.h>
#include <c10/core/Scalar.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <sstream>

#include "runtime/core/task.h"

namespace softcann::aclnn {

namespace {

enum class Category { kBool, kInteger, kFloating, kComplex };

Category categoryOf(at::ScalarType dtype) {
  if (dtype == at::kBool) return Category::kBool;
  if (c10::isComplexType(dtype)) return Category::kComplex;
  return c10::isFloatingType(dtype) ? Category::kFloating : Category::kInteger;
}

const char* nameOf(at::ScalarType dtype) {
  switch (dtype) {
    case at::kHalf:
      return "float16";
    case at::kBFloat16:
      return "bfloat16";
    case at::kFloat:
      return "float32";
    case at::kDouble:
      return "float64";
    case at::kByte:
      return "uint8";
    case at::kChar:
      return "int8";
    case at::kShort:
      return "int16";
    case at::kInt:
      return "int32";
    case at::kLong:
      return "int64";
    case at::kUInt16:
      return "uint16";
    case at::kUInt32:
      return "uint32";
    case at::kUInt64:
      return "uint64";
    case at::kBool:
      return "bool";
    case at::kComplexHalf:
      return "complex32";
    case at::kComplexFloat:
      return "complex64";
    case at::kComplexDouble:
      return "complex128";
    default:
      return c10::toString(dtype);
  }
}

std::string shapeText(const TensorDesc& tensor) {
  std::ostringstream text;
  text << tensor.sizes();
  return text.str();
}

std::string numberText(double number) {
  std::ostringstream text;
  text << number;
  return text.str();
}

std::string rangeText(double least, double most) {
  if (least == std::numeric_limits<double>::denorm_min()) {
    return "more than 0" + (std::isinf(most) ? "" : " and at most " + numberText(most));
  }
  if (std::isinf(most)) return "at least " + numberText(least);
  if (least == most) return numberText(least);
  return numberText(least) + " to " + numberText(most);
}

// What CANN's table of promotions gives. uint16, uint32 and uint64 promote only with themselves;
// for all other pairs the table agrees with PyTorch's.
std::optional<at::ScalarType> promoted(at::ScalarType a, at::ScalarType b) {
  constexpr DtypeSet kAlone{at::kUInt16, at::kUInt32, at::kUInt64};
  if (a == b) return a;
  if (kAlone.contains(a) || kAlone.contains(b)) return std::nullopt;
  return c10::promoteTypes(a, b);
}

// CANN's rules of conversion: nothing but bool becomes bool, and complex numbers become no
// integers.
bool convertible(at::ScalarType from, at::ScalarType to) {
  if (from == to) return true;
  const Category target = categoryOf(to);
  if (target == Category::kBool) return false;
  return categoryOf(from) != Category::kComplex || target != Category::kInteger;
}

// The size that dimension `dim` (from the end if negative) of `tensor` has, if it has that many.
std::optional<int64_t> sizeAt(const TensorDesc& tensor, double dim) {
  const auto rank = static_cast<int64_t>(tensor.sizes().size());
  const int64_t index = dim < 0 ? static_cast<int64_t>(dim) + rank : static_cast<int64_t>(dim);
  if (index < 0 || index >= rank) return std::nullopt;
  return tensor.sizes()[static_cast<size_t>(index)];
}

std::string dimText(const Operand& x, double dim) {
  return "size " + numberText(dim) + " of " + x.name;
}

const char* nameOf(aclFormat format) {
  switch (format) {
    case ACL_FORMAT_ND:
      return "ND";
    case ACL_FORMAT_NCHW:
      return "NCHW";
    case ACL_FORMAT_NHWC:
      return "NHWC";
    case ACL_FORMAT_NCDHW:
      return "NCDHW";
    case ACL_FORMAT_NCL:
      return "NCL";
    case ACL_FORMAT_FRACTAL_NZ:
      return "FRACTAL_NZ";
    default:
      return nullptr;
  }
}

std::string formatText(aclFormat format) {
  const char* name = nameOf(format);
  return name != nullptr ? name : "format " + std::to_string(static_cast<int>(format));
}

template <class Values, class Allowed>
bool allAmong(const Values& values, const Allowed& allowed) {
  return std::all_of(values.begin(), values.end(), [&](const auto& value) {
    return std::find(allowed.begin(), allowed.end(), value) != allowed.end();
  });
}

std::string joined(std::initializer_list<const Operand*> all) {
  std::string text;
  for (const Operand* x : all) text += (text.empty() ? "" : ", ") + std::string(x->name);
  return text;
}

}  // namespace

std::string DtypeSet::text() const {
  std::string text;
  for (unsigned i = 0; i < static_cast<unsigned>(at::ScalarType::NumOptions); ++i) {
    const auto dtype = static_cast<at::ScalarType>(i);
    if (i < 64 && contains(dtype)) text += (text.empty() ? "" : ", ") + std::string(nameOf(dtype));
  }
  return text;
}

void Limits::refuse(const std::string& what) {
  status_ = fail(code_, std::string(function_) + ": " + what + " (strict mode)");
}

bool Limits::hasDtype(const Operand& x, DtypeSet dtypes) {
  return !x.dtypes.empty() &&
         std::all_of(x.dtypes.begin(), x.dtypes.end(),
                     [&](at::ScalarType dtype) { return dtypes.contains(dtype); });
}

bool Limits::hasFormat(const Operand& x, std::initializer_list<aclFormat> formats) {
  return !x.formats.empty() && allAmong(x.formats, formats);
}

bool Limits::isNumber(const Operand& x, std::initializer_list<double> numbers) {
  return !x.numbers.empty() && allAmong(x.numbers, numbers);
}

bool Limits::isText(const Operand& x, std::initializer_list<const char*> texts) {
  return x.given &&
         std::any_of(texts.begin(), texts.end(), [&](const char* text) { return x.text == text; });
}

void Limits::dtypes(const Operand& x, DtypeSet allowed) {
  for (const at::ScalarType dtype : x.dtypes) {
    if (failed()) return;
    bool found = allowed.contains(dtype);
    for (unsigned i = 0; x.scalar && !found && i < 64; ++i) {
      const auto candidate = static_cast<at::ScalarType>(i);
      found = allowed.contains(candidate) && categoryOf(candidate) == categoryOf(dtype);
    }
    if (!found) {
      refuse(std::string(x.name) + " is " + nameOf(dtype) + "; allowed are " + allowed.text());
    }
  }
}

void Limits::rank(const Operand& x, uint32_t allowed, const char* text) {
  for (const TensorDesc* tensor : x.tensors) {
    if (failed()) return;
    const size_t rank = tensor->sizes().size();
    if (rank >= 32 || (allowed >> rank & 1) == 0) {
      refuse(std::string(x.name) + " has " + std::to_string(rank) + " dimensions; allowed are " +
             text);
    }
  }
}

void Limits::formats(const Operand& x, std::initializer_list<aclFormat> allowed) {
  for (const aclFormat format : x.formats) {
    if (failed()) return;
    if (std::find(allowed.begin(), allowed.end(), format) != allowed.end()) continue;
    std::string list;
    for (const aclFormat one : allowed) list += (list.empty() ? "" : ", ") + formatText(one);
    refuse(std::string(x.name) + " is in " + formatText(format) + "; allowed are " + list);
  }
}

void Limits::elementsFrom(const Operand& x, size_t first, double least, double most) {
  for (size_t i = first; i < x.numbers.size(); ++i) {
    if (failed()) return;
    const double number = x.numbers[i];
    if (!(number >= least && number <= most)) {
      refuse(std::string(x.name) + " is " + numberText(number) + "; allowed is " +
             rangeText(least, most));
    }
  }
}

void Limits::range(const Operand& x, double least, double most) { elementsFrom(x, 0, least, most); }

void Limits::among(const Operand& x, std::initializer_list<double> allowed) {
  for (const double number : x.numbers) {
    if (failed()) return;
    if (std::find(allowed.begin(), allowed.end(), number) != allowed.end()) continue;
    std::string list;
    for (const double one : allowed) list += (list.empty() ? "" : ", ") + numberText(one);
    refuse(std::string(x.name) + " is " + numberText(number) + "; allowed are " + list);
  }
}

void Limits::oneOf(const Operand& x, std::initializer_list<const char*> allowed) {
  if (failed() || !x.given) return;
  std::string list;
  for (const char* text : allowed) {
    if (x.text == text) return;
    list += (list.empty() ? "" : ", ") + std::string(text);
  }
  refuse(std::string(x.name) + " is \"" + x.text + "\"; allowed are " + list);
}

void Limits::length(const Operand& x, double least, double most) {
  if (failed() || !x.given) return;
  const auto length = static_cast<double>(std::max(x.tensors.size(), x.numbers.size()));
  if (length < least || length > most) {
    refuse(std::string(x.name) + " has " + numberText(length) + " elements; allowed is " +
           rangeText(least, most));
  }
}

void Limits::given(Operands all) {
  for (const Operand* x : all) {
    if (!failed() && !x->given) refuse(std::string(x->name) + " is missing");
  }
}

// CANN takes an empty tensor for a missing one.
void Limits::absent(Operands all) {
  for (const Operand* x : all) {
    const bool empty = !x->tensors.empty() && x->tensors[0]->isEmpty();
    if (!failed() && x->given && !empty)
      refuse(std::string(x->name) + " is given; it must be left out");
  }
}

void Limits::notEmpty(Operands all) {
  for (const Operand* x : all) {
    for (const TensorDesc* tensor : x->tensors) {
      if (!failed() && tensor->isEmpty()) {
        refuse(std::string(x->name) + " has shape " + shapeText(*tensor) +
               "; an empty tensor is not allowed");
      }
    }
  }
}

void Limits::sameDtype(Operands all) {
  const Operand* first = nullptr;
  for (const Operand* x : all) {
    for (const at::ScalarType dtype : x->dtypes) {
      if (failed()) return;
      if (first == nullptr) first = x;
      if (dtype != first->dtypes[0]) {
        refuse(std::string(x->name) + " is " + nameOf(dtype) + "; it must have the dtype of " +
               first->name + ", " + nameOf(first->dtypes[0]));
      }
    }
  }
}

void Limits::likeOrFloat32(const Operand& x, const Operand& reference) {
  if (failed() || x.dtypes.empty() || reference.dtypes.empty()) return;
  if (x.dtypes[0] != reference.dtypes[0] && x.dtypes[0] != at::kFloat) {
    refuse(std::string(x.name) + " is " + nameOf(x.dtypes[0]) + "; allowed are the dtype of " +
           reference.name + ", " + nameOf(reference.dtypes[0]) + ", and float32");
  }
}

void Limits::promotable(Operands all) {
  std::optional<at::ScalarType> type;
  for (const Operand* x : all) {
    for (const at::ScalarType dtype : x->dtypes) {
      if (failed()) return;
      const auto next = type ? promoted(*type, dtype) : dtype;
      if (!next) {
        refuse(std::string(x->name) + " is " + nameOf(dtype) + ", which does not promote with " +
               nameOf(*type) + " of the other operands");
        return;
      }
      type = next;
    }
  }
}

void Limits::converts(Operands out_and_inputs) {
  if (failed()) return;
  const Operand& out = **out_and_inputs.begin();
  std::optional<at::ScalarType> type;
  // `out` may stand among the inputs too, where a function works in place.
  for (auto input = out_and_inputs.begin() + 1; input != out_and_inputs.end(); ++input) {
    for (const at::ScalarType dtype : (*input)->dtypes) {
      type = type ? promoted(*type, dtype) : dtype;
      if (!type) return;  // promotable() says so
    }
  }
  if (!type || out.dtypes.empty() || convertible(*type, out.dtypes[0])) return;
  refuse(std::string(out.name) + " is " + nameOf(out.dtypes[0]) + ", into which " + nameOf(*type) +
         " is not converted");
}

void Limits::notAllBool(Operands all) {
  if (failed()) return;
  for (const Operand* x : all) {
    for (const at::ScalarType dtype : x->dtypes) {
      if (dtype != at::kBool) return;
    }
  }
  refuse(joined(all) + " are all bool; one of them must be of another dtype");
}

void Limits::sameShape(Operands all) {
  const Operand* first = nullptr;
  for (const Operand* x : all) {
    if (failed()) return;
    if (x->tensors.empty()) continue;
    if (first == nullptr) first = x;
    for (size_t i = 0; i < std::min(x->tensors.size(), first->tensors.size()); ++i) {
      if (x->tensors[i]->sizes() != first->tensors[i]->sizes()) {
        refuse(std::string(x->name) + " has shape " + shapeText(*x->tensors[i]) +
               "; it must have that of " + first->name + ", " + shapeText(*first->tensors[i]));
        return;
      }
    }
  }
}

void Limits::sameRank(Operands all) {
  const Operand* first = nullptr;
  for (const Operand* x : all) {
    if (failed()) return;
    if (x->tensors.empty()) continue;
    if (first == nullptr) first = x;
    const size_t rank = x->tensors[0]->sizes().size();
    const size_t wanted = first->tensors[0]->sizes().size();
    if (rank != wanted) {
      refuse(std::string(x->name) + " has " + std::to_string(rank) +
             " dimensions; it must have as many as " + first->name + ", " + std::to_string(wanted));
    }
  }
}

void Limits::sameLength(Operands all) {
  const Operand* first = nullptr;
  size_t wanted = 0;
  for (const Operand* x : all) {
    if (failed()) return;
    if (!x->given) continue;
    const size_t length = std::max({x->tensors.size(), x->numbers.size(), x->dtypes.size()});
    if (first == nullptr) {
      first = x;
      wanted = length;
    } else if (length != wanted) {
      refuse(std::string(x->name) + " has " + std::to_string(length) +
             " elements; it must have as many as " + first->name + ", " + std::to_string(wanted));
    }
  }
}

void Limits::broadcasts(Operands all) {
  if (failed()) return;
  const TensorDesc* widest = nullptr;
  for (const Operand* x : all) {
    for (const TensorDesc* tensor : x->tensors) {
      if (widest == nullptr || tensor->sizes().size() > widest->sizes().size()) widest = tensor;
    }
  }
  if (widest == nullptr) return;
  for (size_t back = 1; back <= widest->sizes().size(); ++back) {
    int64_t size = 1;
    for (const Operand* x : all) {
      for (const TensorDesc* tensor : x->tensors) {
        if (tensor->sizes().size() < back) continue;
        const int64_t own = tensor->sizes()[tensor->sizes().size() - back];
        if (own != 1 && size != 1 && own != size) {
          refuse(std::string(x->name) + " has shape " + shapeText(*tensor) +
                 ", which does not broadcast with size " + std::to_string(size) +
                 " of the others in dimension -" + std::to_string(back));
          return;
        }
        if (own != 1) size = own;
      }
    }
  }
}

void Limits::axes(const Operand& dims, const Operand& x) {
  if (failed() || x.tensors.empty()) return;
  const auto rank = static_cast<double>(std::max<size_t>(x.tensors[0]->sizes().size(), 1));
  elementsFrom(dims, 0, -rank, rank - 1);
  c10::SmallVector<double, 8> seen;
  for (const double dim : dims.numbers) {
    if (failed()) return;
    const double wrapped = dim < 0 ? dim + rank : dim;
    if (std::find(seen.begin(), seen.end(), wrapped) != seen.end()) {
      refuse(std::string(dims.name) + " names dimension " + numberText(wrapped) + " twice");
    }
    seen.push_back(wrapped);
  }
}

void Limits::sameSize(const Operand& x, double x_dim, const Operand& y, double y_dim) {
  if (failed() || x.tensors.empty() || y.tensors.empty()) return;
  const auto a = sizeAt(*x.tensors[0], x_dim);
  const auto b = sizeAt(*y.tensors[0], y_dim);
  if (a && b && *a != *b) {
    refuse(dimText(x, x_dim) + " is " + std::to_string(*a) + "; it must be " + dimText(y, y_dim) +
           ", " + std::to_string(*b));
  }
}

void Limits::size(const Operand& x, double dim, double least, double most) {
  for (const TensorDesc* tensor : x.tensors) {
    if (failed()) return;
    const auto size = sizeAt(*tensor, dim);
    if (size && !(static_cast<double>(*size) >= least && static_cast<double>(*size) <= most)) {
      refuse(dimText(x, dim) + " is " + std::to_string(*size) + "; allowed is " +
             rangeText(least, most));
    }
  }
}

void Limits::sizeIsNot(const Operand& x, double dim, double excluded) {
  for (const TensorDesc* tensor : x.tensors) {
    if (failed()) return;
    const auto size = sizeAt(*tensor, dim);
    if (size && static_cast<double>(*size) == excluded) {
      refuse(dimText(x, dim) + " is " + std::to_string(*size) + ", which is not allowed");
    }
  }
}

void Limits::sizeIs(const Operand& x, double dim, const Operand& wanted) {
  if (wanted.numbers.empty()) return;
  for (const TensorDesc* tensor : x.tensors) {
    if (failed()) return;
    const auto size = sizeAt(*tensor, dim);
    if (size && static_cast<double>(*size) != wanted.numbers[0]) {
      refuse(dimText(x, dim) + " is " + std::to_string(*size) + "; it must be " + wanted.name +
             ", " + numberText(wanted.numbers[0]));
    }
  }
}

void Limits::sizesFrom(const Operand& x, size_t first, double least, double most) {
  if (x.tensors.empty()) return;
  for (size_t dim = first; dim < x.tensors[0]->sizes().size(); ++dim) {
    size(x, static_cast<double>(dim), least, most);
  }
}

void Limits::sizeMultiple(const Operand& x, double dim, double factor) {
  for (const TensorDesc* tensor : x.tensors) {
    if (failed()) return;
    const auto size = sizeAt(*tensor, dim);
    if (size && *size % static_cast<int64_t>(factor) != 0) {
      refuse(dimText(x, dim) + " is " + std::to_string(*size) + "; it must be a multiple of " +
             numberText(factor));
    }
  }
}

void Limits::elements(Operands x_and_factors) {
  const Operand& x = **x_and_factors.begin();
  if (failed() || x.tensors.empty()) return;
  double wanted = 1;
  for (const Operand* factor : x_and_factors) {
    if (factor != &x && !factor->numbers.empty()) wanted *= factor->numbers[0];
  }
  double count = 1;
  for (const int64_t size : x.tensors[0]->sizes()) count *= static_cast<double>(size);
  if (count != wanted) {
    refuse(std::string(x.name) + " has " + numberText(count) + " elements; it must have " +
           numberText(wanted));
  }
}

void Limits::divides(const Operand& divisor, const Operand& x, double most) {
  if (failed() || divisor.numbers.empty() || x.numbers.empty() || divisor.numbers[0] <= 0) return;
  const double quotient = x.numbers[0] / divisor.numbers[0];
  if (quotient != std::floor(quotient) || quotient > most) {
    refuse(std::string(x.name) + " is " + numberText(x.numbers[0]) + " and " + divisor.name + " " +
           numberText(divisor.numbers[0]) + "; the quotient must be a whole number" +
           (std::isinf(most) ? "" : " up to " + numberText(most)));
  }
}

void Limits::bfloat16Alone(Operands all) {
  const Operand* odd = nullptr;
  bool mixed = false;
  for (const Operand* x : all) {
    if (x->dtypes.empty()) continue;
    if (odd != nullptr && (x->dtypes[0] == at::kBFloat16) != (odd->dtypes[0] == at::kBFloat16)) {
      mixed = true;
    }
    odd = x;
  }
  if (!failed() && mixed) refuse(joined(all) + " mix bfloat16 with another dtype");
}

void Limits::cubeMode(Operands mode_and_inputs) {
  const Operand& mode = **mode_and_inputs.begin();
  std::optional<at::ScalarType> type;
  for (const Operand* x : mode_and_inputs) {
    if (x == &mode || x->dtypes.empty()) continue;
    type = type ? promoted(*type, x->dtypes[0]) : x->dtypes[0];
    if (!type) return;
  }
  if (failed() || !type || mode.numbers.empty()) return;
  const double value = mode.numbers[0];
  if ((value == 2 && *type == at::kBFloat16) || (value == 3 && *type != at::kFloat)) {
    refuse(std::string(mode.name) + " is " + numberText(value) + ", which " + nameOf(*type) +
           " inputs do not have");
  }
}

void Limits::paddingPairs(const Operand& pad, const Operand& x) {
  if (failed() || !pad.given || x.tensors.empty()) return;
  const size_t most = 2 * x.tensors[0]->sizes().size();
  if (pad.numbers.size() % 2 != 0 || pad.numbers.size() > most) {
    refuse(std::string(pad.name) + " has " + std::to_string(pad.numbers.size()) +
           " elements; allowed is an even number up to " + std::to_string(most));
  }
}

void Limits::repeatedDims(const Operand& repeats) {
  if (failed() || repeats.numbers.empty()) return;
  const auto repeated = std::count_if(repeats.numbers.begin(), repeats.numbers.end(),
                                      [](double number) { return number != 1; });
  const int most = repeats.numbers[0] != 1 ? 4 : 3;
  if (repeated > most) {
    refuse(std::string(repeats.name) + " repeats " + std::to_string(repeated) +
           " dimensions; allowed are " + std::to_string(most) +
           (most == 4 ? "" : ", because the first is not among them"));
  }
}

}  // namespace softcann::aclnn

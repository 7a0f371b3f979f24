#include "acl/acl_op.h"
#include "runtime/core/operator_description.h"
#include "runtime_test.h"

class TensorDescTest : public RuntimeTest {
 protected:
  void SetUp() override {
    RuntimeTest::SetUp();
    const int64_t dims[] = {2, 3};
    desc = aclCreateTensorDesc(ACL_FLOAT16, 2, dims, ACL_FORMAT_ND);
    ASSERT_NE(desc, nullptr);
  }
  void TearDown() override { aclDestroyTensorDesc(desc); }

  aclTensorDesc* desc = nullptr;
};

TEST_F(TensorDescTest, SaysWhatItWasGiven) {
  EXPECT_EQ(aclGetTensorDescType(desc), ACL_FLOAT16);
  EXPECT_EQ(aclGetTensorDescFormat(desc), ACL_FORMAT_ND);
  EXPECT_EQ(aclGetTensorDescNumDims(desc), 2u);
  EXPECT_EQ(aclGetTensorDescElementCount(desc), 6u);
  EXPECT_EQ(aclGetTensorDescSize(desc), 12u);
  int64_t size = 0;
  EXPECT_OK(aclGetTensorDescDimV2(desc, 1, &size));
  EXPECT_EQ(size, 3);
  aclSetTensorDescName(desc, "weight");
  EXPECT_STREQ(aclGetTensorDescName(desc), "weight");
}

TEST_F(TensorDescTest, KeepsTheStoragesShapeApartFromTheOrigins) {
  const int64_t storage[] = {1, 1, 16, 16};
  EXPECT_OK(aclSetTensorFormat(desc, ACL_FORMAT_FRACTAL_NZ));
  EXPECT_OK(aclSetTensorShape(desc, 4, storage));
  EXPECT_EQ(aclGetTensorDescFormat(desc), ACL_FORMAT_ND);
  EXPECT_EQ(aclGetTensorDescNumDims(desc), 2u);
  EXPECT_EQ(desc->storage_format, ACL_FORMAT_FRACTAL_NZ);
  EXPECT_EQ(desc->storage_dims, (std::vector<int64_t>{1, 1, 16, 16}));
}

TEST_F(TensorDescTest, RefusesWhatCannotBe) {
  int64_t size = 0;
  EXPECT_FAILS(aclGetTensorDescDimV2(desc, 2, &size), ACL_ERROR_INVALID_PARAM, "dimension 2");
  EXPECT_FAILS(aclSetTensorShape(desc, 2, nullptr), ACL_ERROR_INVALID_PARAM, "dims");
  EXPECT_FAILS(aclSetTensorFormat(nullptr, ACL_FORMAT_ND), ACL_ERROR_INVALID_PARAM, "desc");
  EXPECT_EQ(aclCreateTensorDesc(ACL_FLOAT, -1, nullptr, ACL_FORMAT_ND), nullptr);
  EXPECT_NE(recentMessage().find("numDims is -1"), std::string::npos);
  EXPECT_EQ(aclGetTensorDescSize(nullptr), 0u);
}

TEST_F(RuntimeTest, AttributesAreCopiedAndReplaced) {
  aclopAttr* attr = aclopCreateAttr();
  std::vector<int64_t> axes{0, 2};
  EXPECT_OK(aclopSetAttrListInt(attr, "axes", 2, axes.data()));
  axes[0] = 7;
  EXPECT_EQ(std::get<std::vector<int64_t>>(attr->values.at("axes")), (std::vector<int64_t>{0, 2}));
  EXPECT_OK(aclopSetAttrBool(attr, "axes", 2));
  EXPECT_EQ(std::get<bool>(attr->values.at("axes")), true);
  EXPECT_OK(aclopSetAttrString(attr, "mode", "constant"));
  EXPECT_EQ(std::get<std::string>(attr->values.at("mode")), "constant");
  EXPECT_FAILS(aclopSetAttrInt(attr, nullptr, 1), ACL_ERROR_INVALID_PARAM, "attrName");
  EXPECT_FAILS(aclopSetAttrListFloat(attr, "x", 3, nullptr), ACL_ERROR_INVALID_PARAM, "values");
  aclopDestroyAttr(attr);
}

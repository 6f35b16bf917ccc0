/* schema_tables.h -- the tables, slots and values of the file format by number. Generated from schema/tflite.fbs by schema/regenerate.py: do not edit. */
#ifndef ML_FORMAT_SCHEMA_TABLES_H
#define ML_FORMAT_SCHEMA_TABLES_H

/* clang-format off */
enum { ML_MOST_SLOTS = 17 }; /* of a table */

typedef enum {
    ML_TABLE_Model,
    ML_TABLE_SubGraph,
    ML_TABLE_Tensor,
    ML_TABLE_VariantSubType,
    ML_TABLE_Operator,
    ML_TABLE_OperatorCode,
    ML_TABLE_Buffer,
    ML_TABLE_ExternalBufferGroup,
    ML_TABLE_ExternalBuffer,
    ML_TABLE_Metadata,
    ML_TABLE_SignatureDef,
    ML_TABLE_TensorMap,
    ML_TABLE_QuantizationParameters,
    ML_TABLE_CustomQuantization,
    ML_TABLE_BlockwiseQuantization,
    ML_TABLE_MultiAxisQuantization,
    ML_TABLE_SparsityParameters,
    ML_TABLE_DimensionMetadata,
    ML_TABLE_Int32Vector,
    ML_TABLE_Uint16Vector,
    ML_TABLE_Uint8Vector,
    ML_TABLE_Conv2DOptions,
    ML_TABLE_DepthwiseConv2DOptions,
    ML_TABLE_ConcatEmbeddingsOptions,
    ML_TABLE_LSHProjectionOptions,
    ML_TABLE_Pool2DOptions,
    ML_TABLE_SVDFOptions,
    ML_TABLE_RNNOptions,
    ML_TABLE_FullyConnectedOptions,
    ML_TABLE_SoftmaxOptions,
    ML_TABLE_ConcatenationOptions,
    ML_TABLE_AddOptions,
    ML_TABLE_L2NormOptions,
    ML_TABLE_LocalResponseNormalizationOptions,
    ML_TABLE_LSTMOptions,
    ML_TABLE_ResizeBilinearOptions,
    ML_TABLE_CallOptions,
    ML_TABLE_ReshapeOptions,
    ML_TABLE_SkipGramOptions,
    ML_TABLE_SpaceToDepthOptions,
    ML_TABLE_EmbeddingLookupSparseOptions,
    ML_TABLE_MulOptions,
    ML_TABLE_PadOptions,
    ML_TABLE_GatherOptions,
    ML_TABLE_BatchToSpaceNDOptions,
    ML_TABLE_SpaceToBatchNDOptions,
    ML_TABLE_TransposeOptions,
    ML_TABLE_ReducerOptions,
    ML_TABLE_SubOptions,
    ML_TABLE_DivOptions,
    ML_TABLE_SqueezeOptions,
    ML_TABLE_SequenceRNNOptions,
    ML_TABLE_StridedSliceOptions,
    ML_TABLE_ExpOptions,
    ML_TABLE_TopKV2Options,
    ML_TABLE_SplitOptions,
    ML_TABLE_LogSoftmaxOptions,
    ML_TABLE_CastOptions,
    ML_TABLE_DequantizeOptions,
    ML_TABLE_MaximumMinimumOptions,
    ML_TABLE_ArgMaxOptions,
    ML_TABLE_LessOptions,
    ML_TABLE_NegOptions,
    ML_TABLE_PadV2Options,
    ML_TABLE_GreaterOptions,
    ML_TABLE_GreaterEqualOptions,
    ML_TABLE_LessEqualOptions,
    ML_TABLE_SelectOptions,
    ML_TABLE_SliceOptions,
    ML_TABLE_TransposeConvOptions,
    ML_TABLE_SparseToDenseOptions,
    ML_TABLE_TileOptions,
    ML_TABLE_ExpandDimsOptions,
    ML_TABLE_EqualOptions,
    ML_TABLE_NotEqualOptions,
    ML_TABLE_ShapeOptions,
    ML_TABLE_PowOptions,
    ML_TABLE_ArgMinOptions,
    ML_TABLE_FakeQuantOptions,
    ML_TABLE_PackOptions,
    ML_TABLE_LogicalOrOptions,
    ML_TABLE_OneHotOptions,
    ML_TABLE_LogicalAndOptions,
    ML_TABLE_LogicalNotOptions,
    ML_TABLE_UnpackOptions,
    ML_TABLE_FloorDivOptions,
    ML_TABLE_SquareOptions,
    ML_TABLE_ZerosLikeOptions,
    ML_TABLE_FillOptions,
    ML_TABLE_BidirectionalSequenceLSTMOptions,
    ML_TABLE_BidirectionalSequenceRNNOptions,
    ML_TABLE_UnidirectionalSequenceLSTMOptions,
    ML_TABLE_FloorModOptions,
    ML_TABLE_RangeOptions,
    ML_TABLE_ResizeNearestNeighborOptions,
    ML_TABLE_LeakyReluOptions,
    ML_TABLE_SquaredDifferenceOptions,
    ML_TABLE_MirrorPadOptions,
    ML_TABLE_AbsOptions,
    ML_TABLE_SplitVOptions,
    ML_TABLE_UniqueOptions,
    ML_TABLE_ReverseV2Options,
    ML_TABLE_AddNOptions,
    ML_TABLE_GatherNdOptions,
    ML_TABLE_CosOptions,
    ML_TABLE_WhereOptions,
    ML_TABLE_RankOptions,
    ML_TABLE_ReverseSequenceOptions,
    ML_TABLE_MatrixDiagOptions,
    ML_TABLE_QuantizeOptions,
    ML_TABLE_MatrixSetDiagOptions,
    ML_TABLE_HardSwishOptions,
    ML_TABLE_IfOptions,
    ML_TABLE_WhileOptions,
    ML_TABLE_DepthToSpaceOptions,
    ML_TABLE_NonMaxSuppressionV4Options,
    ML_TABLE_NonMaxSuppressionV5Options,
    ML_TABLE_ScatterNdOptions,
    ML_TABLE_SelectV2Options,
    ML_TABLE_DensifyOptions,
    ML_TABLE_SegmentSumOptions,
    ML_TABLE_BatchMatMulOptions,
    ML_TABLE_CumsumOptions,
    ML_TABLE_CallOnceOptions,
    ML_TABLE_BroadcastToOptions,
    ML_TABLE_Rfft2dOptions,
    ML_TABLE_Conv3DOptions,
    ML_TABLE_HashtableOptions,
    ML_TABLE_HashtableFindOptions,
    ML_TABLE_HashtableImportOptions,
    ML_TABLE_HashtableSizeOptions,
    ML_TABLE_VarHandleOptions,
    ML_TABLE_ReadVariableOptions,
    ML_TABLE_AssignVariableOptions,
    ML_TABLE_RandomOptions,
    ML_TABLE_BucketizeOptions,
    ML_TABLE_GeluOptions,
    ML_TABLE_DynamicUpdateSliceOptions,
    ML_TABLE_UnsortedSegmentProdOptions,
    ML_TABLE_UnsortedSegmentMaxOptions,
    ML_TABLE_UnsortedSegmentMinOptions,
    ML_TABLE_UnsortedSegmentSumOptions,
    ML_TABLE_ATan2Options,
    ML_TABLE_SignOptions,
    ML_TABLE_BitcastOptions,
    ML_TABLE_BitwiseXorOptions,
    ML_TABLE_RightShiftOptions,
    ML_TABLE_StablehloConcatenateOptions,
    ML_TABLE_StablehloBroadcastInDimOptions,
    ML_TABLE_StablehloSliceOptions,
    ML_TABLE_StablehloConvolutionOptions,
    ML_TABLE_StablehloCustomCallOptions,
    ML_TABLE_StablehloReduceOptions,
    ML_TABLE_StablehloScatterOptions,
    ML_TABLE_StablehloCompareOptions,
    ML_TABLE_StablehloDynamicSliceOptions,
    ML_TABLE_StablehloPadOptions,
    ML_TABLE_StablehloIotaOptions,
    ML_TABLE_StablehloDotGeneralOptions,
    ML_TABLE_StablehloReduceWindowOptions,
    ML_TABLE_StablehloSortOptions,
    ML_TABLE_StablehloWhileOptions,
    ML_TABLE_StablehloGatherOptions,
    ML_TABLE_StablehloTransposeOptions,
    ML_TABLE_DilateOptions,
    ML_TABLE_StablehloRngBitGeneratorOptions,
    ML_TABLE_ReduceWindowOptions,
    ML_TABLE_StableHLOCompositeOptions,
    ML_TABLE_StablehloShiftLeftOptions,
    ML_TABLE_StablehloCaseOptions,
    ML_TABLES = 170
} ml_table_number;

enum {
    ML_ENUM_TensorType = 0,
    ML_ENUM_DimensionType = 1,
    ML_ENUM_BuiltinOperator = 2,
    ML_ENUM_StablehloPrecisionConfig = 3,
    ML_ENUM_StablehloComparisonDirection = 4,
    ML_ENUM_StablehloComparisonType = 5,
    ML_ENUM_RngAlgorithm = 6,
    ML_ENUM_Padding = 7,
    ML_ENUM_ActivationFunctionType = 8,
    ML_ENUM_LSHProjectionType = 9,
    ML_ENUM_FullyConnectedOptionsWeightsFormat = 10,
    ML_ENUM_LSTMKernelType = 11,
    ML_ENUM_CombinerType = 12,
    ML_ENUM_MirrorPadMode = 13,
    ML_ENUM_ReduceWindowFunction = 14,
    ML_ENUM_CustomOptionsFormat = 15,
};

enum {
    ML_UNION_QuantizationDetails = 0,
    ML_UNION_SparseIndexVector = 1,
    ML_UNION_BuiltinOptions = 2,
    ML_UNION_BuiltinOptions2 = 3,
};

enum {
    ML_TensorType_FLOAT32 = 0,
    ML_TensorType_FLOAT16 = 1,
    ML_TensorType_INT32 = 2,
    ML_TensorType_UINT8 = 3,
    ML_TensorType_INT64 = 4,
    ML_TensorType_STRING = 5,
    ML_TensorType_BOOL = 6,
    ML_TensorType_INT16 = 7,
    ML_TensorType_COMPLEX64 = 8,
    ML_TensorType_INT8 = 9,
    ML_TensorType_FLOAT64 = 10,
    ML_TensorType_COMPLEX128 = 11,
    ML_TensorType_UINT64 = 12,
    ML_TensorType_RESOURCE = 13,
    ML_TensorType_VARIANT = 14,
    ML_TensorType_UINT32 = 15,
    ML_TensorType_UINT16 = 16,
    ML_TensorType_INT4 = 17,
    ML_TensorType_BFLOAT16 = 18,
    ML_TensorType_INT2 = 19,
    ML_TensorType_UINT4 = 20,
    ML_TensorType_FLOAT8_E4M3FN = 21,
    ML_TensorType_FLOAT8_E5M2 = 22,
};

enum {
    ML_DimensionType_DENSE = 0,
    ML_DimensionType_SPARSE_CSR = 1,
};

enum {
    ML_BuiltinOperator_ADD = 0,
    ML_BuiltinOperator_AVERAGE_POOL_2D = 1,
    ML_BuiltinOperator_CONCATENATION = 2,
    ML_BuiltinOperator_CONV_2D = 3,
    ML_BuiltinOperator_DEPTHWISE_CONV_2D = 4,
    ML_BuiltinOperator_DEPTH_TO_SPACE = 5,
    ML_BuiltinOperator_DEQUANTIZE = 6,
    ML_BuiltinOperator_EMBEDDING_LOOKUP = 7,
    ML_BuiltinOperator_FLOOR = 8,
    ML_BuiltinOperator_FULLY_CONNECTED = 9,
    ML_BuiltinOperator_HASHTABLE_LOOKUP = 10,
    ML_BuiltinOperator_L2_NORMALIZATION = 11,
    ML_BuiltinOperator_L2_POOL_2D = 12,
    ML_BuiltinOperator_LOCAL_RESPONSE_NORMALIZATION = 13,
    ML_BuiltinOperator_LOGISTIC = 14,
    ML_BuiltinOperator_LSH_PROJECTION = 15,
    ML_BuiltinOperator_LSTM = 16,
    ML_BuiltinOperator_MAX_POOL_2D = 17,
    ML_BuiltinOperator_MUL = 18,
    ML_BuiltinOperator_RELU = 19,
    ML_BuiltinOperator_RELU_N1_TO_1 = 20,
    ML_BuiltinOperator_RELU6 = 21,
    ML_BuiltinOperator_RESHAPE = 22,
    ML_BuiltinOperator_RESIZE_BILINEAR = 23,
    ML_BuiltinOperator_RNN = 24,
    ML_BuiltinOperator_SOFTMAX = 25,
    ML_BuiltinOperator_SPACE_TO_DEPTH = 26,
    ML_BuiltinOperator_SVDF = 27,
    ML_BuiltinOperator_TANH = 28,
    ML_BuiltinOperator_CONCAT_EMBEDDINGS = 29,
    ML_BuiltinOperator_SKIP_GRAM = 30,
    ML_BuiltinOperator_CALL = 31,
    ML_BuiltinOperator_CUSTOM = 32,
    ML_BuiltinOperator_EMBEDDING_LOOKUP_SPARSE = 33,
    ML_BuiltinOperator_PAD = 34,
    ML_BuiltinOperator_UNIDIRECTIONAL_SEQUENCE_RNN = 35,
    ML_BuiltinOperator_GATHER = 36,
    ML_BuiltinOperator_BATCH_TO_SPACE_ND = 37,
    ML_BuiltinOperator_SPACE_TO_BATCH_ND = 38,
    ML_BuiltinOperator_TRANSPOSE = 39,
    ML_BuiltinOperator_MEAN = 40,
    ML_BuiltinOperator_SUB = 41,
    ML_BuiltinOperator_DIV = 42,
    ML_BuiltinOperator_SQUEEZE = 43,
    ML_BuiltinOperator_UNIDIRECTIONAL_SEQUENCE_LSTM = 44,
    ML_BuiltinOperator_STRIDED_SLICE = 45,
    ML_BuiltinOperator_BIDIRECTIONAL_SEQUENCE_RNN = 46,
    ML_BuiltinOperator_EXP = 47,
    ML_BuiltinOperator_TOPK_V2 = 48,
    ML_BuiltinOperator_SPLIT = 49,
    ML_BuiltinOperator_LOG_SOFTMAX = 50,
    ML_BuiltinOperator_DELEGATE = 51,
    ML_BuiltinOperator_BIDIRECTIONAL_SEQUENCE_LSTM = 52,
    ML_BuiltinOperator_CAST = 53,
    ML_BuiltinOperator_PRELU = 54,
    ML_BuiltinOperator_MAXIMUM = 55,
    ML_BuiltinOperator_ARG_MAX = 56,
    ML_BuiltinOperator_MINIMUM = 57,
    ML_BuiltinOperator_LESS = 58,
    ML_BuiltinOperator_NEG = 59,
    ML_BuiltinOperator_PADV2 = 60,
    ML_BuiltinOperator_GREATER = 61,
    ML_BuiltinOperator_GREATER_EQUAL = 62,
    ML_BuiltinOperator_LESS_EQUAL = 63,
    ML_BuiltinOperator_SELECT = 64,
    ML_BuiltinOperator_SLICE = 65,
    ML_BuiltinOperator_SIN = 66,
    ML_BuiltinOperator_TRANSPOSE_CONV = 67,
    ML_BuiltinOperator_SPARSE_TO_DENSE = 68,
    ML_BuiltinOperator_TILE = 69,
    ML_BuiltinOperator_EXPAND_DIMS = 70,
    ML_BuiltinOperator_EQUAL = 71,
    ML_BuiltinOperator_NOT_EQUAL = 72,
    ML_BuiltinOperator_LOG = 73,
    ML_BuiltinOperator_SUM = 74,
    ML_BuiltinOperator_SQRT = 75,
    ML_BuiltinOperator_RSQRT = 76,
    ML_BuiltinOperator_SHAPE = 77,
    ML_BuiltinOperator_POW = 78,
    ML_BuiltinOperator_ARG_MIN = 79,
    ML_BuiltinOperator_FAKE_QUANT = 80,
    ML_BuiltinOperator_REDUCE_PROD = 81,
    ML_BuiltinOperator_REDUCE_MAX = 82,
    ML_BuiltinOperator_PACK = 83,
    ML_BuiltinOperator_LOGICAL_OR = 84,
    ML_BuiltinOperator_ONE_HOT = 85,
    ML_BuiltinOperator_LOGICAL_AND = 86,
    ML_BuiltinOperator_LOGICAL_NOT = 87,
    ML_BuiltinOperator_UNPACK = 88,
    ML_BuiltinOperator_REDUCE_MIN = 89,
    ML_BuiltinOperator_FLOOR_DIV = 90,
    ML_BuiltinOperator_REDUCE_ANY = 91,
    ML_BuiltinOperator_SQUARE = 92,
    ML_BuiltinOperator_ZEROS_LIKE = 93,
    ML_BuiltinOperator_FILL = 94,
    ML_BuiltinOperator_FLOOR_MOD = 95,
    ML_BuiltinOperator_RANGE = 96,
    ML_BuiltinOperator_RESIZE_NEAREST_NEIGHBOR = 97,
    ML_BuiltinOperator_LEAKY_RELU = 98,
    ML_BuiltinOperator_SQUARED_DIFFERENCE = 99,
    ML_BuiltinOperator_MIRROR_PAD = 100,
    ML_BuiltinOperator_ABS = 101,
    ML_BuiltinOperator_SPLIT_V = 102,
    ML_BuiltinOperator_UNIQUE = 103,
    ML_BuiltinOperator_CEIL = 104,
    ML_BuiltinOperator_REVERSE_V2 = 105,
    ML_BuiltinOperator_ADD_N = 106,
    ML_BuiltinOperator_GATHER_ND = 107,
    ML_BuiltinOperator_COS = 108,
    ML_BuiltinOperator_WHERE = 109,
    ML_BuiltinOperator_RANK = 110,
    ML_BuiltinOperator_ELU = 111,
    ML_BuiltinOperator_REVERSE_SEQUENCE = 112,
    ML_BuiltinOperator_MATRIX_DIAG = 113,
    ML_BuiltinOperator_QUANTIZE = 114,
    ML_BuiltinOperator_MATRIX_SET_DIAG = 115,
    ML_BuiltinOperator_ROUND = 116,
    ML_BuiltinOperator_HARD_SWISH = 117,
    ML_BuiltinOperator_IF = 118,
    ML_BuiltinOperator_WHILE = 119,
    ML_BuiltinOperator_NON_MAX_SUPPRESSION_V4 = 120,
    ML_BuiltinOperator_NON_MAX_SUPPRESSION_V5 = 121,
    ML_BuiltinOperator_SCATTER_ND = 122,
    ML_BuiltinOperator_SELECT_V2 = 123,
    ML_BuiltinOperator_DENSIFY = 124,
    ML_BuiltinOperator_SEGMENT_SUM = 125,
    ML_BuiltinOperator_BATCH_MATMUL = 126,
    ML_BuiltinOperator_PLACEHOLDER_FOR_GREATER_OP_CODES = 127,
    ML_BuiltinOperator_CUMSUM = 128,
    ML_BuiltinOperator_CALL_ONCE = 129,
    ML_BuiltinOperator_BROADCAST_TO = 130,
    ML_BuiltinOperator_RFFT2D = 131,
    ML_BuiltinOperator_CONV_3D = 132,
    ML_BuiltinOperator_IMAG = 133,
    ML_BuiltinOperator_REAL = 134,
    ML_BuiltinOperator_COMPLEX_ABS = 135,
    ML_BuiltinOperator_HASHTABLE = 136,
    ML_BuiltinOperator_HASHTABLE_FIND = 137,
    ML_BuiltinOperator_HASHTABLE_IMPORT = 138,
    ML_BuiltinOperator_HASHTABLE_SIZE = 139,
    ML_BuiltinOperator_REDUCE_ALL = 140,
    ML_BuiltinOperator_CONV_3D_TRANSPOSE = 141,
    ML_BuiltinOperator_VAR_HANDLE = 142,
    ML_BuiltinOperator_READ_VARIABLE = 143,
    ML_BuiltinOperator_ASSIGN_VARIABLE = 144,
    ML_BuiltinOperator_BROADCAST_ARGS = 145,
    ML_BuiltinOperator_RANDOM_STANDARD_NORMAL = 146,
    ML_BuiltinOperator_BUCKETIZE = 147,
    ML_BuiltinOperator_RANDOM_UNIFORM = 148,
    ML_BuiltinOperator_MULTINOMIAL = 149,
    ML_BuiltinOperator_GELU = 150,
    ML_BuiltinOperator_DYNAMIC_UPDATE_SLICE = 151,
    ML_BuiltinOperator_RELU_0_TO_1 = 152,
    ML_BuiltinOperator_UNSORTED_SEGMENT_PROD = 153,
    ML_BuiltinOperator_UNSORTED_SEGMENT_MAX = 154,
    ML_BuiltinOperator_UNSORTED_SEGMENT_SUM = 155,
    ML_BuiltinOperator_ATAN2 = 156,
    ML_BuiltinOperator_UNSORTED_SEGMENT_MIN = 157,
    ML_BuiltinOperator_SIGN = 158,
    ML_BuiltinOperator_BITCAST = 159,
    ML_BuiltinOperator_BITWISE_XOR = 160,
    ML_BuiltinOperator_RIGHT_SHIFT = 161,
    ML_BuiltinOperator_STABLEHLO_LOGISTIC = 162,
    ML_BuiltinOperator_STABLEHLO_ADD = 163,
    ML_BuiltinOperator_STABLEHLO_DIVIDE = 164,
    ML_BuiltinOperator_STABLEHLO_MULTIPLY = 165,
    ML_BuiltinOperator_STABLEHLO_MAXIMUM = 166,
    ML_BuiltinOperator_STABLEHLO_RESHAPE = 167,
    ML_BuiltinOperator_STABLEHLO_CLAMP = 168,
    ML_BuiltinOperator_STABLEHLO_CONCATENATE = 169,
    ML_BuiltinOperator_STABLEHLO_BROADCAST_IN_DIM = 170,
    ML_BuiltinOperator_STABLEHLO_CONVOLUTION = 171,
    ML_BuiltinOperator_STABLEHLO_SLICE = 172,
    ML_BuiltinOperator_STABLEHLO_CUSTOM_CALL = 173,
    ML_BuiltinOperator_STABLEHLO_REDUCE = 174,
    ML_BuiltinOperator_STABLEHLO_ABS = 175,
    ML_BuiltinOperator_STABLEHLO_AND = 176,
    ML_BuiltinOperator_STABLEHLO_COSINE = 177,
    ML_BuiltinOperator_STABLEHLO_EXPONENTIAL = 178,
    ML_BuiltinOperator_STABLEHLO_FLOOR = 179,
    ML_BuiltinOperator_STABLEHLO_LOG = 180,
    ML_BuiltinOperator_STABLEHLO_MINIMUM = 181,
    ML_BuiltinOperator_STABLEHLO_NEGATE = 182,
    ML_BuiltinOperator_STABLEHLO_OR = 183,
    ML_BuiltinOperator_STABLEHLO_POWER = 184,
    ML_BuiltinOperator_STABLEHLO_REMAINDER = 185,
    ML_BuiltinOperator_STABLEHLO_RSQRT = 186,
    ML_BuiltinOperator_STABLEHLO_SELECT = 187,
    ML_BuiltinOperator_STABLEHLO_SUBTRACT = 188,
    ML_BuiltinOperator_STABLEHLO_TANH = 189,
    ML_BuiltinOperator_STABLEHLO_SCATTER = 190,
    ML_BuiltinOperator_STABLEHLO_COMPARE = 191,
    ML_BuiltinOperator_STABLEHLO_CONVERT = 192,
    ML_BuiltinOperator_STABLEHLO_DYNAMIC_SLICE = 193,
    ML_BuiltinOperator_STABLEHLO_DYNAMIC_UPDATE_SLICE = 194,
    ML_BuiltinOperator_STABLEHLO_PAD = 195,
    ML_BuiltinOperator_STABLEHLO_IOTA = 196,
    ML_BuiltinOperator_STABLEHLO_DOT_GENERAL = 197,
    ML_BuiltinOperator_STABLEHLO_REDUCE_WINDOW = 198,
    ML_BuiltinOperator_STABLEHLO_SORT = 199,
    ML_BuiltinOperator_STABLEHLO_WHILE = 200,
    ML_BuiltinOperator_STABLEHLO_GATHER = 201,
    ML_BuiltinOperator_STABLEHLO_TRANSPOSE = 202,
    ML_BuiltinOperator_DILATE = 203,
    ML_BuiltinOperator_STABLEHLO_RNG_BIT_GENERATOR = 204,
    ML_BuiltinOperator_REDUCE_WINDOW = 205,
    ML_BuiltinOperator_STABLEHLO_COMPOSITE = 206,
    ML_BuiltinOperator_STABLEHLO_SHIFT_LEFT = 207,
    ML_BuiltinOperator_STABLEHLO_CBRT = 208,
    ML_BuiltinOperator_STABLEHLO_CASE = 209,
};

enum {
    ML_StablehloPrecisionConfig_DEFAULT = 0,
    ML_StablehloPrecisionConfig_HIGH = 1,
    ML_StablehloPrecisionConfig_HIGHEST = 2,
};

enum {
    ML_StablehloComparisonDirection_STABLEHLO_COMPARISON_DIRECTION_EQ = 0,
    ML_StablehloComparisonDirection_STABLEHLO_COMPARISON_DIRECTION_NE = 1,
    ML_StablehloComparisonDirection_STABLEHLO_COMPARISON_DIRECTION_GE = 2,
    ML_StablehloComparisonDirection_STABLEHLO_COMPARISON_DIRECTION_GT = 3,
    ML_StablehloComparisonDirection_STABLEHLO_COMPARISON_DIRECTION_LE = 4,
    ML_StablehloComparisonDirection_STABLEHLO_COMPARISON_DIRECTION_LT = 5,
};

enum {
    ML_StablehloComparisonType_STABLEHLO_COMPARISON_TYPE_NOTYPE = 0,
    ML_StablehloComparisonType_STABLEHLO_COMPARISON_TYPE_FLOAT = 1,
    ML_StablehloComparisonType_STABLEHLO_COMPARISON_TYPE_FLOAT_TOTAL_ORDER = 2,
    ML_StablehloComparisonType_STABLEHLO_COMPARISON_TYPE_SIGNED = 3,
    ML_StablehloComparisonType_STABLEHLO_COMPARISON_TYPE_UNSIGNED = 4,
};

enum {
    ML_RngAlgorithm_DEFAULT = 0,
    ML_RngAlgorithm_PHILOX = 1,
    ML_RngAlgorithm_THREEFRY = 2,
};

enum {
    ML_Padding_SAME = 0,
    ML_Padding_VALID = 1,
};

enum {
    ML_ActivationFunctionType_NONE = 0,
    ML_ActivationFunctionType_RELU = 1,
    ML_ActivationFunctionType_RELU_N1_TO_1 = 2,
    ML_ActivationFunctionType_RELU6 = 3,
    ML_ActivationFunctionType_TANH = 4,
    ML_ActivationFunctionType_SIGN_BIT = 5,
};

enum {
    ML_LSHProjectionType_UNKNOWN = 0,
    ML_LSHProjectionType_SPARSE = 1,
    ML_LSHProjectionType_DENSE = 2,
};

enum {
    ML_FullyConnectedOptionsWeightsFormat_DEFAULT = 0,
    ML_FullyConnectedOptionsWeightsFormat_SHUFFLED4x16INT8 = 1,
};

enum {
    ML_LSTMKernelType_FULL = 0,
    ML_LSTMKernelType_BASIC = 1,
};

enum {
    ML_CombinerType_SUM = 0,
    ML_CombinerType_MEAN = 1,
    ML_CombinerType_SQRTN = 2,
};

enum {
    ML_MirrorPadMode_REFLECT = 0,
    ML_MirrorPadMode_SYMMETRIC = 1,
};

enum {
    ML_ReduceWindowFunction_UNSUPPORTED = 0,
    ML_ReduceWindowFunction_ADD = 1,
    ML_ReduceWindowFunction_MUL = 2,
    ML_ReduceWindowFunction_MINIMUM = 3,
    ML_ReduceWindowFunction_MAXIMUM = 4,
    ML_ReduceWindowFunction_ALL = 5,
    ML_ReduceWindowFunction_ANY = 6,
};

enum {
    ML_CustomOptionsFormat_FLEXBUFFERS = 0,
};

enum {
    ML_SLOT_Model_version = 0,
    ML_SLOT_Model_operator_codes = 1,
    ML_SLOT_Model_subgraphs = 2,
    ML_SLOT_Model_description = 3,
    ML_SLOT_Model_buffers = 4,
    ML_SLOT_Model_metadata_buffer = 5,
    ML_SLOT_Model_metadata = 6,
    ML_SLOT_Model_signature_defs = 7,
    ML_SLOT_Model_external_buffer_groups = 8,
    ML_SLOT_Model_external_buffers = 9,
};

enum {
    ML_SLOT_SubGraph_tensors = 0,
    ML_SLOT_SubGraph_inputs = 1,
    ML_SLOT_SubGraph_outputs = 2,
    ML_SLOT_SubGraph_operators = 3,
    ML_SLOT_SubGraph_name = 4,
    ML_SLOT_SubGraph_debug_metadata_index = 5,
};

enum {
    ML_SLOT_Tensor_shape = 0,
    ML_SLOT_Tensor_type = 1,
    ML_SLOT_Tensor_buffer = 2,
    ML_SLOT_Tensor_name = 3,
    ML_SLOT_Tensor_quantization = 4,
    ML_SLOT_Tensor_is_variable = 5,
    ML_SLOT_Tensor_sparsity = 6,
    ML_SLOT_Tensor_shape_signature = 7,
    ML_SLOT_Tensor_has_rank = 8,
    ML_SLOT_Tensor_variant_tensors = 9,
    ML_SLOT_Tensor_external_buffer = 10,
};

enum {
    ML_SLOT_VariantSubType_shape = 0,
    ML_SLOT_VariantSubType_type = 1,
    ML_SLOT_VariantSubType_has_rank = 2,
};

enum {
    ML_SLOT_Operator_opcode_index = 0,
    ML_SLOT_Operator_inputs = 1,
    ML_SLOT_Operator_outputs = 2,
    ML_SLOT_Operator_builtin_options_type = 3,
    ML_SLOT_Operator_builtin_options = 4,
    ML_SLOT_Operator_custom_options = 5,
    ML_SLOT_Operator_custom_options_format = 6,
    ML_SLOT_Operator_mutating_variable_inputs = 7,
    ML_SLOT_Operator_intermediates = 8,
    ML_SLOT_Operator_large_custom_options_offset = 9,
    ML_SLOT_Operator_large_custom_options_size = 10,
    ML_SLOT_Operator_builtin_options2_type = 11,
    ML_SLOT_Operator_builtin_options2 = 12,
    ML_SLOT_Operator_debug_metadata_index = 13,
};

enum {
    ML_SLOT_OperatorCode_deprecated_builtin_code = 0,
    ML_SLOT_OperatorCode_custom_code = 1,
    ML_SLOT_OperatorCode_version = 2,
    ML_SLOT_OperatorCode_builtin_code = 3,
};

enum {
    ML_SLOT_Buffer_data = 0,
    ML_SLOT_Buffer_offset = 1,
    ML_SLOT_Buffer_size = 2,
};

enum {
    ML_SLOT_ExternalBufferGroup_name = 0,
};

enum {
    ML_SLOT_ExternalBuffer_id = 0,
    ML_SLOT_ExternalBuffer_group = 1,
    ML_SLOT_ExternalBuffer_offset = 2,
    ML_SLOT_ExternalBuffer_length = 3,
    ML_SLOT_ExternalBuffer_packing = 4,
};

enum {
    ML_SLOT_Metadata_name = 0,
    ML_SLOT_Metadata_buffer = 1,
};

enum {
    ML_SLOT_SignatureDef_inputs = 0,
    ML_SLOT_SignatureDef_outputs = 1,
    ML_SLOT_SignatureDef_signature_key = 2,
    ML_SLOT_SignatureDef_subgraph_index = 4,
};

enum {
    ML_SLOT_TensorMap_name = 0,
    ML_SLOT_TensorMap_tensor_index = 1,
};

enum {
    ML_SLOT_QuantizationParameters_min = 0,
    ML_SLOT_QuantizationParameters_max = 1,
    ML_SLOT_QuantizationParameters_scale = 2,
    ML_SLOT_QuantizationParameters_zero_point = 3,
    ML_SLOT_QuantizationParameters_details_type = 4,
    ML_SLOT_QuantizationParameters_details = 5,
    ML_SLOT_QuantizationParameters_quantized_dimension = 6,
};

enum {
    ML_SLOT_CustomQuantization_custom = 0,
};

enum {
    ML_SLOT_BlockwiseQuantization_scales = 0,
    ML_SLOT_BlockwiseQuantization_zero_points = 1,
    ML_SLOT_BlockwiseQuantization_block_size = 2,
    ML_SLOT_BlockwiseQuantization_block_shape = 3,
};

enum {
    ML_SLOT_MultiAxisQuantization_scales = 0,
    ML_SLOT_MultiAxisQuantization_zero_points = 1,
    ML_SLOT_MultiAxisQuantization_block_size = 2,
    ML_SLOT_MultiAxisQuantization_quantized_dimensions = 3,
};

enum {
    ML_SLOT_SparsityParameters_traversal_order = 0,
    ML_SLOT_SparsityParameters_block_map = 1,
    ML_SLOT_SparsityParameters_dim_metadata = 2,
};

enum {
    ML_SLOT_DimensionMetadata_format = 0,
    ML_SLOT_DimensionMetadata_dense_size = 1,
    ML_SLOT_DimensionMetadata_array_segments_type = 2,
    ML_SLOT_DimensionMetadata_array_segments = 3,
    ML_SLOT_DimensionMetadata_array_indices_type = 4,
    ML_SLOT_DimensionMetadata_array_indices = 5,
};

enum {
    ML_SLOT_Int32Vector_values = 0,
};

enum {
    ML_SLOT_Uint16Vector_values = 0,
};

enum {
    ML_SLOT_Uint8Vector_values = 0,
};

enum {
    ML_SLOT_Conv2DOptions_padding = 0,
    ML_SLOT_Conv2DOptions_stride_w = 1,
    ML_SLOT_Conv2DOptions_stride_h = 2,
    ML_SLOT_Conv2DOptions_fused_activation_function = 3,
    ML_SLOT_Conv2DOptions_dilation_w_factor = 4,
    ML_SLOT_Conv2DOptions_dilation_h_factor = 5,
    ML_SLOT_Conv2DOptions_quantized_bias_type = 6,
};

enum {
    ML_SLOT_DepthwiseConv2DOptions_padding = 0,
    ML_SLOT_DepthwiseConv2DOptions_stride_w = 1,
    ML_SLOT_DepthwiseConv2DOptions_stride_h = 2,
    ML_SLOT_DepthwiseConv2DOptions_depth_multiplier = 3,
    ML_SLOT_DepthwiseConv2DOptions_fused_activation_function = 4,
    ML_SLOT_DepthwiseConv2DOptions_dilation_w_factor = 5,
    ML_SLOT_DepthwiseConv2DOptions_dilation_h_factor = 6,
};

enum {
    ML_SLOT_ConcatEmbeddingsOptions_num_channels = 0,
    ML_SLOT_ConcatEmbeddingsOptions_num_columns_per_channel = 1,
    ML_SLOT_ConcatEmbeddingsOptions_embedding_dim_per_channel = 2,
};

enum {
    ML_SLOT_LSHProjectionOptions_type = 0,
};

enum {
    ML_SLOT_Pool2DOptions_padding = 0,
    ML_SLOT_Pool2DOptions_stride_w = 1,
    ML_SLOT_Pool2DOptions_stride_h = 2,
    ML_SLOT_Pool2DOptions_filter_width = 3,
    ML_SLOT_Pool2DOptions_filter_height = 4,
    ML_SLOT_Pool2DOptions_fused_activation_function = 5,
};

enum {
    ML_SLOT_SVDFOptions_rank = 0,
    ML_SLOT_SVDFOptions_fused_activation_function = 1,
    ML_SLOT_SVDFOptions_asymmetric_quantize_inputs = 2,
};

enum {
    ML_SLOT_RNNOptions_fused_activation_function = 0,
    ML_SLOT_RNNOptions_asymmetric_quantize_inputs = 1,
};

enum {
    ML_SLOT_FullyConnectedOptions_fused_activation_function = 0,
    ML_SLOT_FullyConnectedOptions_weights_format = 1,
    ML_SLOT_FullyConnectedOptions_keep_num_dims = 2,
    ML_SLOT_FullyConnectedOptions_asymmetric_quantize_inputs = 3,
    ML_SLOT_FullyConnectedOptions_quantized_bias_type = 4,
    ML_SLOT_FullyConnectedOptions_quant_spec = 5,
};

enum {
    ML_SLOT_SoftmaxOptions_beta = 0,
};

enum {
    ML_SLOT_ConcatenationOptions_axis = 0,
    ML_SLOT_ConcatenationOptions_fused_activation_function = 1,
};

enum {
    ML_SLOT_AddOptions_fused_activation_function = 0,
    ML_SLOT_AddOptions_pot_scale_int16 = 1,
};

enum {
    ML_SLOT_L2NormOptions_fused_activation_function = 0,
};

enum {
    ML_SLOT_LocalResponseNormalizationOptions_radius = 0,
    ML_SLOT_LocalResponseNormalizationOptions_bias = 1,
    ML_SLOT_LocalResponseNormalizationOptions_alpha = 2,
    ML_SLOT_LocalResponseNormalizationOptions_beta = 3,
};

enum {
    ML_SLOT_LSTMOptions_fused_activation_function = 0,
    ML_SLOT_LSTMOptions_cell_clip = 1,
    ML_SLOT_LSTMOptions_proj_clip = 2,
    ML_SLOT_LSTMOptions_kernel_type = 3,
    ML_SLOT_LSTMOptions_asymmetric_quantize_inputs = 4,
};

enum {
    ML_SLOT_ResizeBilinearOptions_align_corners = 2,
    ML_SLOT_ResizeBilinearOptions_half_pixel_centers = 3,
};

enum {
    ML_SLOT_CallOptions_subgraph = 0,
};

enum {
    ML_SLOT_ReshapeOptions_new_shape = 0,
};

enum {
    ML_SLOT_SkipGramOptions_ngram_size = 0,
    ML_SLOT_SkipGramOptions_max_skip_size = 1,
    ML_SLOT_SkipGramOptions_include_all_ngrams = 2,
};

enum {
    ML_SLOT_SpaceToDepthOptions_block_size = 0,
};

enum {
    ML_SLOT_EmbeddingLookupSparseOptions_combiner = 0,
};

enum {
    ML_SLOT_MulOptions_fused_activation_function = 0,
};

enum {
    ML_SLOT_GatherOptions_axis = 0,
    ML_SLOT_GatherOptions_batch_dims = 1,
};

enum {
    ML_SLOT_ReducerOptions_keep_dims = 0,
};

enum {
    ML_SLOT_SubOptions_fused_activation_function = 0,
    ML_SLOT_SubOptions_pot_scale_int16 = 1,
};

enum {
    ML_SLOT_DivOptions_fused_activation_function = 0,
};

enum {
    ML_SLOT_SqueezeOptions_squeeze_dims = 0,
};

enum {
    ML_SLOT_SequenceRNNOptions_time_major = 0,
    ML_SLOT_SequenceRNNOptions_fused_activation_function = 1,
    ML_SLOT_SequenceRNNOptions_asymmetric_quantize_inputs = 2,
};

enum {
    ML_SLOT_StridedSliceOptions_begin_mask = 0,
    ML_SLOT_StridedSliceOptions_end_mask = 1,
    ML_SLOT_StridedSliceOptions_ellipsis_mask = 2,
    ML_SLOT_StridedSliceOptions_new_axis_mask = 3,
    ML_SLOT_StridedSliceOptions_shrink_axis_mask = 4,
    ML_SLOT_StridedSliceOptions_offset = 5,
};

enum {
    ML_SLOT_SplitOptions_num_splits = 0,
};

enum {
    ML_SLOT_CastOptions_in_data_type = 0,
    ML_SLOT_CastOptions_out_data_type = 1,
};

enum {
    ML_SLOT_ArgMaxOptions_output_type = 0,
};

enum {
    ML_SLOT_TransposeConvOptions_padding = 0,
    ML_SLOT_TransposeConvOptions_stride_w = 1,
    ML_SLOT_TransposeConvOptions_stride_h = 2,
    ML_SLOT_TransposeConvOptions_fused_activation_function = 3,
    ML_SLOT_TransposeConvOptions_quantized_bias_type = 4,
};

enum {
    ML_SLOT_SparseToDenseOptions_validate_indices = 0,
};

enum {
    ML_SLOT_ShapeOptions_out_type = 0,
};

enum {
    ML_SLOT_ArgMinOptions_output_type = 0,
};

enum {
    ML_SLOT_FakeQuantOptions_min = 0,
    ML_SLOT_FakeQuantOptions_max = 1,
    ML_SLOT_FakeQuantOptions_num_bits = 2,
    ML_SLOT_FakeQuantOptions_narrow_range = 3,
};

enum {
    ML_SLOT_PackOptions_values_count = 0,
    ML_SLOT_PackOptions_axis = 1,
};

enum {
    ML_SLOT_OneHotOptions_axis = 0,
};

enum {
    ML_SLOT_UnpackOptions_num = 0,
    ML_SLOT_UnpackOptions_axis = 1,
};

enum {
    ML_SLOT_BidirectionalSequenceLSTMOptions_fused_activation_function = 0,
    ML_SLOT_BidirectionalSequenceLSTMOptions_cell_clip = 1,
    ML_SLOT_BidirectionalSequenceLSTMOptions_proj_clip = 2,
    ML_SLOT_BidirectionalSequenceLSTMOptions_merge_outputs = 3,
    ML_SLOT_BidirectionalSequenceLSTMOptions_time_major = 4,
    ML_SLOT_BidirectionalSequenceLSTMOptions_asymmetric_quantize_inputs = 5,
};

enum {
    ML_SLOT_BidirectionalSequenceRNNOptions_time_major = 0,
    ML_SLOT_BidirectionalSequenceRNNOptions_fused_activation_function = 1,
    ML_SLOT_BidirectionalSequenceRNNOptions_merge_outputs = 2,
    ML_SLOT_BidirectionalSequenceRNNOptions_asymmetric_quantize_inputs = 3,
};

enum {
    ML_SLOT_UnidirectionalSequenceLSTMOptions_fused_activation_function = 0,
    ML_SLOT_UnidirectionalSequenceLSTMOptions_cell_clip = 1,
    ML_SLOT_UnidirectionalSequenceLSTMOptions_proj_clip = 2,
    ML_SLOT_UnidirectionalSequenceLSTMOptions_time_major = 3,
    ML_SLOT_UnidirectionalSequenceLSTMOptions_asymmetric_quantize_inputs = 4,
    ML_SLOT_UnidirectionalSequenceLSTMOptions_diagonal_recurrent_tensors = 5,
};

enum {
    ML_SLOT_ResizeNearestNeighborOptions_align_corners = 0,
    ML_SLOT_ResizeNearestNeighborOptions_half_pixel_centers = 1,
};

enum {
    ML_SLOT_LeakyReluOptions_alpha = 0,
};

enum {
    ML_SLOT_MirrorPadOptions_mode = 0,
};

enum {
    ML_SLOT_SplitVOptions_num_splits = 0,
};

enum {
    ML_SLOT_UniqueOptions_idx_out_type = 0,
};

enum {
    ML_SLOT_ReverseSequenceOptions_seq_dim = 0,
    ML_SLOT_ReverseSequenceOptions_batch_dim = 1,
};

enum {
    ML_SLOT_IfOptions_then_subgraph_index = 0,
    ML_SLOT_IfOptions_else_subgraph_index = 1,
};

enum {
    ML_SLOT_WhileOptions_cond_subgraph_index = 0,
    ML_SLOT_WhileOptions_body_subgraph_index = 1,
};

enum {
    ML_SLOT_DepthToSpaceOptions_block_size = 0,
};

enum {
    ML_SLOT_BatchMatMulOptions_adj_x = 0,
    ML_SLOT_BatchMatMulOptions_adj_y = 1,
    ML_SLOT_BatchMatMulOptions_asymmetric_quantize_inputs = 2,
};

enum {
    ML_SLOT_CumsumOptions_exclusive = 0,
    ML_SLOT_CumsumOptions_reverse = 1,
};

enum {
    ML_SLOT_CallOnceOptions_init_subgraph_index = 0,
};

enum {
    ML_SLOT_Conv3DOptions_padding = 0,
    ML_SLOT_Conv3DOptions_stride_d = 1,
    ML_SLOT_Conv3DOptions_stride_w = 2,
    ML_SLOT_Conv3DOptions_stride_h = 3,
    ML_SLOT_Conv3DOptions_fused_activation_function = 4,
    ML_SLOT_Conv3DOptions_dilation_d_factor = 5,
    ML_SLOT_Conv3DOptions_dilation_w_factor = 6,
    ML_SLOT_Conv3DOptions_dilation_h_factor = 7,
};

enum {
    ML_SLOT_HashtableOptions_table_id = 0,
    ML_SLOT_HashtableOptions_key_dtype = 1,
    ML_SLOT_HashtableOptions_value_dtype = 2,
};

enum {
    ML_SLOT_VarHandleOptions_container = 0,
    ML_SLOT_VarHandleOptions_shared_name = 1,
};

enum {
    ML_SLOT_RandomOptions_seed = 0,
    ML_SLOT_RandomOptions_seed2 = 1,
};

enum {
    ML_SLOT_BucketizeOptions_boundaries = 0,
};

enum {
    ML_SLOT_GeluOptions_approximate = 0,
};

enum {
    ML_SLOT_StablehloConcatenateOptions_dimension = 0,
};

enum {
    ML_SLOT_StablehloBroadcastInDimOptions_broadcast_dimensions = 0,
};

enum {
    ML_SLOT_StablehloSliceOptions_start_indices = 0,
    ML_SLOT_StablehloSliceOptions_limit_indices = 1,
    ML_SLOT_StablehloSliceOptions_strides = 2,
};

enum {
    ML_SLOT_StablehloConvolutionOptions_window_strides = 0,
    ML_SLOT_StablehloConvolutionOptions_padding = 1,
    ML_SLOT_StablehloConvolutionOptions_lhs_dilation = 2,
    ML_SLOT_StablehloConvolutionOptions_rhs_dilation = 3,
    ML_SLOT_StablehloConvolutionOptions_window_reversal = 4,
    ML_SLOT_StablehloConvolutionOptions_input_batch_dimension = 5,
    ML_SLOT_StablehloConvolutionOptions_input_feature_dimension = 6,
    ML_SLOT_StablehloConvolutionOptions_input_spatial_dimensions = 7,
    ML_SLOT_StablehloConvolutionOptions_kernel_input_feature_dimension = 8,
    ML_SLOT_StablehloConvolutionOptions_kernel_output_feature_dimension = 9,
    ML_SLOT_StablehloConvolutionOptions_kernel_spatial_dimensions = 10,
    ML_SLOT_StablehloConvolutionOptions_output_batch_dimension = 11,
    ML_SLOT_StablehloConvolutionOptions_output_feature_dimension = 12,
    ML_SLOT_StablehloConvolutionOptions_output_spatial_dimensions = 13,
    ML_SLOT_StablehloConvolutionOptions_feature_group_count = 14,
    ML_SLOT_StablehloConvolutionOptions_batch_group_count = 15,
    ML_SLOT_StablehloConvolutionOptions_precision_config = 16,
};

enum {
    ML_SLOT_StablehloCustomCallOptions_call_target_name = 0,
    ML_SLOT_StablehloCustomCallOptions_has_side_effect = 1,
    ML_SLOT_StablehloCustomCallOptions_backend_config = 2,
    ML_SLOT_StablehloCustomCallOptions_api_version = 3,
    ML_SLOT_StablehloCustomCallOptions_called_computations = 4,
    ML_SLOT_StablehloCustomCallOptions_custom_attributes = 5,
};

enum {
    ML_SLOT_StablehloReduceOptions_dimensions = 0,
    ML_SLOT_StablehloReduceOptions_body_subgraph_index = 1,
};

enum {
    ML_SLOT_StablehloScatterOptions_indices_are_sorted = 0,
    ML_SLOT_StablehloScatterOptions_update_window_dims = 1,
    ML_SLOT_StablehloScatterOptions_inserted_window_dims = 2,
    ML_SLOT_StablehloScatterOptions_scatter_dims_to_operand_dims = 3,
    ML_SLOT_StablehloScatterOptions_index_vector_dim = 4,
    ML_SLOT_StablehloScatterOptions_unique_indices = 5,
    ML_SLOT_StablehloScatterOptions_update_computation_subgraph_index = 6,
};

enum {
    ML_SLOT_StablehloCompareOptions_comparison_direction = 0,
    ML_SLOT_StablehloCompareOptions_compare_type = 1,
};

enum {
    ML_SLOT_StablehloDynamicSliceOptions_slice_sizes = 0,
};

enum {
    ML_SLOT_StablehloPadOptions_edge_padding_low = 0,
    ML_SLOT_StablehloPadOptions_edge_padding_high = 1,
    ML_SLOT_StablehloPadOptions_interior_padding = 2,
};

enum {
    ML_SLOT_StablehloIotaOptions_iota_dimension = 0,
};

enum {
    ML_SLOT_StablehloDotGeneralOptions_lhs_batching_dimensions = 0,
    ML_SLOT_StablehloDotGeneralOptions_rhs_batching_dimensions = 1,
    ML_SLOT_StablehloDotGeneralOptions_lhs_contracting_dimensions = 2,
    ML_SLOT_StablehloDotGeneralOptions_rhs_contracting_dimensions = 3,
    ML_SLOT_StablehloDotGeneralOptions_precision_config = 4,
};

enum {
    ML_SLOT_StablehloReduceWindowOptions_window_dimensions = 0,
    ML_SLOT_StablehloReduceWindowOptions_window_strides = 1,
    ML_SLOT_StablehloReduceWindowOptions_base_dilations = 2,
    ML_SLOT_StablehloReduceWindowOptions_window_dilations = 3,
    ML_SLOT_StablehloReduceWindowOptions_padding = 4,
    ML_SLOT_StablehloReduceWindowOptions_body_subgraph_index = 5,
};

enum {
    ML_SLOT_StablehloSortOptions_dimension = 0,
    ML_SLOT_StablehloSortOptions_is_stable = 1,
    ML_SLOT_StablehloSortOptions_comparator_subgraph_index = 2,
};

enum {
    ML_SLOT_StablehloWhileOptions_cond_subgraph_index = 0,
    ML_SLOT_StablehloWhileOptions_body_subgraph_index = 1,
};

enum {
    ML_SLOT_StablehloGatherOptions_offset_dims = 0,
    ML_SLOT_StablehloGatherOptions_collapsed_slice_dims = 1,
    ML_SLOT_StablehloGatherOptions_start_index_map = 2,
    ML_SLOT_StablehloGatherOptions_index_vector_dim = 3,
    ML_SLOT_StablehloGatherOptions_slice_sizes = 4,
    ML_SLOT_StablehloGatherOptions_indices_are_sorted = 5,
};

enum {
    ML_SLOT_StablehloTransposeOptions_permutation = 0,
};

enum {
    ML_SLOT_StablehloRngBitGeneratorOptions_algorithm = 0,
};

enum {
    ML_SLOT_ReduceWindowOptions_reduce_function = 0,
};

enum {
    ML_SLOT_StableHLOCompositeOptions_name = 0,
    ML_SLOT_StableHLOCompositeOptions_decomposition_subgraph_index = 1,
    ML_SLOT_StableHLOCompositeOptions_composite_attributes = 2,
    ML_SLOT_StableHLOCompositeOptions_composite_attributes_format = 3,
    ML_SLOT_StableHLOCompositeOptions_version = 4,
};

enum {
    ML_SLOT_StablehloCaseOptions_branch_subgraph_indices = 0,
};
/* clang-format on */

#endif

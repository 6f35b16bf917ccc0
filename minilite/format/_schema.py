"""The tables of the file format. Generated from schema/tflite.fbs by schema/regenerate.py: do not edit.

ENUMS and UNIONS list their names by value, with spaces between. A table lists its slots, `name:type=default` each; the
name of a deprecated slot is `-`. A union fills two slots, `<field>_type` first.
"""

IDENTIFIER = b"TFL3"
ROOT = "Model"

ENUM_TYPES = {
    "TensorType": "byte",
    "DimensionType": "byte",
    "BuiltinOperator": "int",
    "StablehloPrecisionConfig": "uint",
    "StablehloComparisonDirection": "uint",
    "StablehloComparisonType": "uint",
    "RngAlgorithm": "byte",
    "Padding": "byte",
    "ActivationFunctionType": "byte",
    "LSHProjectionType": "byte",
    "FullyConnectedOptionsWeightsFormat": "byte",
    "LSTMKernelType": "byte",
    "CombinerType": "byte",
    "MirrorPadMode": "byte",
    "ReduceWindowFunction": "int",
    "CustomOptionsFormat": "byte",
}

ENUMS = {
    "TensorType": "FLOAT32 FLOAT16 INT32 UINT8 INT64 STRING BOOL INT16 COMPLEX64 INT8 FLOAT64 COMPLEX128 UINT64 RESOURCE VARIANT UINT32 UINT16 INT4 BFLOAT16 INT2 UINT4 FLOAT8_E4M3FN FLOAT8_E5M2",
    "DimensionType": "DENSE SPARSE_CSR",
    "BuiltinOperator": "ADD AVERAGE_POOL_2D CONCATENATION CONV_2D DEPTHWISE_CONV_2D DEPTH_TO_SPACE DEQUANTIZE EMBEDDING_LOOKUP FLOOR FULLY_CONNECTED HASHTABLE_LOOKUP L2_NORMALIZATION L2_POOL_2D LOCAL_RESPONSE_NORMALIZATION LOGISTIC LSH_PROJECTION LSTM MAX_POOL_2D MUL RELU RELU_N1_TO_1 RELU6 RESHAPE RESIZE_BILINEAR RNN SOFTMAX SPACE_TO_DEPTH SVDF TANH CONCAT_EMBEDDINGS SKIP_GRAM CALL CUSTOM EMBEDDING_LOOKUP_SPARSE PAD UNIDIRECTIONAL_SEQUENCE_RNN GATHER BATCH_TO_SPACE_ND SPACE_TO_BATCH_ND TRANSPOSE MEAN SUB DIV SQUEEZE UNIDIRECTIONAL_SEQUENCE_LSTM STRIDED_SLICE BIDIRECTIONAL_SEQUENCE_RNN EXP TOPK_V2 SPLIT LOG_SOFTMAX DELEGATE BIDIRECTIONAL_SEQUENCE_LSTM CAST PRELU MAXIMUM ARG_MAX MINIMUM LESS NEG PADV2 GREATER GREATER_EQUAL LESS_EQUAL SELECT SLICE SIN TRANSPOSE_CONV SPARSE_TO_DENSE TILE EXPAND_DIMS EQUAL NOT_EQUAL LOG SUM SQRT RSQRT SHAPE POW ARG_MIN FAKE_QUANT REDUCE_PROD REDUCE_MAX PACK LOGICAL_OR ONE_HOT LOGICAL_AND LOGICAL_NOT UNPACK REDUCE_MIN FLOOR_DIV REDUCE_ANY SQUARE ZEROS_LIKE FILL FLOOR_MOD RANGE RESIZE_NEAREST_NEIGHBOR LEAKY_RELU SQUARED_DIFFERENCE MIRROR_PAD ABS SPLIT_V UNIQUE CEIL REVERSE_V2 ADD_N GATHER_ND COS WHERE RANK ELU REVERSE_SEQUENCE MATRIX_DIAG QUANTIZE MATRIX_SET_DIAG ROUND HARD_SWISH IF WHILE NON_MAX_SUPPRESSION_V4 NON_MAX_SUPPRESSION_V5 SCATTER_ND SELECT_V2 DENSIFY SEGMENT_SUM BATCH_MATMUL PLACEHOLDER_FOR_GREATER_OP_CODES CUMSUM CALL_ONCE BROADCAST_TO RFFT2D CONV_3D IMAG REAL COMPLEX_ABS HASHTABLE HASHTABLE_FIND HASHTABLE_IMPORT HASHTABLE_SIZE REDUCE_ALL CONV_3D_TRANSPOSE VAR_HANDLE READ_VARIABLE ASSIGN_VARIABLE BROADCAST_ARGS RANDOM_STANDARD_NORMAL BUCKETIZE RANDOM_UNIFORM MULTINOMIAL GELU DYNAMIC_UPDATE_SLICE RELU_0_TO_1 UNSORTED_SEGMENT_PROD UNSORTED_SEGMENT_MAX UNSORTED_SEGMENT_SUM ATAN2 UNSORTED_SEGMENT_MIN SIGN BITCAST BITWISE_XOR RIGHT_SHIFT STABLEHLO_LOGISTIC STABLEHLO_ADD STABLEHLO_DIVIDE STABLEHLO_MULTIPLY STABLEHLO_MAXIMUM STABLEHLO_RESHAPE STABLEHLO_CLAMP STABLEHLO_CONCATENATE STABLEHLO_BROADCAST_IN_DIM STABLEHLO_CONVOLUTION STABLEHLO_SLICE STABLEHLO_CUSTOM_CALL STABLEHLO_REDUCE STABLEHLO_ABS STABLEHLO_AND STABLEHLO_COSINE STABLEHLO_EXPONENTIAL STABLEHLO_FLOOR STABLEHLO_LOG STABLEHLO_MINIMUM STABLEHLO_NEGATE STABLEHLO_OR STABLEHLO_POWER STABLEHLO_REMAINDER STABLEHLO_RSQRT STABLEHLO_SELECT STABLEHLO_SUBTRACT STABLEHLO_TANH STABLEHLO_SCATTER STABLEHLO_COMPARE STABLEHLO_CONVERT STABLEHLO_DYNAMIC_SLICE STABLEHLO_DYNAMIC_UPDATE_SLICE STABLEHLO_PAD STABLEHLO_IOTA STABLEHLO_DOT_GENERAL STABLEHLO_REDUCE_WINDOW STABLEHLO_SORT STABLEHLO_WHILE STABLEHLO_GATHER STABLEHLO_TRANSPOSE DILATE STABLEHLO_RNG_BIT_GENERATOR REDUCE_WINDOW STABLEHLO_COMPOSITE STABLEHLO_SHIFT_LEFT STABLEHLO_CBRT STABLEHLO_CASE",
    "StablehloPrecisionConfig": "DEFAULT HIGH HIGHEST",
    "StablehloComparisonDirection": "STABLEHLO_COMPARISON_DIRECTION_EQ STABLEHLO_COMPARISON_DIRECTION_NE STABLEHLO_COMPARISON_DIRECTION_GE STABLEHLO_COMPARISON_DIRECTION_GT STABLEHLO_COMPARISON_DIRECTION_LE STABLEHLO_COMPARISON_DIRECTION_LT",
    "StablehloComparisonType": "STABLEHLO_COMPARISON_TYPE_NOTYPE STABLEHLO_COMPARISON_TYPE_FLOAT STABLEHLO_COMPARISON_TYPE_FLOAT_TOTAL_ORDER STABLEHLO_COMPARISON_TYPE_SIGNED STABLEHLO_COMPARISON_TYPE_UNSIGNED",
    "RngAlgorithm": "DEFAULT PHILOX THREEFRY",
    "Padding": "SAME VALID",
    "ActivationFunctionType": "NONE RELU RELU_N1_TO_1 RELU6 TANH SIGN_BIT",
    "LSHProjectionType": "UNKNOWN SPARSE DENSE",
    "FullyConnectedOptionsWeightsFormat": "DEFAULT SHUFFLED4x16INT8",
    "LSTMKernelType": "FULL BASIC",
    "CombinerType": "SUM MEAN SQRTN",
    "MirrorPadMode": "REFLECT SYMMETRIC",
    "ReduceWindowFunction": "UNSUPPORTED ADD MUL MINIMUM MAXIMUM ALL ANY",
    "CustomOptionsFormat": "FLEXBUFFERS",
}

UNIONS = {
    "QuantizationDetails": "NONE CustomQuantization BlockwiseQuantization MultiAxisQuantization",
    "SparseIndexVector": "NONE Int32Vector Uint16Vector Uint8Vector",
    "BuiltinOptions": "NONE Conv2DOptions DepthwiseConv2DOptions ConcatEmbeddingsOptions LSHProjectionOptions Pool2DOptions SVDFOptions RNNOptions FullyConnectedOptions SoftmaxOptions ConcatenationOptions AddOptions L2NormOptions LocalResponseNormalizationOptions LSTMOptions ResizeBilinearOptions CallOptions ReshapeOptions SkipGramOptions SpaceToDepthOptions EmbeddingLookupSparseOptions MulOptions PadOptions GatherOptions BatchToSpaceNDOptions SpaceToBatchNDOptions TransposeOptions ReducerOptions SubOptions DivOptions SqueezeOptions SequenceRNNOptions StridedSliceOptions ExpOptions TopKV2Options SplitOptions LogSoftmaxOptions CastOptions DequantizeOptions MaximumMinimumOptions ArgMaxOptions LessOptions NegOptions PadV2Options GreaterOptions GreaterEqualOptions LessEqualOptions SelectOptions SliceOptions TransposeConvOptions SparseToDenseOptions TileOptions ExpandDimsOptions EqualOptions NotEqualOptions ShapeOptions PowOptions ArgMinOptions FakeQuantOptions PackOptions LogicalOrOptions OneHotOptions LogicalAndOptions LogicalNotOptions UnpackOptions FloorDivOptions SquareOptions ZerosLikeOptions FillOptions BidirectionalSequenceLSTMOptions BidirectionalSequenceRNNOptions UnidirectionalSequenceLSTMOptions FloorModOptions RangeOptions ResizeNearestNeighborOptions LeakyReluOptions SquaredDifferenceOptions MirrorPadOptions AbsOptions SplitVOptions UniqueOptions ReverseV2Options AddNOptions GatherNdOptions CosOptions WhereOptions RankOptions ReverseSequenceOptions MatrixDiagOptions QuantizeOptions MatrixSetDiagOptions HardSwishOptions IfOptions WhileOptions DepthToSpaceOptions NonMaxSuppressionV4Options NonMaxSuppressionV5Options ScatterNdOptions SelectV2Options DensifyOptions SegmentSumOptions BatchMatMulOptions CumsumOptions CallOnceOptions BroadcastToOptions Rfft2dOptions Conv3DOptions HashtableOptions HashtableFindOptions HashtableImportOptions HashtableSizeOptions VarHandleOptions ReadVariableOptions AssignVariableOptions RandomOptions BucketizeOptions GeluOptions DynamicUpdateSliceOptions UnsortedSegmentProdOptions UnsortedSegmentMaxOptions UnsortedSegmentMinOptions UnsortedSegmentSumOptions ATan2Options SignOptions BitcastOptions BitwiseXorOptions RightShiftOptions",
    "BuiltinOptions2": "NONE StablehloConcatenateOptions StablehloBroadcastInDimOptions StablehloSliceOptions StablehloConvolutionOptions StablehloCustomCallOptions StablehloReduceOptions StablehloScatterOptions StablehloCompareOptions StablehloDynamicSliceOptions StablehloPadOptions StablehloIotaOptions StablehloDotGeneralOptions StablehloReduceWindowOptions StablehloSortOptions StablehloWhileOptions StablehloGatherOptions StablehloTransposeOptions DilateOptions StablehloRngBitGeneratorOptions ReduceWindowOptions StableHLOCompositeOptions StablehloShiftLeftOptions StablehloCaseOptions",
}

OPERATOR_OPTIONS = dict(line.split() for line in (
"""ADD AddOptions
AVERAGE_POOL_2D Pool2DOptions
CONCATENATION ConcatenationOptions
CONV_2D Conv2DOptions
DEPTHWISE_CONV_2D DepthwiseConv2DOptions
DEPTH_TO_SPACE DepthToSpaceOptions
DEQUANTIZE DequantizeOptions
FULLY_CONNECTED FullyConnectedOptions
L2_NORMALIZATION L2NormOptions
L2_POOL_2D Pool2DOptions
LOCAL_RESPONSE_NORMALIZATION LocalResponseNormalizationOptions
LSH_PROJECTION LSHProjectionOptions
LSTM LSTMOptions
MAX_POOL_2D Pool2DOptions
MUL MulOptions
RESHAPE ReshapeOptions
RESIZE_BILINEAR ResizeBilinearOptions
RNN RNNOptions
SOFTMAX SoftmaxOptions
SPACE_TO_DEPTH SpaceToDepthOptions
SVDF SVDFOptions
CONCAT_EMBEDDINGS ConcatEmbeddingsOptions
SKIP_GRAM SkipGramOptions
CALL CallOptions
EMBEDDING_LOOKUP_SPARSE EmbeddingLookupSparseOptions
PAD PadOptions
UNIDIRECTIONAL_SEQUENCE_RNN SequenceRNNOptions
GATHER GatherOptions
BATCH_TO_SPACE_ND BatchToSpaceNDOptions
SPACE_TO_BATCH_ND SpaceToBatchNDOptions
TRANSPOSE TransposeOptions
MEAN ReducerOptions
SUB SubOptions
DIV DivOptions
SQUEEZE SqueezeOptions
UNIDIRECTIONAL_SEQUENCE_LSTM UnidirectionalSequenceLSTMOptions
STRIDED_SLICE StridedSliceOptions
BIDIRECTIONAL_SEQUENCE_RNN BidirectionalSequenceRNNOptions
EXP ExpOptions
TOPK_V2 TopKV2Options
SPLIT SplitOptions
LOG_SOFTMAX LogSoftmaxOptions
BIDIRECTIONAL_SEQUENCE_LSTM BidirectionalSequenceLSTMOptions
CAST CastOptions
MAXIMUM MaximumMinimumOptions
ARG_MAX ArgMaxOptions
MINIMUM MaximumMinimumOptions
LESS LessOptions
NEG NegOptions
PADV2 PadV2Options
GREATER GreaterOptions
GREATER_EQUAL GreaterEqualOptions
LESS_EQUAL LessEqualOptions
SELECT SelectOptions
SLICE SliceOptions
TRANSPOSE_CONV TransposeConvOptions
SPARSE_TO_DENSE SparseToDenseOptions
TILE TileOptions
EXPAND_DIMS ExpandDimsOptions
EQUAL EqualOptions
NOT_EQUAL NotEqualOptions
SUM ReducerOptions
SHAPE ShapeOptions
POW PowOptions
ARG_MIN ArgMinOptions
FAKE_QUANT FakeQuantOptions
REDUCE_PROD ReducerOptions
REDUCE_MAX ReducerOptions
PACK PackOptions
LOGICAL_OR LogicalOrOptions
ONE_HOT OneHotOptions
LOGICAL_AND LogicalAndOptions
LOGICAL_NOT LogicalNotOptions
UNPACK UnpackOptions
REDUCE_MIN ReducerOptions
FLOOR_DIV FloorDivOptions
REDUCE_ANY ReducerOptions
SQUARE SquareOptions
ZEROS_LIKE ZerosLikeOptions
FILL FillOptions
FLOOR_MOD FloorModOptions
RANGE RangeOptions
RESIZE_NEAREST_NEIGHBOR ResizeNearestNeighborOptions
LEAKY_RELU LeakyReluOptions
SQUARED_DIFFERENCE SquaredDifferenceOptions
MIRROR_PAD MirrorPadOptions
ABS AbsOptions
SPLIT_V SplitVOptions
UNIQUE UniqueOptions
REVERSE_V2 ReverseV2Options
ADD_N AddNOptions
GATHER_ND GatherNdOptions
COS CosOptions
WHERE WhereOptions
RANK RankOptions
REVERSE_SEQUENCE ReverseSequenceOptions
MATRIX_DIAG MatrixDiagOptions
QUANTIZE QuantizeOptions
MATRIX_SET_DIAG MatrixSetDiagOptions
HARD_SWISH HardSwishOptions
IF IfOptions
WHILE WhileOptions
NON_MAX_SUPPRESSION_V4 NonMaxSuppressionV4Options
NON_MAX_SUPPRESSION_V5 NonMaxSuppressionV5Options
SCATTER_ND ScatterNdOptions
SELECT_V2 SelectV2Options
DENSIFY DensifyOptions
SEGMENT_SUM SegmentSumOptions
BATCH_MATMUL BatchMatMulOptions
CUMSUM CumsumOptions
CALL_ONCE CallOnceOptions
BROADCAST_TO BroadcastToOptions
RFFT2D Rfft2dOptions
CONV_3D Conv3DOptions
HASHTABLE HashtableOptions
HASHTABLE_FIND HashtableFindOptions
HASHTABLE_IMPORT HashtableImportOptions
HASHTABLE_SIZE HashtableSizeOptions
REDUCE_ALL ReducerOptions
CONV_3D_TRANSPOSE Conv3DOptions
VAR_HANDLE VarHandleOptions
READ_VARIABLE ReadVariableOptions
ASSIGN_VARIABLE AssignVariableOptions
RANDOM_STANDARD_NORMAL RandomOptions
BUCKETIZE BucketizeOptions
RANDOM_UNIFORM RandomOptions
MULTINOMIAL RandomOptions
GELU GeluOptions
DYNAMIC_UPDATE_SLICE DynamicUpdateSliceOptions
UNSORTED_SEGMENT_PROD UnsortedSegmentProdOptions
UNSORTED_SEGMENT_MAX UnsortedSegmentMaxOptions
UNSORTED_SEGMENT_SUM UnsortedSegmentSumOptions
ATAN2 ATan2Options
UNSORTED_SEGMENT_MIN UnsortedSegmentMinOptions
SIGN SignOptions
BITCAST BitcastOptions
BITWISE_XOR BitwiseXorOptions
RIGHT_SHIFT RightShiftOptions
STABLEHLO_CONCATENATE StablehloConcatenateOptions
STABLEHLO_BROADCAST_IN_DIM StablehloBroadcastInDimOptions
STABLEHLO_CONVOLUTION StablehloConvolutionOptions
STABLEHLO_SLICE StablehloSliceOptions
STABLEHLO_CUSTOM_CALL StablehloCustomCallOptions
STABLEHLO_REDUCE StablehloReduceOptions
STABLEHLO_SCATTER StablehloScatterOptions
STABLEHLO_COMPARE StablehloCompareOptions
STABLEHLO_DYNAMIC_SLICE StablehloDynamicSliceOptions
STABLEHLO_PAD StablehloPadOptions
STABLEHLO_IOTA StablehloIotaOptions
STABLEHLO_DOT_GENERAL StablehloDotGeneralOptions
STABLEHLO_REDUCE_WINDOW StablehloReduceWindowOptions
STABLEHLO_SORT StablehloSortOptions
STABLEHLO_WHILE StablehloWhileOptions
STABLEHLO_GATHER StablehloGatherOptions
STABLEHLO_TRANSPOSE StablehloTransposeOptions
DILATE DilateOptions
STABLEHLO_RNG_BIT_GENERATOR StablehloRngBitGeneratorOptions
REDUCE_WINDOW ReduceWindowOptions
STABLEHLO_COMPOSITE StableHLOCompositeOptions
STABLEHLO_SHIFT_LEFT StablehloShiftLeftOptions
STABLEHLO_CASE StablehloCaseOptions"""
).splitlines())

TABLES = dict(line.split(": ") for line in (
"""Model: version:uint=0 operator_codes:[OperatorCode] subgraphs:[SubGraph] description:string buffers:[Buffer] metadata_buffer:[int] metadata:[Metadata] signature_defs:[SignatureDef] external_buffer_groups:[ExternalBufferGroup] external_buffers:[ExternalBuffer]
SubGraph: tensors:[Tensor] inputs:[int] outputs:[int] operators:[Operator] name:string debug_metadata_index:int=-1
Tensor: shape:[int] type:TensorType=0 buffer:uint=0 name:string quantization:QuantizationParameters is_variable:bool=0 sparsity:SparsityParameters shape_signature:[int] has_rank:bool=0 variant_tensors:[VariantSubType] external_buffer:uint=0
VariantSubType: shape:[int] type:TensorType=0 has_rank:bool=0
Operator: opcode_index:uint=0 inputs:[int] outputs:[int] builtin_options_type:ubyte=0 builtin_options:BuiltinOptions custom_options:[ubyte] custom_options_format:CustomOptionsFormat=0 mutating_variable_inputs:[bool] intermediates:[int] large_custom_options_offset:ulong=0 large_custom_options_size:ulong=0 builtin_options2_type:ubyte=0 builtin_options2:BuiltinOptions2 debug_metadata_index:int=-1
OperatorCode: deprecated_builtin_code:byte=0 custom_code:string version:int=1 builtin_code:BuiltinOperator=0
Buffer: data:[ubyte] offset:ulong=0 size:ulong=0
ExternalBufferGroup: name:string
ExternalBuffer: id:uint=0 group:uint=0 offset:ulong=0 length:ulong=0 packing:string
Metadata: name:string buffer:uint=0
SignatureDef: inputs:[TensorMap] outputs:[TensorMap] signature_key:string -:string subgraph_index:uint=0
TensorMap: name:string tensor_index:uint=0
QuantizationParameters: min:[float] max:[float] scale:[float] zero_point:[long] details_type:ubyte=0 details:QuantizationDetails quantized_dimension:int=0
CustomQuantization: custom:[ubyte]
BlockwiseQuantization: scales:int=0 zero_points:int=0 block_size:int=0 block_shape:[int]
MultiAxisQuantization: scales:int=0 zero_points:int=0 block_size:int=0 quantized_dimensions:[int]
SparsityParameters: traversal_order:[int] block_map:[int] dim_metadata:[DimensionMetadata]
DimensionMetadata: format:DimensionType=0 dense_size:int=0 array_segments_type:ubyte=0 array_segments:SparseIndexVector array_indices_type:ubyte=0 array_indices:SparseIndexVector
Int32Vector: values:[int]
Uint16Vector: values:[ushort]
Uint8Vector: values:[ubyte]
Conv2DOptions: padding:Padding=0 stride_w:int=0 stride_h:int=0 fused_activation_function:ActivationFunctionType=0 dilation_w_factor:int=1 dilation_h_factor:int=1 quantized_bias_type:TensorType=0
DepthwiseConv2DOptions: padding:Padding=0 stride_w:int=0 stride_h:int=0 depth_multiplier:int=0 fused_activation_function:ActivationFunctionType=0 dilation_w_factor:int=1 dilation_h_factor:int=1
ConcatEmbeddingsOptions: num_channels:int=0 num_columns_per_channel:[int] embedding_dim_per_channel:[int]
LSHProjectionOptions: type:LSHProjectionType=0
Pool2DOptions: padding:Padding=0 stride_w:int=0 stride_h:int=0 filter_width:int=0 filter_height:int=0 fused_activation_function:ActivationFunctionType=0
SVDFOptions: rank:int=0 fused_activation_function:ActivationFunctionType=0 asymmetric_quantize_inputs:bool=0
RNNOptions: fused_activation_function:ActivationFunctionType=0 asymmetric_quantize_inputs:bool=0
FullyConnectedOptions: fused_activation_function:ActivationFunctionType=0 weights_format:FullyConnectedOptionsWeightsFormat=0 keep_num_dims:bool=0 asymmetric_quantize_inputs:bool=0 quantized_bias_type:TensorType=0 quant_spec:[ubyte]
SoftmaxOptions: beta:float=0
ConcatenationOptions: axis:int=0 fused_activation_function:ActivationFunctionType=0
AddOptions: fused_activation_function:ActivationFunctionType=0 pot_scale_int16:bool=1
L2NormOptions: fused_activation_function:ActivationFunctionType=0
LocalResponseNormalizationOptions: radius:int=0 bias:float=0 alpha:float=0 beta:float=0
LSTMOptions: fused_activation_function:ActivationFunctionType=0 cell_clip:float=0 proj_clip:float=0 kernel_type:LSTMKernelType=0 asymmetric_quantize_inputs:bool=0
ResizeBilinearOptions: -:int=0 -:int=0 align_corners:bool=0 half_pixel_centers:bool=0
CallOptions: subgraph:uint=0
ReshapeOptions: new_shape:[int]
SkipGramOptions: ngram_size:int=0 max_skip_size:int=0 include_all_ngrams:bool=0
SpaceToDepthOptions: block_size:int=0
EmbeddingLookupSparseOptions: combiner:CombinerType=0
MulOptions: fused_activation_function:ActivationFunctionType=0
PadOptions: 
GatherOptions: axis:int=0 batch_dims:int=0
BatchToSpaceNDOptions: 
SpaceToBatchNDOptions: 
TransposeOptions: 
ReducerOptions: keep_dims:bool=0
SubOptions: fused_activation_function:ActivationFunctionType=0 pot_scale_int16:bool=1
DivOptions: fused_activation_function:ActivationFunctionType=0
SqueezeOptions: squeeze_dims:[int]
SequenceRNNOptions: time_major:bool=0 fused_activation_function:ActivationFunctionType=0 asymmetric_quantize_inputs:bool=0
StridedSliceOptions: begin_mask:int=0 end_mask:int=0 ellipsis_mask:int=0 new_axis_mask:int=0 shrink_axis_mask:int=0 offset:bool=0
ExpOptions: 
TopKV2Options: 
SplitOptions: num_splits:int=0
LogSoftmaxOptions: 
CastOptions: in_data_type:TensorType=0 out_data_type:TensorType=0
DequantizeOptions: 
MaximumMinimumOptions: 
ArgMaxOptions: output_type:TensorType=0
LessOptions: 
NegOptions: 
PadV2Options: 
GreaterOptions: 
GreaterEqualOptions: 
LessEqualOptions: 
SelectOptions: 
SliceOptions: 
TransposeConvOptions: padding:Padding=0 stride_w:int=0 stride_h:int=0 fused_activation_function:ActivationFunctionType=0 quantized_bias_type:TensorType=0
SparseToDenseOptions: validate_indices:bool=0
TileOptions: 
ExpandDimsOptions: 
EqualOptions: 
NotEqualOptions: 
ShapeOptions: out_type:TensorType=0
PowOptions: 
ArgMinOptions: output_type:TensorType=0
FakeQuantOptions: min:float=0 max:float=0 num_bits:int=0 narrow_range:bool=0
PackOptions: values_count:int=0 axis:int=0
LogicalOrOptions: 
OneHotOptions: axis:int=0
LogicalAndOptions: 
LogicalNotOptions: 
UnpackOptions: num:int=0 axis:int=0
FloorDivOptions: 
SquareOptions: 
ZerosLikeOptions: 
FillOptions: 
BidirectionalSequenceLSTMOptions: fused_activation_function:ActivationFunctionType=0 cell_clip:float=0 proj_clip:float=0 merge_outputs:bool=0 time_major:bool=1 asymmetric_quantize_inputs:bool=0
BidirectionalSequenceRNNOptions: time_major:bool=0 fused_activation_function:ActivationFunctionType=0 merge_outputs:bool=0 asymmetric_quantize_inputs:bool=0
UnidirectionalSequenceLSTMOptions: fused_activation_function:ActivationFunctionType=0 cell_clip:float=0 proj_clip:float=0 time_major:bool=0 asymmetric_quantize_inputs:bool=0 diagonal_recurrent_tensors:bool=0
FloorModOptions: 
RangeOptions: 
ResizeNearestNeighborOptions: align_corners:bool=0 half_pixel_centers:bool=0
LeakyReluOptions: alpha:float=0
SquaredDifferenceOptions: 
MirrorPadOptions: mode:MirrorPadMode=0
AbsOptions: 
SplitVOptions: num_splits:int=0
UniqueOptions: idx_out_type:TensorType=2
ReverseV2Options: 
AddNOptions: 
GatherNdOptions: 
CosOptions: 
WhereOptions: 
RankOptions: 
ReverseSequenceOptions: seq_dim:int=0 batch_dim:int=0
MatrixDiagOptions: 
QuantizeOptions: 
MatrixSetDiagOptions: 
HardSwishOptions: 
IfOptions: then_subgraph_index:int=0 else_subgraph_index:int=0
WhileOptions: cond_subgraph_index:int=0 body_subgraph_index:int=0
DepthToSpaceOptions: block_size:int=0
NonMaxSuppressionV4Options: 
NonMaxSuppressionV5Options: 
ScatterNdOptions: 
SelectV2Options: 
DensifyOptions: 
SegmentSumOptions: 
BatchMatMulOptions: adj_x:bool=0 adj_y:bool=0 asymmetric_quantize_inputs:bool=0
CumsumOptions: exclusive:bool=0 reverse:bool=0
CallOnceOptions: init_subgraph_index:int=0
BroadcastToOptions: 
Rfft2dOptions: 
Conv3DOptions: padding:Padding=0 stride_d:int=0 stride_w:int=0 stride_h:int=0 fused_activation_function:ActivationFunctionType=0 dilation_d_factor:int=1 dilation_w_factor:int=1 dilation_h_factor:int=1
HashtableOptions: table_id:int=0 key_dtype:TensorType=0 value_dtype:TensorType=0
HashtableFindOptions: 
HashtableImportOptions: 
HashtableSizeOptions: 
VarHandleOptions: container:string shared_name:string
ReadVariableOptions: 
AssignVariableOptions: 
RandomOptions: seed:long=0 seed2:long=0
BucketizeOptions: boundaries:[float]
GeluOptions: approximate:bool=0
DynamicUpdateSliceOptions: 
UnsortedSegmentProdOptions: 
UnsortedSegmentMaxOptions: 
UnsortedSegmentMinOptions: 
UnsortedSegmentSumOptions: 
ATan2Options: 
SignOptions: 
BitcastOptions: 
BitwiseXorOptions: 
RightShiftOptions: 
StablehloConcatenateOptions: dimension:long=0
StablehloBroadcastInDimOptions: broadcast_dimensions:[long]
StablehloSliceOptions: start_indices:[long] limit_indices:[long] strides:[long]
StablehloConvolutionOptions: window_strides:[long] padding:[long] lhs_dilation:[long] rhs_dilation:[long] window_reversal:[bool] input_batch_dimension:long=0 input_feature_dimension:long=0 input_spatial_dimensions:[long] kernel_input_feature_dimension:long=0 kernel_output_feature_dimension:long=0 kernel_spatial_dimensions:[long] output_batch_dimension:long=0 output_feature_dimension:long=0 output_spatial_dimensions:[long] feature_group_count:long=0 batch_group_count:long=0 precision_config:[StablehloPrecisionConfig]
StablehloCustomCallOptions: call_target_name:string has_side_effect:bool=0 backend_config:string api_version:int=0 called_computations:[int] custom_attributes:[ubyte]
StablehloReduceOptions: dimensions:[long] body_subgraph_index:int=0
StablehloScatterOptions: indices_are_sorted:bool=0 update_window_dims:[long] inserted_window_dims:[long] scatter_dims_to_operand_dims:[long] index_vector_dim:long=0 unique_indices:bool=0 update_computation_subgraph_index:int=0
StablehloCompareOptions: comparison_direction:StablehloComparisonDirection=0 compare_type:StablehloComparisonType=0
StablehloDynamicSliceOptions: slice_sizes:[long]
StablehloPadOptions: edge_padding_low:[long] edge_padding_high:[long] interior_padding:[long]
StablehloIotaOptions: iota_dimension:long=0
StablehloDotGeneralOptions: lhs_batching_dimensions:[long] rhs_batching_dimensions:[long] lhs_contracting_dimensions:[long] rhs_contracting_dimensions:[long] precision_config:[StablehloPrecisionConfig]
StablehloReduceWindowOptions: window_dimensions:[long] window_strides:[long] base_dilations:[long] window_dilations:[long] padding:[long] body_subgraph_index:int=0
StablehloSortOptions: dimension:long=0 is_stable:bool=0 comparator_subgraph_index:int=0
StablehloWhileOptions: cond_subgraph_index:int=0 body_subgraph_index:int=0
StablehloGatherOptions: offset_dims:[long] collapsed_slice_dims:[long] start_index_map:[long] index_vector_dim:long=0 slice_sizes:[long] indices_are_sorted:bool=0
StablehloTransposeOptions: permutation:[long]
DilateOptions: 
StablehloRngBitGeneratorOptions: algorithm:RngAlgorithm=0
ReduceWindowOptions: reduce_function:ReduceWindowFunction=0
StableHLOCompositeOptions: name:string decomposition_subgraph_index:int=0 composite_attributes:[ubyte] composite_attributes_format:CustomOptionsFormat=0 version:int=0
StablehloShiftLeftOptions: 
StablehloCaseOptions: branch_subgraph_indices:[int]"""
).splitlines())

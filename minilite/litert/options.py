"""LiteRT's options of a CompiledModel: accelerators, of which minilite has only the CPU, and what each of them takes.

Names, values and defaults are those of ai-edge-litert 2.3.0. Options of other accelerators are kept and have no effect.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import IntEnum, IntFlag


class HardwareAccelerator(IntFlag):
    """Where a model may run; members are combined by ``|``. minilite runs on the CPU, so the CPU has to be among
    them."""

    CPU = 1
    GPU = 2
    NPU = 4


class CpuKernelMode(IntEnum):
    """The kernels that run: REFERENCE selects the numpy references, all others the C kernels."""

    DELEGATE = 0
    XNNPACK = 0
    REFERENCE = 1
    BUILTIN = 2


@dataclass
class CpuOptions:
    """Options for the CPU: `num_threads` (0 leaves it to minilite: 1) and `kernel_mode`; the rest is XNNPACK's and has
    no effect."""

    num_threads: int = 0
    kernel_mode: CpuKernelMode | None = None
    enable_ynnpack: bool = False
    xnnpack_flags: int | None = None
    xnnpack_weight_cache_path: str = ""


@dataclass
class GpuOptions:
    """Options for LiteRT's GPU; without effect."""

    enforce_f32: bool = False
    constant_tensor_sharing: bool = False
    infinite_float_capping: bool = False
    benchmark_mode: bool = False
    allow_src_quantized_fc_conv_ops: bool = False
    hint_waiting_for_completion: bool = False


class QualcommLogLevel(IntEnum):
    """The amount that Qualcomm's library logs."""

    OFF, ERROR, WARN, INFO, VERBOSE, DEBUG = range(6)


class QualcommHtpPerformanceMode(IntEnum):
    """The trade of speed and power in Qualcomm's tensor processor."""

    DEFAULT, SUSTAINED_HIGH_PERFORMANCE, BURST, HIGH_PERFORMANCE, POWER_SAVER = range(5)
    LOW_POWER_SAVER, HIGH_POWER_SAVER, LOW_BALANCED, BALANCED, EXTREME_POWER_SAVER = range(5, 10)


class QualcommDspPerformanceMode(IntEnum):
    """The trade of speed and power in Qualcomm's signal processor."""

    DEFAULT, SUSTAINED_HIGH_PERFORMANCE, BURST, HIGH_PERFORMANCE, POWER_SAVER = range(5)
    LOW_POWER_SAVER, HIGH_POWER_SAVER, LOW_BALANCED, BALANCED = range(5, 9)


class QualcommProfiling(IntEnum):
    """The measurements of Qualcomm's library."""

    OFF, BASIC, DETAILED, LINTING, OPTRACE = range(5)


class QualcommOptimizationLevel(IntEnum):
    """The aim of Qualcomm's compiler."""

    OPTIMIZE_FOR_INFERENCE, OPTIMIZE_FOR_PREPARE, OPTIMIZE_FOR_INFERENCE_O3 = range(3)


class QualcommGraphPriority(IntEnum):
    """The graph that Qualcomm's processors run first."""

    DEFAULT, LOW, NORMAL, NORMAL_HIGH, HIGH = range(5)


class QualcommBackend(IntEnum):
    """The one of Qualcomm's processors that runs."""

    UNDEFINED, GPU, HTP, DSP, IR = range(5)


class QualcommGraphIOTensorMemType(IntEnum):
    """The way in which Qualcomm's library shares memory."""

    RAW, MEM_HANDLE = range(2)


@dataclass
class QualcommOptions:
    """Options for Qualcomm's accelerators; without effect."""

    LOG_LEVEL = QualcommLogLevel
    HTP_PERFORMANCE_MODE = QualcommHtpPerformanceMode
    DSP_PERFORMANCE_MODE = QualcommDspPerformanceMode
    PROFILING = QualcommProfiling
    OPTIMIZATION_LEVEL = QualcommOptimizationLevel
    GRAPH_PRIORITY = QualcommGraphPriority
    BACKEND = QualcommBackend
    GRAPH_IO_TENSOR_MEM_TYPE = QualcommGraphIOTensorMemType

    log_level: QualcommLogLevel | None = None
    htp_performance_mode: QualcommHtpPerformanceMode | None = None
    dsp_performance_mode: QualcommDspPerformanceMode | None = None
    use_int64_bias_as_int32: bool | None = None
    enable_weight_sharing: bool | None = None
    use_conv_hmx: bool | None = None
    use_fold_relu: bool | None = None
    profiling: QualcommProfiling | None = None
    dump_tensor_ids: Sequence[int] | None = None
    ir_json_dir: str = ""
    dlc_dir: str = ""
    vtcm_size: int | None = None
    num_hvx_threads: int | None = None
    optimization_level: QualcommOptimizationLevel | None = None
    graph_priority: QualcommGraphPriority | None = None
    backend: QualcommBackend | None = None
    saver_output_dir: str = ""
    graph_io_tensor_mem_type: QualcommGraphIOTensorMemType | None = None
    enable_just_in_time: bool | None = None
    qnn_lib_dir: str = ""
    dsp_skel_dir: str = ""


class IntelOpenVinoGraphBackend(IntEnum):
    """The one of Intel's processors that runs."""

    CPU, GPU, NPU = range(3)


class IntelOpenVinoPerformanceMode(IntEnum):
    """The aim of OpenVINO: to answer soon, or often."""

    LATENCY, THROUGHPUT, CUMULATIVE_THROUGHPUT = range(3)


@dataclass
class IntelOpenVinoOptions:
    """Options for Intel's accelerators; without effect."""

    GRAPH_BACKEND = IntelOpenVinoGraphBackend
    PERFORMANCE_MODE = IntelOpenVinoPerformanceMode

    graph_backend: IntelOpenVinoGraphBackend | None = None
    performance_mode: IntelOpenVinoPerformanceMode | None = None
    configs_map: dict[str, str] = field(default_factory=dict)
    enable_weight_sharing: bool | None = None


@dataclass(init=False)
class Options:
    """Options of a CompiledModel: its accelerators, and the options of each, made at their first use."""

    hardware_accelerators: HardwareAccelerator = HardwareAccelerator.CPU
    _cpu_options: CpuOptions | None = None
    _gpu_options: GpuOptions | None = None
    _qualcomm_options: QualcommOptions | None = None
    _intel_openvino_options: IntelOpenVinoOptions | None = None

    def __init__(
        self,
        hardware_accelerators: HardwareAccelerator = HardwareAccelerator.CPU,
        cpu_options: CpuOptions | None = None,
        gpu_options: GpuOptions | None = None,
        qualcomm_options: QualcommOptions | None = None,
        intel_openvino_options: IntelOpenVinoOptions | None = None,
    ) -> None:
        self.hardware_accelerators = hardware_accelerators
        self._cpu_options = cpu_options
        self._gpu_options = gpu_options
        self._qualcomm_options = qualcomm_options
        self._intel_openvino_options = intel_openvino_options

    @classmethod
    def create(cls) -> Options:
        """The default options."""
        return cls()

    @property
    def cpu_options(self) -> CpuOptions:
        """The options of the CPU."""
        if self._cpu_options is None:
            self._cpu_options = CpuOptions()
        return self._cpu_options

    @property
    def gpu_options(self) -> GpuOptions:
        """The options of the GPU."""
        if self._gpu_options is None:
            self._gpu_options = GpuOptions()
        return self._gpu_options

    @property
    def qualcomm_options(self) -> QualcommOptions:
        """The options of Qualcomm's accelerators."""
        if self._qualcomm_options is None:
            self._qualcomm_options = QualcommOptions()
        return self._qualcomm_options

    @property
    def intel_openvino_options(self) -> IntelOpenVinoOptions:
        """The options of Intel's accelerators."""
        if self._intel_openvino_options is None:
            self._intel_openvino_options = IntelOpenVinoOptions()
        return self._intel_openvino_options

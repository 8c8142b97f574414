"""`nt.nn`: the pieces of neural networks, in plain NumPy.

The functions here run as they are outside of compiled code; inside it they are inlined as any Python function is.
Those marked `composite` stay one operation of the nt level (`nt.composite "softmax"`) until `nt-decompose`.
"""

from ...dialects import special
from ...dialects.special import *  # noqa: F403 (the functions that NumPy lacks, by its __all__)
from .activations import gelu, log_softmax, logsumexp, relu, silu, softmax
from .convolution import conv, conv1d, conv2d, conv3d
from .layers import attention, cross_entropy, dropout, embedding, one_hot
from .normalise import batch_norm, batch_norm_training, layer_norm, rms_norm
from .packed import packed, packed_attention, unpacked
from .pooling import adaptive_avg_pool, adaptive_max_pool, avg_pool, max_pool

__all__ = [
    "adaptive_avg_pool",
    "adaptive_max_pool",
    "attention",
    "avg_pool",
    "batch_norm",
    "batch_norm_training",
    "conv",
    "conv1d",
    "conv2d",
    "conv3d",
    "cross_entropy",
    "dropout",
    "embedding",
    "gelu",
    "layer_norm",
    "log_softmax",
    "logsumexp",
    "max_pool",
    "one_hot",
    "packed",
    "packed_attention",
    "relu",
    "rms_norm",
    "silu",
    "softmax",
    "unpacked",
]
__all__ += special.__all__

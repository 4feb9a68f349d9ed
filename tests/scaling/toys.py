"""Toy records for sums by hand: every field another prime, so that no factor is hidden and no swap goes unseen."""

from scaling.chips import Chip
from scaling.deployment import Deployment, Efficiency
from scaling.models import Model

# attention   3 x (2 x 5 x 22 x 13 + 2 x 5 x 2 x 13) = 3 x (2860 + 260) = 9360
# MLP         3 x 3 x 5 x 7                                             =  315
# embeddings  2 x 17 x 5                                                =  170
# norms       (2 x 3 + 1) x 5                                           =   35
# P           9360 + 315 + 170 + 35                                     = 9880
# matmuls     9360 + 315 + 85                                           = 9760
# kv          2 x 3 x 2 x 13 = 156 numbers a token: 624 B in fp32
#
# weights     9880 x 0.5 B (int4)                                       =   4940 B
# N W         29 x 1009                                                 =  29261 B/s
# N C         29 x 4001 (int8)                                          = 116029 FLOP/s
# N M         29 x 10007                                                = 290203 B

TOY_CHIP = Chip(
    name="toy",
    vendor="NVIDIA",
    memory=10_007,
    device_memory=10_009,
    bandwidth=1_009,
    flops={"bf16": 2_003, "int8": 4_001},
    link_bandwidth=101,
    link_axes=3,
    fast_domain=67,
    price=37,
)

TOY_MODEL = Model(
    name="toy",
    layers=3,
    d_model=5,
    d_ff=7,
    q_heads=22,
    kv_heads=2,
    head_dim=13,
    vocab=17,
    nominal_params=7_919,
    context_window=19,
)

TOY = Deployment(model=TOY_MODEL, chip=TOY_CHIP, chips=29, weights="int4", kv="fp32", compute="int8", layout="label")

MEASURED = Efficiency(bandwidth=0.5, flops=0.25, layer_seconds=0.75, links=0.2)

"""12.1, the choice of hardware. The text keeps one number; part 8 prints the table that its sentences stand on."""

from claims.ledger import AGREES, CONVENTION, FIRST8, PART8, ROUNDING, UNSTATED, Section, claim
from scaling.chips import H100_TEXT, TPU_V5E_TEXT, TPU_V5P_TEXT
from scaling.deployment import Deployment
from scaling.latency import decode_step
from scaling.memory import max_batch, min_chips
from scaling.models import LLAMA3_70B
from scaling.roofline import bandwidth_per_dollar, flops_per_dollar, memory_per_dollar_hour
from scaling.units import hour

CHIPS = (H100_TEXT, TPU_V5P_TEXT, TPU_V5E_TEXT)
node = Deployment(model=LLAMA3_70B, chip=H100_TEXT, chips=8, params="nominal")
slice16 = Deployment(model=LLAMA3_70B, chip=TPU_V5E_TEXT, chips=16, params="nominal")

# fmt: off
SECTION = Section("12.1", "Hardware", "01_hardware", (
    claim("1-measure", "10", "", sorted(CHIPS, key=flops_per_dollar) == sorted(CHIPS, key=bandwidth_per_dollar),
          AGREES,
          "Inference hardware is usually chosen by FLOP per dollar",
          "A heuristic, as a footnote of part 8 says. At these prices the bytes read per dollar give the same order.",
          see="Which dollar do you spend?"),
    claim("1-measure-decode", "10", "", decode_step(node, max_batch(node, 8192), 8192).longest == "compute", UNSTATED,
          "Arithmetic is what all of inference waits for",
          "Prefill does. At 8,192 tokens decode takes longer to read the cache than to multiply, at any batch.",
          see="Which dollar do you spend?"),
    claim("1-most-flops", "12", "", max(CHIPS, key=flops_per_dollar) is TPU_V5E_TEXT, AGREES,
          "v5e gives the most FLOP per dollar", "True at the list prices of February 2025.", see="What a dollar buys"),
    claim("1-v5e-memory", "12:16", "16 GB", TPU_V5E_TEXT.memory, AGREES,
          "Memory of one v5e", "The catalogue's number.", see="Four numbers of a chip"),
    claim("1-more-chips", "12", "", min_chips(slice16, 1, 8192) > min_chips(node, 1, 8192), AGREES,
          "v5e needs more chips than H100 to hold the model", "A fifth of the memory each.",
          see="Per chip, or per dollar?"),
    claim("1-h100-per-chip", "12", "", max(CHIPS, key=lambda chip: chip.bandwidth) is H100_TEXT, AGREES,
          "The H100 has the bandwidth (per chip)", "Of these three it has the highest.",
          see="Per chip, or per dollar?"),
    claim("1-h100-advantage", "12", "", max(CHIPS, key=bandwidth_per_dollar) is H100_TEXT, UNSTATED,
          "The bandwidth is an advantage per dollar too",
          "At these prices a dollar reads more on v5e, and on v5p.", see="Per chip, or per dollar?"),
    claim("1-h100-memory-per-chip", "12", "", H100_TEXT.memory > TPU_V5E_TEXT.memory, AGREES,
          "The H100 has the larger memory (per chip)",
          "Five times that of a v5e. A v5p holds more.", see="Per chip, or per dollar?"),
    claim("1-h100-memory", "12", "", max(CHIPS, key=memory_per_dollar_hour) is H100_TEXT, UNSTATED,
          "The memory is an advantage per dollar too", "A dollar holds three times as much on v5p.",
          see="Per chip, or per dollar?"),
    claim("1-generation", "12", "", decode_step(node, 1, 8192).longest == "weights", AGREES,
          "Generation is bound by memory", "At batch 1 the weights are the longest term.",
          see="Which dollar do you spend?"),

    claim("1-8-h100-flops", "table of prices", "9.9e14 FLOP/s", H100_TEXT.rate("bf16"), AGREES,
          "H100, bf16", "The sheet says 989.5e12.", edition=PART8, see="Four numbers of a chip"),
    claim("1-8-v5p-flops", "table of prices", "4.59e14 FLOP/s", TPU_V5P_TEXT.rate("bf16"), AGREES,
          "v5p, bf16", "As on the sheet.", edition=PART8, see="Four numbers of a chip"),
    claim("1-8-v5e-flops", "table of prices", "1.97e14 FLOP/s", TPU_V5E_TEXT.rate("bf16"), AGREES,
          "v5e, bf16", "As on the sheet.", edition=PART8, see="Four numbers of a chip"),
    claim("1-8-h100-price", "table of prices", "10.8 USD/h", H100_TEXT.price, AGREES,
          "H100, price", "A list price of February 2025: an input that ages.", edition=PART8,
          see="The price is an input"),
    claim("1-8-v5p-price", "table of prices", "4.2 USD/h", TPU_V5P_TEXT.price, AGREES,
          "v5p, price", "A list price of February 2025.", edition=PART8, see="The price is an input"),
    claim("1-8-v5e-price", "table of prices", "1.2 USD/h", TPU_V5E_TEXT.price, AGREES,
          "v5e, price", "A list price of February 2025.", edition=PART8, see="The price is an input"),
    claim("1-8-h100-dollar", "table of prices", "3.3e17 FLOP/USD", flops_per_dollar(H100_TEXT), AGREES,
          "H100, FLOP per dollar", "The arithmetic of an hour over its price.", edition=PART8,
          see="What a dollar buys"),
    claim("1-8-v5p-dollar", "table of prices", "3.9e17 FLOP/USD", flops_per_dollar(TPU_V5P_TEXT), ROUNDING,
          "v5p, FLOP per dollar", "To two digits.", edition=PART8, see="What a dollar buys"),
    claim("1-8-v5e-dollar", "table of prices", "5.8e17 FLOP/USD", flops_per_dollar(TPU_V5E_TEXT), ROUNDING,
          "v5e, FLOP per dollar", "The last digit should be a 9: a slip that stays within 2 %.", edition=PART8,
          see="What a dollar buys"),
    claim("1-8a-v5p-dollar", "table of prices", "1.09e14 FLOP/USD", flops_per_dollar(TPU_V5P_TEXT), CONVENTION,
          "v5p, under the head FLOPs / $", "It is FLOP/s per USD/h: the seconds of the hour are missing.",
          edition=FIRST8, convention=flops_per_dollar(TPU_V5P_TEXT) / hour, see="What a dollar buys"),
    claim("1-8a-v5e-dollar", "table of prices", "1.64e14 FLOP/USD", flops_per_dollar(TPU_V5E_TEXT), CONVENTION,
          "v5e, under the head FLOPs / $", "It is FLOP/s per USD/h: the seconds of the hour are missing.",
          edition=FIRST8, convention=flops_per_dollar(TPU_V5E_TEXT) / hour, see="What a dollar buys"),
    claim("1-8-v5e-memory", "after the table of prices", "16 GB", TPU_V5E_TEXT.memory, AGREES,
          "Memory of one v5e", "As in the text.", edition=PART8, see="Four numbers of a chip"),
))

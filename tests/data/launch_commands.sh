# Launch commands word for word, as tests/engines/test_commands.py asks for them.

## sglang, nothing asked
# SGLang 0.5.23, flags as of 2026-10-30
# --tp-size 8: 141 GB of weights need at least 4 H100 SXM at 0.812 of their
#   memory. Each of 8 reads 17.6 GB a step, in 5.27 ms at the least
# --enable-metrics: the page /metrics for Prometheus, off by default
# the cache stays in bf16, the default: 327,680 B per token
# left alone, SGLang takes a memory fraction of about 0.812, with which the
#   numbers reckon
python -m sglang.launch_server \
  --model-path meta-llama/Meta-Llama-3-70B-Instruct \
  --tp-size 8 \
  --enable-metrics

## sglang, everything
# SGLang 0.5.23, flags as of 2026-10-30
# --tp-size 4: 70.6 GB of weights need at least 2 H100 SXM at 0.875 of their
#   memory. Each of 4 reads 17.6 GB a step, in 5.27 ms at the least
# --dp-size 2: 2 full copies on 8 GPUs: 2 times the throughput, a step is as
#   long
# --quantization fp8: loads the bf16 checkpoint of 141 GB and keeps its linear
#   weights in one byte each, 72.7 GB with embedding and head still in bf16
# --kv-cache-dtype fp8_e4m3: 163,840 B per token in place of 327,680, as the
#   default keeps bf16
# --mem-fraction-static 0.875: of the memory free before loading, for weights
#   and cache: 17.6 GB and 52.4 GB on each GPU, the rest is for activations and
#   CUDA graphs
# --context-length 4096: no sequence grows beyond it, LLaMA 3-70B could go to
#   8,192
# --max-running-requests 64: as asked for. Memory holds 312 sequences of 4,096
#   tokens
# --chunked-prefill-size 2048: a chunk takes 73 ms at the least, and the decode
#   steps in its batch wait that long
# --enable-mixed-chunk: decode steps share a batch with prefill chunks, off by
#   default
# --disaggregation-mode decode: takes finished prompts over, up to 0.671 GB of
#   cache for each, and decodes them
# --enable-metrics: the page /metrics for Prometheus, off by default
# --host 0.0.0.0: the address to listen on
# --port 30001: the port to listen on, 30000 by default
# H100 SXM multiplies FP8 weights in FP8, 2 times the bf16 rate counted here
# the other server and a router in front have to be started too, each server on
#   a machine of its own
python -m sglang.launch_server \
  --model-path org/model \
  --tp-size 4 \
  --dp-size 2 \
  --quantization fp8 \
  --kv-cache-dtype fp8_e4m3 \
  --mem-fraction-static 0.875 \
  --context-length 4096 \
  --max-running-requests 64 \
  --chunked-prefill-size 2048 \
  --enable-mixed-chunk \
  --disaggregation-mode decode \
  --enable-metrics \
  --host 0.0.0.0 \
  --port 30001

## sglang, the prefill of a pair
# SGLang 0.5.23, flags as of 2026-10-30
# --tp-size 8: 141 GB of weights need at least 4 H100 SXM at 0.85 of their
#   memory. Each of 8 reads 17.6 GB a step, in 5.27 ms at the least
# --mem-fraction-static 0.85: of the memory free before loading, for weights
#   and cache: 17.6 GB and 50.4 GB on each GPU, the rest is for activations and
#   CUDA graphs
# --disaggregation-mode prefill: reads prompts and sends their cache on, up to
#   2.68 GB for each
# the cache stays in bf16, the default: 327,680 B per token
# the other server and a router in front have to be started too, each server on
#   a machine of its own
python -m sglang.launch_server \
  --model-path meta-llama/Meta-Llama-3-70B-Instruct \
  --tp-size 8 \
  --mem-fraction-static 0.85 \
  --disaggregation-mode prefill

## sglang, fp16
# SGLang 0.5.23, flags as of 2026-10-30
# --tp-size 8: 141 GB of weights need at least 2 H100 SXM at 0.9 of their
#   memory. Each of 8 reads 17.6 GB a step, in 5.27 ms at the least
# --dtype float16: arithmetic and activations in fp16 in place of bf16
# --mem-fraction-static 0.9: of the memory free before loading, for weights and
#   cache: 17.6 GB and 54.4 GB on each GPU, the rest is for activations and
#   CUDA graphs
# --max-running-requests 162: 162 sequences of 8,192 tokens fill the 435 GB
#   that the weights leave to the cache. Arithmetic takes over at 296
# --chunked-prefill-size 8192: the default on H100 SXM already, no prompt is
#   longer than 8,192 tokens, so none is split
# --enable-metrics: the page /metrics for Prometheus, off by default
# the cache stays in fp16, the default: 327,680 B per token
python -m sglang.launch_server \
  --model-path meta-llama/Meta-Llama-3-70B-Instruct \
  --tp-size 8 \
  --dtype float16 \
  --mem-fraction-static 0.9 \
  --max-running-requests 162 \
  --chunked-prefill-size 8192 \
  --enable-metrics

## sglang, stored in fp8
# SGLang 0.5.23, flags as of 2026-10-30
# --tp-size 4: 70.6 GB of weights need at least 2 H100 SXM at 0.818 of their
#   memory. Each of 4 reads 17.6 GB a step, in 5.27 ms at the least
# --kv-cache-dtype fp8_e4m3: 163,840 B per token in place of 327,680, as the
#   default keeps bf16
# --enable-metrics: the page /metrics for Prometheus, off by default
# H100 SXM multiplies FP8 weights in FP8, 2 times the bf16 rate counted here
# left alone, SGLang takes a memory fraction of about 0.818, with which the
#   numbers reckon
python -m sglang.launch_server \
  --model-path org/fp8 \
  --tp-size 4 \
  --kv-cache-dtype fp8_e4m3 \
  --enable-metrics

## vllm, nothing asked
# vLLM 0.33.0, flags as of 2026-11-01
# the cache stays in bf16, the default: 131,072 B per token
# chunked prefill, prefix caching and the page /metrics are on by default
vllm serve meta-llama/Meta-Llama-3-8B-Instruct

## vllm, everything
# vLLM 0.33.0, flags as of 2026-11-01
# --tensor-parallel-size 4: 70.6 GB of weights need at least 1 H100 SXM at 0.95
#   of their memory. Each of 4 reads 17.6 GB a step, in 5.27 ms at the least
# --data-parallel-size 2: 2 full copies on 8 GPUs: 2 times the throughput, a
#   step is as long
# --quantization fp8_per_tensor: loads the bf16 checkpoint of 141 GB and keeps
#   its linear weights in one byte each, 72.7 GB with embedding and head still
#   in bf16
# --kv-cache-dtype int8_per_token_head: 163,840 B per token in place of
#   327,680, as the default keeps bf16
# --gpu-memory-utilization 0.95: of all memory, for everything: 17.6 GB of
#   weights on each GPU and 58.4 GB for activations, CUDA graphs and cache
# --max-model-len 4096: no sequence grows beyond it, LLaMA 3-70B could go to
#   8,192
# --max-num-seqs 64: as asked for. Memory holds 347 sequences of 4,096 tokens
# --max-num-batched-tokens 8192: the default on H100 SXM already, of one step,
#   decode and prefill together, more of them raise the activation peak
# --host 0.0.0.0: the address to listen on
# --port 30001: the port to listen on, 8000 by default
# H100 SXM multiplies FP8 weights in FP8, 2 times the bf16 rate counted here
# each token and head has a scale on top of those bytes
# chunked prefill, prefix caching and the page /metrics are on by default
vllm serve org/model \
  --tensor-parallel-size 4 \
  --data-parallel-size 2 \
  --quantization fp8_per_tensor \
  --kv-cache-dtype int8_per_token_head \
  --gpu-memory-utilization 0.95 \
  --max-model-len 4096 \
  --max-num-seqs 64 \
  --max-num-batched-tokens 8192 \
  --host 0.0.0.0 \
  --port 30001

## vllm, a cache of four bits
# vLLM 0.33.0, flags as of 2026-11-01
# --tensor-parallel-size 8: 141 GB of weights need at least 4 H100 SXM at 0.85
#   of their memory. Each of 8 reads 17.6 GB a step, in 5.27 ms at the least
# --kv-cache-dtype int4_per_token_head: 81,920 B per token in place of 327,680,
#   as the default keeps bf16
# --max-num-seqs 296: from here on arithmetic takes longer than reading the
#   weights, so more would only lengthen the step. Memory holds 600 sequences
#   of 8,192 tokens
# each token and head has a scale on top of those bytes
# chunked prefill, prefix caching and the page /metrics are on by default
vllm serve meta-llama/Meta-Llama-3-70B-Instruct \
  --tensor-parallel-size 8 \
  --kv-cache-dtype int4_per_token_head \
  --max-num-seqs 296

## vllm, fp16
# vLLM 0.33.0, flags as of 2026-11-01
# --tensor-parallel-size 8: 141 GB of weights need at least 2 H100 SXM at 0.9
#   of their memory. Each of 8 reads 17.6 GB a step, in 5.27 ms at the least
# --dtype float16: arithmetic and activations in fp16 in place of bf16
# --max-num-batched-tokens 4096: of one step, decode and prefill together, more
#   of them raise the activation peak
# the cache stays in fp16, the default: 327,680 B per token
# chunked prefill, prefix caching and the page /metrics are on by default
vllm serve meta-llama/Meta-Llama-3-70B-Instruct \
  --tensor-parallel-size 8 \
  --dtype float16 \
  --max-num-batched-tokens 4096

## megatron, nothing asked
# Megatron-LM core 0.20.0 dev at d98e8a64ddf3, flags as of 2026-08-22
# --nproc-per-node 1: one process for each GPU, which python alone does not
#   start
# --use-checkpoint-args: takes the shape of the model from the checkpoint
# --micro-batch-size 1: asked for by the parser, which training shares, and
#   without effect here
# --inference-max-seq-length 8192: no sequence grows beyond it, 2,560 by
#   default, LLaMA 3-8B was made for 8,192
# the cache stays in bf16, the default: 131,072 B per token
# to be run in the Megatron-LM repository, on a checkpoint converted to its own
#   format
torchrun \
  --nproc-per-node 1 \
  examples/inference/launch_inference_server.py \
  --load checkpoints/8b \
  --use-checkpoint-args \
  --bf16 \
  --tokenizer-type HuggingFaceTokenizer \
  --tokenizer-model meta-llama/Meta-Llama-3-8B-Instruct \
  --micro-batch-size 1 \
  --inference-max-seq-length 8192

## megatron, everything
# Megatron-LM core 0.20.0 dev at d98e8a64ddf3, flags as of 2026-08-22
# --nproc-per-node 4: one process for each GPU, which python alone does not
#   start
# --use-checkpoint-args: takes the shape of the model from the checkpoint
# --tensor-model-parallel-size 4: 141 GB of weights need at least 4 H100 SXM at
#   0.844 of their memory. Each of 4 reads 35.3 GB a step, in 10.5 ms at the
#   least
# --micro-batch-size 1: asked for by the parser, which training shares, and
#   without effect here
# --inference-max-seq-length 4096: no sequence grows beyond it, 2,560 by
#   default, LLaMA 3-70B was made for 8,192
# --inference-dynamic-batching-buffer-size-gb 30: 30 GiB of KV cache on each
#   GPU, beside 35.3 GB of weights, 40 by default
# --inference-dynamic-batching-max-requests 8: as asked for. Memory holds 96
#   sequences of 4,096 tokens
# --port 5001: the port to listen on, 5000 by default
# the cache stays in bf16, the default: 327,680 B per token
# to be run in the Megatron-LM repository, on a checkpoint converted to its own
#   format
env CUDA_DEVICE_MAX_CONNECTIONS=1 torchrun \
  --nproc-per-node 4 \
  examples/inference/launch_inference_server.py \
  --load checkpoints/70b \
  --use-checkpoint-args \
  --bf16 \
  --tensor-model-parallel-size 4 \
  --tokenizer-type HuggingFaceTokenizer \
  --tokenizer-model org/model \
  --micro-batch-size 1 \
  --inference-max-seq-length 4096 \
  --inference-dynamic-batching-buffer-size-gb 30 \
  --inference-dynamic-batching-max-requests 8 \
  --port 5001

## megatron, two ways
# Megatron-LM core 0.20.0 dev at d98e8a64ddf3, flags as of 2026-08-22
# --nproc-per-node 2: one process for each GPU, which python alone does not
#   start
# --use-checkpoint-args: takes the shape of the model from the checkpoint
# --tensor-model-parallel-size 2: 16.1 GB of weights need at least 1 H100 SXM
#   at 0.637 of their memory. Each of 2 reads 8.03 GB a step, in 2.4 ms at the
#   least
# --micro-batch-size 1: asked for by the parser, which training shares, and
#   without effect here
# --inference-max-seq-length 8192: no sequence grows beyond it, 2,560 by
#   default, LLaMA 3-8B was made for 8,192
# --inference-dynamic-batching-max-requests 80: 80 sequences of 8,192 tokens
#   fill the 85.9 GB that the weights leave to the cache. Arithmetic takes over
#   at 296
# the cache stays in bf16, the default: 131,072 B per token
# to be run in the Megatron-LM repository, on a checkpoint converted to its own
#   format
env CUDA_DEVICE_MAX_CONNECTIONS=1 torchrun \
  --nproc-per-node 2 \
  examples/inference/launch_inference_server.py \
  --load c \
  --use-checkpoint-args \
  --bf16 \
  --tensor-model-parallel-size 2 \
  --tokenizer-type HuggingFaceTokenizer \
  --tokenizer-model meta-llama/Meta-Llama-3-8B-Instruct \
  --micro-batch-size 1 \
  --inference-max-seq-length 8192 \
  --inference-dynamic-batching-max-requests 80

## mini_sglang, nothing asked
# Mini-SGLang commit 20fcd7f3c6a1, flags as of 2026-03-13
# the cache stays in bf16, the default: 131,072 B per token
# there is no page /metrics
python -m minisgl \
  --model meta-llama/Meta-Llama-3-8B-Instruct

## mini_sglang, everything
# Mini-SGLang commit 20fcd7f3c6a1, flags as of 2026-03-13
# --tp-size 8: 141 GB of weights need at least 4 H100 SXM at 0.8 of their
#   memory. Each of 8 reads 17.6 GB a step, in 5.27 ms at the least
# --dtype float16: arithmetic and activations in fp16 in place of bf16
# --memory-ratio 0.8: of the memory free before loading, for weights and cache:
#   17.6 GB and 46.4 GB on each GPU, the rest is for activations and CUDA
#   graphs
# --max-running-requests 300: as asked for. Memory holds 276 sequences of 4,096
#   tokens, so at that length the rest wait or are evicted
# --max-prefill-length 4096: tokens of a prefill chunk
# --port 1920: the port to listen on, 1919 by default
# the cache stays in fp16, the default: 327,680 B per token
# there is no page /metrics
python -m minisgl \
  --model org/model \
  --tp-size 8 \
  --dtype float16 \
  --memory-ratio 0.8 \
  --max-running-requests 300 \
  --max-prefill-length 4096 \
  --port 1920

## mini_sglang, its own chunk
# Mini-SGLang commit 20fcd7f3c6a1, flags as of 2026-03-13
# --tp-size 8: 141 GB of weights need at least 4 H100 SXM at 0.85 of their
#   memory. Each of 8 reads 17.6 GB a step, in 5.27 ms at the least
# --memory-ratio 0.85: of the memory free before loading, for weights and
#   cache: 17.6 GB and 50.4 GB on each GPU, the rest is for activations and
#   CUDA graphs
# --max-prefill-length 8192: tokens of a prefill chunk, 8192 is the default
#   already
# the cache stays in bf16, the default: 327,680 B per token
# there is no page /metrics
python -m minisgl \
  --model meta-llama/Meta-Llama-3-70B-Instruct \
  --tp-size 8 \
  --memory-ratio 0.85 \
  --max-prefill-length 8192

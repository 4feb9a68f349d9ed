# Launch commands word for word, as tests/engines/test_commands.py asks for them.

## sglang, nothing asked
# SGLang 0.5.23, flags as of 2026-10-30
# --tp-size 8: 141 GB of weights as loaded need at least 4 H100 SXM at 0.818 of
#   their memory. Each of 8 reads 17.4 GB a step, in 5.19 ms at the least
# --enable-metrics: the page /metrics for Prometheus, off by default
# meta-llama repositories are gated: set HF_TOKEN of an account let in
# the cache stays in bf16, the default: 327,680 B per token
# in docker add --ipc host: the processes of the GPUs share memory
# listens on 127.0.0.1 only: in a container or for other machines add --host
#   0.0.0.0
# left alone, SGLang takes a memory fraction of about 0.812, from which the
#   numbers follow
# the pool has about 1,238,286 tokens
sglang serve \
  --model-path meta-llama/Meta-Llama-3-70B-Instruct \
  --tp-size 8 \
  --enable-metrics

## sglang, everything
# SGLang 0.5.23, flags as of 2026-10-30
# --tp-size 4: 72.7 GB of weights and one sequence of 4,096 tokens need at
#   least 1 H100 SXM at 0.875 of their memory. Each of 4 reads 17.6 GB a step,
#   in 5.27 ms at the least
# --dp-size 2: 2 full copies on 8 GPUs: 2 times the throughput, a step is as
#   long
# --quantization fp8: loads the bf16 checkpoint of 141 GB and keeps its linear
#   weights in one byte each, 72.7 GB with embedding and head still in bf16
# --kv-cache-dtype fp8_e4m3: 163,840 B per token in place of 327,680, as the
#   default keeps bf16. Without scales in the checkpoint it runs at a scale of
#   1, so check the accuracy
# --mem-fraction-static 0.875: of the memory free before loading, for weights
#   and cache: 18.2 GB and 55.5 GB on each GPU, the rest is for activations and
#   CUDA graphs
# --context-length 4096: no sequence grows beyond it, LLaMA 3-70B could go to
#   8,192
# --max-running-requests 64: as asked for. The pool holds 330 sequences of
#   4,096 tokens
# --chunked-prefill-size 2048: a chunk takes 36 ms at the peak FLOP/s, and the
#   decode steps in its batch wait that long
# --enable-mixed-chunk: decode steps share a batch with prefill chunks, off by
#   default
# --disaggregation-mode decode: takes finished prompts over, up to 0.671 GB of
#   cache for each, and decodes them
# --enable-metrics: the page /metrics for Prometheus, off by default
# --host 0.0.0.0: the address to listen on, 127.0.0.1 by default
# --port 30001: the port to listen on, 30000 by default
# in docker add --ipc host: the processes of the GPUs share memory
# the pool of about 1,355,506 tokens in each copy holds 330 sequences of 4,096
#   tokens, of which 64 run at once: a step then takes 8.47 ms by the serial
#   roofline without collectives, for 7,556 tokens a second in each copy
sglang serve \
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
# --tp-size 8: 141 GB of weights as loaded need at least 2 H100 SXM at 0.85 of
#   their memory. Each of 8 reads 17.4 GB a step, in 5.19 ms at the least
# --mem-fraction-static 0.85: of the memory free before loading, for weights
#   and cache: 17.6 GB and 53.9 GB on each GPU, the rest is for activations and
#   CUDA graphs
# --disaggregation-mode prefill: reads prompts and sends their cache on, up to
#   2.68 GB for each
# meta-llama repositories are gated: set HF_TOKEN of an account let in
# the cache stays in bf16, the default: 327,680 B per token
# in docker add --ipc host: the processes of the GPUs share memory
# listens on 127.0.0.1 only: in a container or for other machines add --host
#   0.0.0.0
# a server of a pair registers under the address in --host, at which the other
#   has to reach it
sglang serve \
  --model-path meta-llama/Meta-Llama-3-70B-Instruct \
  --tp-size 8 \
  --mem-fraction-static 0.85 \
  --disaggregation-mode prefill

## sglang, the second of two machines
# SGLang 0.5.23, flags as of 2026-10-30
# --tp-size 8: 812 GB of weights and one sequence of 8,192 tokens need at least
#   16 H100 SXM at 0.805 of their memory. Each of 16 reads 50.5 GB a step, in
#   15.1 ms at the least
# --pp-size 2: 2 stages, each with its share of the layers, one after the
#   other: a token visits them all
# --nnodes 2: 2 machines of 8 GPUs
# --node-rank 1: which of them this command is for, from 0
# --dist-init-addr 10.0.0.1:20000: of the machine with rank 0, where the others
#   find it
# --context-length 8192: no sequence grows beyond it, LLaMA 3-405B could go to
#   131,072
# --enable-metrics: the page /metrics for Prometheus, off by default
# meta-llama repositories are gated: set HF_TOKEN of an account let in
# the cache stays in bf16, the default: 516,096 B per token
# one such command a machine, ranks 0 to 1, with NCCL_SOCKET_IFNAME set
# in docker add --ipc host: the processes of the GPUs share memory
# left alone, SGLang takes a memory fraction of about 0.805, from which the
#   numbers follow
# the pool of about 511,834 tokens holds 62 sequences of 8,192 tokens: a step
#   then takes 35 ms by the serial roofline without collectives, for 1,770
#   tokens a second
sglang serve \
  --model-path meta-llama/Llama-3.1-405B-Instruct \
  --tp-size 8 \
  --pp-size 2 \
  --nnodes 2 \
  --node-rank 1 \
  --dist-init-addr 10.0.0.1:20000 \
  --context-length 8192 \
  --enable-metrics

## sglang, fp16
# SGLang 0.5.23, flags as of 2026-10-30
# --tp-size 8: 141 GB of weights and one sequence of 8,192 tokens need at least
#   2 H100 SXM at 0.9 of their memory. Each of 8 reads 17.4 GB a step, in 5.19
#   ms at the least
# --dtype float16: arithmetic and activations in fp16 in place of bf16
# --mem-fraction-static 0.9: of the memory free before loading, for weights and
#   cache: 17.6 GB and 58.2 GB on each GPU, the rest is for activations and
#   CUDA graphs
# --chunked-prefill-size 8192: the default on H100 SXM already, no prompt is
#   longer than 8,192 tokens, so none is split
# --enable-metrics: the page /metrics for Prometheus, off by default
# meta-llama repositories are gated: set HF_TOKEN of an account let in
# the cache stays in fp16, the default: 327,680 B per token
# in docker add --ipc host: the processes of the GPUs share memory
# listens on 127.0.0.1 only: in a container or for other machines add --host
#   0.0.0.0
# the pool of about 1,419,948 tokens holds 173 sequences of 8,192 tokens: a
#   step then takes 22.5 ms by the serial roofline without collectives, for
#   7,684 tokens a second. No batch in the pool passes the limit of 30 ms, so
#   no cap is needed
sglang serve \
  --model-path meta-llama/Meta-Llama-3-70B-Instruct \
  --tp-size 8 \
  --dtype float16 \
  --mem-fraction-static 0.9 \
  --chunked-prefill-size 8192 \
  --enable-metrics

## sglang, stored in fp8
# SGLang 0.5.23, flags as of 2026-10-30
# --tp-size 4: 72.7 GB of weights as loaded need at least 2 H100 SXM at 0.827
#   of their memory. Each of 4 reads 17.6 GB a step, in 5.27 ms at the least
# --kv-cache-dtype fp8_e4m3: 163,840 B per token in place of 327,680, as the
#   default keeps bf16. Without scales in the checkpoint it runs at a scale of
#   1, so check the accuracy
# --enable-metrics: the page /metrics for Prometheus, off by default
# the checkpoint is stored in FP8: no flag is needed to load it
# in docker add --ipc host: the processes of the GPUs share memory
# listens on 127.0.0.1 only: in a container or for other machines add --host
#   0.0.0.0
# left alone, SGLang takes a memory fraction of about 0.818, from which the
#   numbers follow
# the pool has about 1,237,838 tokens
sglang serve \
  --model-path org/fp8 \
  --tp-size 4 \
  --kv-cache-dtype fp8_e4m3 \
  --enable-metrics

## vllm, nothing asked
# vLLM 0.33.0, flags as of 2026-11-01
# meta-llama repositories are gated: set HF_TOKEN of an account let in
# the cache stays in bf16, the default: 131,072 B per token
# listens on every address without a key: see --host and --api-key
# the pool has about 431,248 tokens
vllm serve meta-llama/Meta-Llama-3-8B-Instruct

## vllm, everything
# vLLM 0.33.0, flags as of 2026-11-01
# --tensor-parallel-size 4: 72.7 GB of weights and one sequence of 4,096 tokens
#   need at least 1 H100 SXM at 0.95 of their memory. Each of 4 reads 17.6 GB a
#   step, in 5.27 ms at the least
# --data-parallel-size 2: 2 full copies on 8 GPUs: 2 times the throughput, a
#   step is as long
# --quantization fp8_per_tensor: loads the bf16 checkpoint of 141 GB and keeps
#   its linear weights in one byte each, 72.7 GB with embedding and head still
#   in bf16
# --kv-cache-dtype int8_per_token_head: 163,840 B per token in place of
#   327,680, as the default keeps bf16
# --gpu-memory-utilization 0.95: of all memory, for everything: 18.2 GB of
#   weights on each GPU and 62.8 GB for activations, CUDA graphs and cache
# --max-model-len 4096: no sequence grows beyond it, LLaMA 3-70B could go to
#   8,192
# --max-num-seqs 64: as asked for. The pool holds 365 sequences of 4,096 tokens
# --max-num-batched-tokens 8192: the default on H100 SXM already, of one step,
#   decode and prefill together, more of them raise the activation peak
# --host 0.0.0.0: the address to listen on
# --port 30001: the port to listen on, 8000 by default
# in docker add --ipc host: the processes of the GPUs share memory
# each token and head has a scale on top of those bytes
# the pool of about 1,495,968 tokens in each copy holds 365 sequences of 4,096
#   tokens, of which 64 run at once: a step then takes 8.47 ms by the serial
#   roofline without collectives, for 7,556 tokens a second in each copy
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
# --tensor-parallel-size 8: 141 GB of weights and one sequence of 8,192 tokens
#   need at least 2 H100 SXM at 0.92 of their memory. Each of 8 reads 17.4 GB a
#   step, in 5.19 ms at the least
# --kv-cache-dtype int4_per_token_head: 81,920 B per token in place of 327,680,
#   as the default keeps bf16
# meta-llama repositories are gated: set HF_TOKEN of an account let in
# in docker add --ipc host: the processes of the GPUs share memory
# listens on every address without a key: see --host and --api-key
# each token and head has a scale on top of those bytes
# the pool of about 5,317,664 tokens holds 649 sequences of 8,192 tokens: a
#   step then takes 27.6 ms by the serial roofline without collectives, for
#   23,474 tokens a second
# from 296 sequences on arithmetic takes longer than reading the weights
# graphs are captured up to 512 sequences: --max-cudagraph-capture-size 649
#   covers the batch of 649
vllm serve meta-llama/Meta-Llama-3-70B-Instruct \
  --tensor-parallel-size 8 \
  --kv-cache-dtype int4_per_token_head

## vllm, a promised step
# vLLM 0.33.0, flags as of 2026-11-01
# --tensor-parallel-size 4: 72.7 GB of weights and one sequence of 8,192 tokens
#   need at least 1 H100 SXM at 0.92 of their memory. Each of 4 reads 17.6 GB a
#   step, in 5.27 ms at the least
# --kv-cache-dtype fp8_e4m3: 163,840 B per token in place of 327,680, as the
#   default keeps bf16. Without scales in the checkpoint it runs at a scale of
#   1, so check the accuracy
# --max-num-seqs 352: a step of 352 sequences of 2,048 tokens takes 15 ms by
#   the serial roofline without collectives, one more would pass the limit of
#   15 ms. The pool holds 642
# the checkpoint is stored in FP8: no flag is needed to load it
# in docker add --ipc host: the processes of the GPUs share memory
# listens on every address without a key: see --host and --api-key
# the pool of about 1,398,464 tokens holds 682 sequences of 2,048 tokens, of
#   which 352 run at once: a step then takes 15 ms by the serial roofline
#   without collectives, for 23,474 tokens a second
# from 300 sequences on arithmetic takes longer than reading the weights
vllm serve RedHatAI/Meta-Llama-3-70B-Instruct-FP8 \
  --tensor-parallel-size 4 \
  --kv-cache-dtype fp8_e4m3 \
  --max-num-seqs 352

## vllm, the second of two machines
# vLLM 0.33.0, flags as of 2026-11-01
# --tensor-parallel-size 8: 812 GB of weights and one sequence of 8,192 tokens
#   need at least 16 H100 SXM at 0.92 of their memory. Each of 16 reads 50.5 GB
#   a step, in 15.1 ms at the least
# --pipeline-parallel-size 2: 2 stages, each with its share of the layers, one
#   after the other: a token visits them all
# --nnodes 2: 2 machines of 8 GPUs
# --node-rank 1: which of them this command is for, from 0
# --master-addr 10.0.0.1: of the machine with rank 0
# --master-port 20000: at which the others find it
# --headless: only the machine with rank 0 answers requests
# --max-model-len 8192: no sequence grows beyond it, LLaMA 3-405B could go to
#   131,072
# meta-llama repositories are gated: set HF_TOKEN of an account let in
# the cache stays in bf16, the default: 516,096 B per token
# one such command a machine, ranks 0 to 1, with NCCL_SOCKET_IFNAME set
# in docker add --ipc host: the processes of the GPUs share memory
# the pool of about 645,904 tokens holds 78 sequences of 8,192 tokens: a step
#   then takes 36.3 ms by the serial roofline without collectives, for 2,150
#   tokens a second
vllm serve meta-llama/Llama-3.1-405B-Instruct \
  --tensor-parallel-size 8 \
  --pipeline-parallel-size 2 \
  --nnodes 2 \
  --node-rank 1 \
  --master-addr 10.0.0.1 \
  --master-port 20000 \
  --headless \
  --max-model-len 8192

## vllm, sixteen ways
# vLLM 0.33.0, flags as of 2026-11-01
# --tensor-parallel-size 16: 812 GB of weights and one sequence of 8,192 tokens
#   need at least 16 H100 SXM at 0.92 of their memory. Each of 16 reads 50.5 GB
#   a step, in 15.1 ms at the least
# --decode-context-parallel-size 2: 16 ways share 8 KV heads: without it each
#   is stored 2 times
# --nnodes 2: 2 machines of 8 GPUs
# --node-rank 0: which of them this command is for, from 0
# --master-addr 10.0.0.1: of the machine with rank 0
# --master-port 20000: at which the others find it
# --max-model-len 8192: no sequence grows beyond it, LLaMA 3-405B could go to
#   131,072
# meta-llama repositories are gated: set HF_TOKEN of an account let in
# the cache stays in bf16, the default: 516,096 B per token
# tensor parallelism crosses machines: stages, one a machine, are usual
# one such command a machine, ranks 0 to 1, with NCCL_SOCKET_IFNAME set
# in docker add --ipc host: the processes of the GPUs share memory
# listens on every address without a key: see --host and --api-key
# the pool of about 645,808 tokens holds 78 sequences of 8,192 tokens: a step
#   then takes 21.2 ms by the serial roofline without collectives, for 3,676
#   tokens a second
vllm serve meta-llama/Llama-3.1-405B-Instruct \
  --tensor-parallel-size 16 \
  --decode-context-parallel-size 2 \
  --nnodes 2 \
  --node-rank 0 \
  --master-addr 10.0.0.1 \
  --master-port 20000 \
  --max-model-len 8192

## vllm, fp16
# vLLM 0.33.0, flags as of 2026-11-01
# --tensor-parallel-size 8: 141 GB of weights and one sequence of 8,192 tokens
#   need at least 2 H100 SXM at 0.92 of their memory. Each of 8 reads 17.4 GB a
#   step, in 5.19 ms at the least
# --dtype float16: arithmetic and activations in fp16 in place of bf16
# --max-num-batched-tokens 4096: of one step, decode and prefill together, more
#   of them raise the activation peak
# meta-llama repositories are gated: set HF_TOKEN of an account let in
# the cache stays in fp16, the default: 327,680 B per token
# in docker add --ipc host: the processes of the GPUs share memory
# listens on every address without a key: see --host and --api-key
# the pool has about 1,329,408 tokens
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
# meta-llama repositories are gated: set HF_TOKEN of an account let in
# the cache stays in bf16, the default: 131,072 B per token
# the pool has about 327,424 tokens
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
# --tensor-model-parallel-size 4: 141 GB of weights and one sequence of 4,096
#   tokens need at least 4 H100 SXM. Each of 4 reads 34.8 GB a step, in 10.4 ms
#   at the least
# --micro-batch-size 1: asked for by the parser, which training shares, and
#   without effect here
# --inference-max-seq-length 4096: no sequence grows beyond it, 2,560 by
#   default, LLaMA 3-70B was made for 8,192
# --inference-dynamic-batching-buffer-size-gb 30: 30 GiB of KV cache on each
#   GPU, beside 35.3 GB of weights, 40 by default
# --inference-dynamic-batching-max-requests 8: as asked for. The pool holds 95
#   sequences of 4,096 tokens
# --port 5001: the port to listen on, 5000 by default
# the cache stays in bf16, the default: 327,680 B per token
# the pool of about 392,960 tokens holds 95 sequences of 4,096 tokens, of which
#   8 run at once: a step then takes 11.2 ms by the serial roofline without
#   collectives, for 716 tokens a second
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
# --tensor-model-parallel-size 2: 16.1 GB of weights and one sequence of 8,192
#   tokens need at least 1 H100 SXM. Each of 2 reads 7.5 GB a step, in 2.24 ms
#   at the least
# --micro-batch-size 1: asked for by the parser, which training shares, and
#   without effect here
# --inference-max-seq-length 8192: no sequence grows beyond it, 2,560 by
#   default, LLaMA 3-8B was made for 8,192
# meta-llama repositories are gated: set HF_TOKEN of an account let in
# the cache stays in bf16, the default: 131,072 B per token
# the pool of about 655,104 tokens holds 79 sequences of 8,192 tokens: a step
#   then takes 14.9 ms by the serial roofline without collectives, for 5,302
#   tokens a second
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
  --inference-max-seq-length 8192

## mini_sglang, nothing asked
# Mini-SGLang commit 20fcd7f3c6a1, flags as of 2026-03-13
# meta-llama repositories are gated: set HF_TOKEN of an account let in
# the cache stays in bf16, the default: 131,072 B per token
# the pool has about 458,066 tokens
# there is no page /metrics
python -m minisgl \
  --model meta-llama/Meta-Llama-3-8B-Instruct

## mini_sglang, everything
# Mini-SGLang commit 20fcd7f3c6a1, flags as of 2026-03-13
# --tp-size 8: 141 GB of weights and one sequence of 4,096 tokens need at least
#   4 H100 SXM at 0.8 of their memory. Each of 8 reads 17.4 GB a step, in 5.19
#   ms at the least
# --dtype float16: arithmetic and activations in fp16 in place of bf16
# --memory-ratio 0.8: of the memory free before loading, for weights and cache:
#   17.6 GB and 50 GB on each GPU, the rest is for activations and CUDA graphs
# --max-running-requests 300: as asked for. The pool holds 298 sequences of
#   4,096 tokens, so at that length some wait or are evicted
# --max-prefill-length 4096: tokens of a prefill chunk
# --port 1920: the port to listen on, 1919 by default
# the cache stays in fp16, the default: 327,680 B per token
# the pool of about 1,220,853 tokens holds 298 sequences of 4,096 tokens: a
#   step then takes 20.2 ms by the serial roofline without collectives, for
#   14,784 tokens a second
# from 296 sequences on arithmetic takes longer than reading the weights
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
# --tp-size 8: 141 GB of weights as loaded need at least 2 H100 SXM at 0.85 of
#   their memory. Each of 8 reads 17.4 GB a step, in 5.19 ms at the least
# --memory-ratio 0.85: of the memory free before loading, for weights and
#   cache: 17.6 GB and 54.2 GB on each GPU, the rest is for activations and
#   CUDA graphs
# --max-prefill-length 8192: tokens of a prefill chunk, 8192 is the default
#   already
# meta-llama repositories are gated: set HF_TOKEN of an account let in
# the cache stays in bf16, the default: 327,680 B per token
# the pool has about 1,324,071 tokens
# there is no page /metrics
python -m minisgl \
  --model meta-llama/Meta-Llama-3-70B-Instruct \
  --tp-size 8 \
  --memory-ratio 0.85 \
  --max-prefill-length 8192

## the decode of a pair
# SGLang 0.5.23, flags as of 2026-10-30
# --tp-size 4: 72.7 GB of weights and one sequence of 8,192 tokens need at
#   least 2 H100 SXM at 0.874 of their memory. Each of 4 reads 17.6 GB a step,
#   in 5.27 ms at the least
# --kv-cache-dtype fp8_e4m3: 163,840 B per token in place of 327,680, as the
#   default keeps bf16. Without scales in the checkpoint it runs at a scale of
#   1, so check the accuracy
# --disaggregation-mode decode: takes finished prompts over, up to 1.34 GB of
#   cache for each, and decodes them
# --enable-metrics: the page /metrics for Prometheus, off by default
# --host 0.0.0.0: the address to listen on, 127.0.0.1 by default
# --disaggregation-transfer-backend nixl: how the cache travels, mooncake by
#   default
# the checkpoint is stored in FP8: no flag is needed to load it
# in docker add --ipc host: the processes of the GPUs share memory
# left alone, SGLang takes a memory fraction of about 0.874, from which the
#   numbers follow
# the pool of about 1,353,442 tokens holds 165 sequences of 8,192 tokens: a
#   step then takes 21.8 ms by the serial roofline without collectives, for
#   7,572 tokens a second
# a package carries the cache: pip install nixl
# decode meets prefill at port 8998 of the prefill server: open it, and --port
#   to the router
sglang serve \
  --model-path RedHatAI/Meta-Llama-3-70B-Instruct-FP8 \
  --tp-size 4 \
  --kv-cache-dtype fp8_e4m3 \
  --disaggregation-mode decode \
  --enable-metrics \
  --host 0.0.0.0 \
  --disaggregation-transfer-backend nixl

## the router of a pair
# SGLang router as of SGLang 0.5.23, flags as of 2026-10-30
# --pd-disaggregation: each request goes to a prefill server first and then to
#   a decode server
# --host 0.0.0.0: the address to listen on
# a package of its own: pip install sglang-router
python -m sglang_router.launch_router \
  --pd-disaggregation \
  --prefill http://prefill:30000 \
  --decode http://decode:30000 \
  --host 0.0.0.0 \
  --port 8000

## the benchmark of sglang
# SGLang 0.5.23, flags as of 2026-10-30
# --dataset-name random: prompts of random words, so that no prefix cache helps
# --max-concurrency 64: requests at once, the batch of the step below
# --num-prompts 640: ten for each of them, so that start and end weigh little
# its median TPOT: 6.17 ms by the serial roofline, for 64 sequences of 1,152
#   tokens on average
# its median TTFT: 18 ms at the peak FLOP/s, for one prompt alone
python -m sglang.benchmark.serving --backend sglang --random-range-ratio 1 \
  --model RedHatAI/Meta-Llama-3-70B-Instruct-FP8 \
  --dataset-name random \
  --random-input-len 1024 \
  --random-output-len 256 \
  --max-concurrency 64 \
  --num-prompts 640 \
  --host 127.0.0.1 \
  --port 30000

## the benchmark of vllm
# vLLM 0.33.0, flags as of 2026-11-01
# --dataset-name random: prompts of random words, so that no prefix cache helps
# --max-concurrency 64: requests at once, the batch of the step below
# --num-prompts 640: ten for each of them, so that start and end weigh little
# its median TPOT: 6.17 ms by the serial roofline, for 64 sequences of 1,152
#   tokens on average
# its median TTFT: 18 ms at the peak FLOP/s, for one prompt alone
vllm bench serve \
  --model RedHatAI/Meta-Llama-3-70B-Instruct-FP8 \
  --dataset-name random \
  --random-input-len 1024 \
  --random-output-len 256 \
  --max-concurrency 64 \
  --num-prompts 640 \
  --host 127.0.0.1 \
  --port 8000

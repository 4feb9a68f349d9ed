"""12.9, SGLang: the commands, chunked prefill, shared prefixes, and what a server says of itself."""

from dataclasses import replace

from claims.ledger import AGREES, CONVENTION, ERRATUM, UNSTATED, Load, Section, claim
from scaling.batching import Request, Timeline, timeline
from scaling.chips import H100_TEXT
from scaling.course.tables import number as n
from scaling.deployment import Deployment
from scaling.engines import mini_sglang, read_metrics, sglang
from scaling.latency import decode_step, prefill_time
from scaling.memory import fits, max_batch, min_chips
from scaling.models import LLAMA3_8B, LLAMA3_70B
from scaling.prefix import saved_bytes
from scaling.units import MB, KiB, MiB, kB, ms

basic = Deployment(model=LLAMA3_70B, chip=H100_TEXT, chips=8, params="nominal")
tuned = replace(basic, usable=0.85)
fp8 = replace(basic, weights="fp8", chips=4)
mini = Deployment(model=LLAMA3_8B, chip=H100_TEXT, chips=4, params="nominal")
prompt, drawn = Load(context=8192, mfu=0.4), Load(batch=32, context=8192)
cap = Load(batch=256)
prefix, tree = Load(batch=100, context=2048), Load(batch=3)
S = prompt.context
step = decode_step(basic, drawn.batch, drawn.context).total
chunk = prefill_time(basic, S, mfu=prompt.mfu)
fewest = min_chips(fp8, drawn.batch, drawn.context)
one_prefix = saved_bytes(LLAMA3_70B, prefix.context, 2, kv="int8")
together = saved_bytes(LLAMA3_70B, prefix.context, prefix.batch, kv="int8")
late = [Request(prompt=16, output=64), Request(prompt=512, output=8, arrival=10.0)]
queue = [Request(prompt=64, output=length) for length in (8, 64, 8)]
ASKED = {"cache_hit_rate", "num_running_reqs", "token_usage", "avg_prefill_latency", "avg_decode_latency"}
INFO = {"launch_command", "startup_time", "version", "frontend", "max_total_num_tokens", "max_req_input_len"}
INFO |= {"world_size", "last_gen_throughput", "memory_usage", "token_capacity"}  # and the flags, in SGLang 0.5.23
least = decode_step(replace(mini, params="exact"), 1, 0).floor
started = mini_sglang.launch_command(replace(mini, params="exact"))


def continues(line: str) -> bool:
    """Whether a shell goes on with the next line: the backslash must be the very last character."""
    return line.endswith("\\")


def done(policy: str) -> float:
    """When the queue is done, two places, steps of one second."""
    return timeline(queue, policy=policy, step_time=lambda *tokens: 1.0, max_batch=2).makespan


def joined(policy: str, chunk: int) -> Timeline:
    """A long prompt joins a request that decodes: a second a step, and 0.01 s for each token that is read."""
    return timeline(late, policy=policy, step_time=lambda new, *rest: 1 + new / 100, max_batch=2, chunk=chunk)


def longest_gap(policy: str, chunk: int) -> float:
    """Longest time from token to token of the request that decodes."""
    return joined(policy, chunk).times[0].longest_gap


def prefill_takes(policy: str, chunk: int) -> float:
    """Time to the first token of the long prompt."""
    return joined(policy, chunk).times[1].ttft


def kinds(policy: str) -> set[str]:
    """What the steps of a policy hold."""
    return {one.kind for one in joined(policy, 64).steps}


def known(name: str) -> bool:
    """Whether a metrics page can have this name."""
    try:
        return bool(read_metrics(f"sglang:{name} 0.5\n"))
    except ValueError:
        return False


# fmt: off
SECTION = Section("12.9", "SGLang", "09_sglang", (
    claim("9-tp", "379:8", "8 cards", basic.chips, AGREES,
          "Cards of the basic command", "An input.", see="A launch line, with reasons"),
    claim("9-kv", "382", "", basic.model.kv_bytes_per_token(basic.kv) == basic.model.kv_bytes_per_token("int8"),
          UNSTATED,
          "The int8 sizes of this chapter hold for this command",
          f"Unless told otherwise the cache is bf16: {basic.kv_per_token:,.0f} B a token. And there is fp8, no int8.",
          see="A launch line, with reasons"),
    claim("9-shell", "391", "", continues("  --mem-fraction-static 0.85 \\        # 85% HBM"), ERRATUM,
          "The tuned command runs as printed",
          "A backslash with a blank after it ends the command; the next line is run as a program.",
          see="A launch line, with reasons"),
    claim("9-fraction", "391:0.85", "0.85", tuned.usable, AGREES,
          "Share of the memory for weights and cache", "Of what is free before loading.", see="How large the pool is"),
    claim("9-chunk", "392:8192", "8192 tokens", sglang.default_chunk(basic), AGREES,
          "Size of a prefill chunk", "It is the default of this card: nothing is tuned.",
          see="A launch line, with reasons"),
    claim("9-never-split", "392", "", S > sglang.default_chunk(basic), ERRATUM,
          "So prompts are prefilled in chunks", "No prompt may be longer than the chunk: alone, none is split.",
          see="Who waits for whom"),
    claim("9-256", "393:256", "256 requests", cap.batch, AGREES,
          "Most requests at once", "An input. Each takes only the cache that it uses: a cap need not fit.",
          see="A launch line, with reasons"),
    claim("9-256-fit", "393", "", fits(tuned, cap.batch, S), UNSTATED,
          "So many fit at full length",
          f"{max_batch(tuned, S)} do, or {max_batch(replace(tuned, kv='fp8'), S)} with an fp8 cache.",
          see="A launch line, with reasons"),
    claim("9-window", "394:8192", "8192 tokens", LLAMA3_70B.context_window, AGREES,
          "Longest context", "The model's own limit already.", see="A launch line, with reasons"),
    claim("9-shell-fp8", "400", "", continues("  --tp-size 4 \\                       # fp8"), ERRATUM,
          "The fp8 command runs as printed", "The same slip.", see="A launch line, with reasons"),
    claim("9-fp8", "400:4", "4 cards", fp8.chips, AGREES,
          "Cards of the fp8 command", "An input.", see="A launch line, with reasons"),
    claim("9-enough", "400:4#2", "", fits(fp8, drawn.batch, drawn.context), AGREES,
          "4 cards are enough for fp8",
          f"So are {fewest}, on paper, for the quiz of 12.2. The bf16 checkpoint is loaded all the same.",
          see="A launch line, with reasons"),
    claim("9-continuous", "408", "", done("continuous") < done("static"), AGREES,
          "A new request joins when another is done",
          "It does not wait for the whole batch. The table below sends you to 12.4 for this; it is in 12.5.",
          see="Who waits for whom"),
    claim("9-32", "412:32", "32 sequences", drawn.batch, AGREES,
          "Batch of the diagram", "An input.", see="Who waits for whom"),
    claim("9-mixed", "413", "", "mixed" in kinds("continuous"), ERRATUM,
          "Decode and a chunk share a step",
          "Not unless asked: prefill runs first, in steps of its own. --enable-mixed-chunk turns it on.",
          see="Who waits for whom"),
    claim("9-19", "414:19", "19 ms", step, ERRATUM,
          "Its decode step", "19 ms were those of 16 v5e; this engine runs on eight H100.",
          see="Who waits for whom"),
    claim("9-25", "415:25", "25 ms", step + chunk, ERRATUM,
          "Its step with a chunk, if of the size above",
          f"A chunk of 8,192 takes {n(chunk / ms)} ms more; the 6 ms drawn hold {n(6 * ms / chunk * S)} tokens.",
          see="Who waits for whom"),
    claim("9-jitter", "421", "", longest_gap("continuous", 64) < longest_gap("continuous", 512), ERRATUM,
          "A smaller chunk evens out the decode latency",
          "All chunks of a prompt run before the next decode step, unless mixed.",
          see="Who waits for whom"),
    claim("9-jitter-mixed", "421", "", longest_gap("chunked", 64) < longest_gap("chunked", 512), AGREES,
          "Where steps are mixed, it does", "Each step then holds a small part of the prompt.",
          see="Who waits for whom"),
    claim("9-chunks", "421", "", prefill_takes("continuous", 64) > prefill_takes("continuous", 512), AGREES,
          "A smaller chunk makes the whole prefill longer", "Each chunk is a step, which reads the weights once more.",
          see="Who waits for whom"),
    claim("9-three", "427:3", "3 requests", tree.batch, AGREES,
          "Requests of the tree", "An input.", see="One prefix, many requests"),
    claim("9-prefix", "433:2048", "2048 tokens", prefix.context, AGREES,
          "Shared prefix", "An input.", see="One prefix, many requests"),
    claim("9-160", "433:160", "160 kB", LLAMA3_70B.kv_bytes_per_token("int8"), CONVENTION,
          "Cache of one token, int8", "KiB, written as KB.",
          convention=LLAMA3_70B.kv_bytes_per_token("int8") * kB / KiB,
          see="One prefix, many requests"),
    claim("9-320", "433:320", "320 MB", one_prefix, CONVENTION,
          "Cache of the prefix", "MiB, written as MB.", convention=one_prefix * MB / MiB,
          see="One prefix, many requests"),
    claim("9-100", "433:100", "100 requests", prefix.batch, AGREES,
          "Requests that share it", "An input.", see="One prefix, many requests"),
    claim("9-32gb", "433:32", "32 GB", together, CONVENTION,
          "What they save", "100 times 320, taken for MB. They are MiB, and one copy stays.",
          convention=prefix.batch * one_prefix * MB / MiB, see="One prefix, many requests"),
    claim("9-mini-tp", "446:4", "4 cards", mini.chips, AGREES,
          "Cards of the example", "An input.", see="Other engines, more machines"),
    claim("9-mini", "448", "", "sglang.launch_server" in started.program, ERRATUM,
          "Mini-SGLang starts with SGLang's command",
          f"It is {' '.join(started.program)}. The files of the table have other names there.",
          see="Other engines, more machines"),
    claim("9-mini-model", "449", "", started.flags["--model"] == "meta-llama/Llama-3-8B-Instruct", ERRATUM,
          "The name of the checkpoint", f"The repository is {started.flags['--model']}.",
          see="Other engines, more machines"),
    claim("9-8b", "453:8", "8B parameters", LLAMA3_8B.nominal_params, AGREES,
          "Parameters of the 8B model", f"Nominal; exact, {LLAMA3_8B.params:,}.",
          see="Other engines, more machines"),
    claim("9-2b", "453:2", "2B parameters", mini.stored_params / mini.chips, AGREES,
          "Parameters on each card", "A quarter.", see="Other engines, more machines"),
    claim("9-4gb", "453:4#3", "4 GB", mini.stored_params * mini.weight_size / mini.chips, AGREES,
          "Their bytes", "bf16.", see="Other engines, more machines"),
    claim("9-bandwidth", "453:3.35", "3.35 TB/s", H100_TEXT.bandwidth, AGREES,
          "Bandwidth of one card", "The catalogue's number.", see="Other engines, more machines"),
    claim("9-floor", "453:1.2", "1.2 ms", decode_step(mini, 1, 0).total, AGREES,
          "Decode floor",
          f"The one of 12.3, not of 12.4. A step need not read the input embedding: {n(least / ms)} ms.",
          see="Other engines, more machines"),
    claim("9-address", "458", "", ASKED <= INFO, ERRATUM,
          "/get_server_info has the five values below", "It has none of them. Three are on the page /metrics.",
          see="Is it as fast as it should be?"),
    claim("9-hit-rate", "461", "", known("cache_hit_rate"), AGREES,
          "cache_hit_rate is a metric", "On the page /metrics, with --enable-metrics.",
          see="Is it as fast as it should be?"),
    claim("9-running", "462", "", known("num_running_reqs"), AGREES,
          "num_running_reqs is a metric", "On the page /metrics, with --enable-metrics.",
          see="Is it as fast as it should be?"),
    claim("9-usage", "463", "", known("token_usage"), AGREES,
          "token_usage is a metric", "On the page /metrics, with --enable-metrics.",
          see="Is it as fast as it should be?"),
    claim("9-latencies", "464", "", known("avg_prefill_latency") or known("avg_decode_latency"), ERRATUM,
          "avg_prefill_latency and avg_decode_latency are metrics",
          "Latencies are histograms, such as time_to_first_token_seconds.",
          see="Is it as fast as it should be?"),
))

"""The command: right numbers, and one clear line with exit code 2 for input that makes no sense."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from scaling import cli
from tests.paths import DATA

CONFIG = {
    "num_hidden_layers": 80,
    "hidden_size": 8192,
    "intermediate_size": 28672,
    "num_attention_heads": 64,
    "num_key_value_heads": 8,
    "vocab_size": 128256,
    "max_position_embeddings": 131072,
}


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-m", "scaling", *arguments], capture_output=True, text=True, check=False)


def test_by_name() -> None:
    done = run("70b", "--weights", "fp8", "--kv", "fp8", "--batch", "32")
    assert done.returncode == 0 and done.stderr == ""
    assert "70,553,706,496 parameters, 72.66 GB in fp8" in done.stdout
    assert "163.8 kB per token" in done.stdout
    assert "Fewest H100 SXM for 32 sequences of 8,192 tokens: 2 (up to 65 fit)" in done.stdout
    # 70.55e9 / 6.7e12 = 10.53 ms for the weights, 32 x 8192 x 163,840 / 6.7e12 = 6.410 ms for the cache
    assert "16.94 ms; the longest term is the weights" in done.stdout


def test_by_config_file(tmp_path: Path) -> None:
    path = tmp_path / "config.json"
    path.write_text(json.dumps(CONFIG))
    assert "70,553,706,496 parameters, 141.1 GB in bf16" in run(str(path)).stdout


def test_what_fits_nowhere_is_said() -> None:
    done = run("405b")
    assert done.returncode == 1 and done.stderr == ""
    assert "No number of H100 SXM holds 1 sequence" in done.stdout and "at most 8 share the model" in done.stdout
    assert "Several machines in stages are not counted here." in done.stdout


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("missing.json", None, "there is no config file at"),
        ("list.json", "[1]", "must hold a JSON object"),
        ("broken.json", "{", "is not a JSON file"),
        ("empty.json", "{}", "no entry 'num_attention_heads'"),
        ("odd.json", json.dumps(CONFIG | {"num_key_value_heads": 7}), "that are a multiple of its"),
        ("text.json", json.dumps(CONFIG | {"hidden_size": "wide"}), "'wide'"),
    ],
)
def test_a_bad_config_gets_one_line(name: str, text: str | None, said: str, tmp_path: Path) -> None:
    path = tmp_path / name
    if text is not None:
        path.write_text(text)
    done = run(str(path))
    assert done.returncode == 2 and done.stdout == ""
    assert said in done.stderr and len(done.stderr.strip().splitlines()) == 1


def test_capitals_and_a_folder_are_taken(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text(json.dumps(CONFIG))
    done = run(str(tmp_path), "--chip", "H200", "--weights", "FP8", "--kv", "Fp8")
    assert done.returncode == 0 and "in fp8" in done.stdout and "H200 SXM" in done.stdout
    assert run("70B").stdout == run("70b").stdout


def test_a_context_beyond_the_window_gets_a_word() -> None:
    done = run("70b", "--context", "131072")
    assert done.returncode == 0
    assert "Note: LLaMA 3-70B was made for 8,192 tokens at most, not 131,072." in done.stdout.splitlines()
    assert "Note" not in run("70b", "--context", "8192").stdout


def test_a_closed_pipe_ends_quietly() -> None:
    reader, writer = os.pipe()
    os.close(reader)
    command = [sys.executable, "-m", "scaling", "70b"]
    done = subprocess.run(command, stdout=writer, stderr=subprocess.PIPE, text=True, check=False)
    os.close(writer)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize("encoding", ["ascii", "latin-1"])
def test_a_terminal_of_few_letters_is_told_all(encoding: str, tmp_path: Path) -> None:
    path = tmp_path / "config.json"
    path.write_text(json.dumps(CONFIG | {"_name_or_path": "模型"}))
    command = [sys.executable, "-m", "scaling", str(path), "--context", "0"]
    env = {**os.environ, "PYTHONIOENCODING": encoding}
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=env)
    assert (done.returncode, done.stderr) == (0, "")
    assert r"\u6a21" in done.stdout and "any number fits" in done.stdout


def test_a_negative_batch_gets_one_line() -> None:
    done = run("8b", "--batch", "-1")
    assert done.returncode == 2 and "batch must be" in done.stderr and "Traceback" not in done.stderr


def test_questions_that_people_asked_get_a_word_beside_the_number() -> None:
    """What one machine does not hold, two may; and a context beyond the window is said."""
    large, long = (json.loads((DATA / "cases" / f"question-{name}.json").read_text()) for name in QUESTIONS)
    done = run(large["model"], "--chip", large["chip"], "--context", str(large["context"]))
    assert "811.7 GB" in done.stdout and "Several machines in stages are not counted here." in done.stdout
    done = run(long["model"], "--context", str(long["context"]))
    assert "was made for 8,192 tokens at most, not 131,072" in done.stdout


QUESTIONS = ("405b-two-nodes", "70b-over-its-window")


def test_the_weights_are_as_the_model_is_stored() -> None:
    """An FP8 checkpoint is no bf16 model: 6,979,321,856 weights of one byte, 1,050,939,392 of two."""
    path = DATA / "configs" / "llama-8b-fp8.json"
    assert "8,030,261,248 parameters, 9.081 GB in fp8" in run(str(path)).stdout
    assert "16.06 GB in bf16" in run(str(path), "--weights", "bf16").stdout
    assert "141.1 GB in bf16" in run("3.3-70b", "--context", "131072").stdout
    assert "Note" not in run("3.3-70b", "--context", "131072").stdout


@pytest.mark.parametrize(
    ("model", "elsewhere"), [("70b", ">&-"), ("nowhere", "2>&-"), ("nowhere", "2>/dev/full"), ("70b", ">&- 2>&-")]
)
def test_what_cannot_be_printed_is_no_success(model: str, elsewhere: str) -> None:
    command = f'"{sys.executable}" -m scaling {model} {elsewhere}'
    done = subprocess.run(["sh", "-c", command], capture_output=True, text=True, check=False)
    assert done.returncode == 2 and done.stdout == ""
    assert done.stderr == ("scaling: there is no output to print to.\n" if elsewhere == ">&-" else "")


def test_a_window_is_said(capsys: pytest.CaptureFixture[str]) -> None:
    cli.main([str(DATA / "configs" / "gemma-3-27b-text.json"), "--context", "131072"])
    said = "52 of 62 layers keep the last 1,024 tokens: 11.17 GB for one sequence of 131,072"
    assert said in capsys.readouterr().out

"""One call at every scale: ten thousand points, ten million, and ten billion on a Dask cluster.

The question, the plan of ten billion points and what a cluster is asked are those of chapter 8, read from its page.
"""

import json
import pickle
import re
import tracemalloc
from collections.abc import Iterator
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import pytest

from scaling import (
    H100_TEXT,
    LLAMA3_70B,
    Deployment,
    Efficiency,
    decode_step,
    fits,
    max_batch,
    tokens_per_second_per_chip,
)
from scaling.units import ms
from tests.paths import BOOK

NODE = Deployment(model=LLAMA3_70B, chip=H100_TEXT, chips=8, weights="int8", kv="int8", params="nominal")
PAGE = json.loads((BOOK / "08_roofline_code.ipynb").read_text(encoding="utf-8"))
CELLS = ["".join(cell["source"]) for cell in PAGE["cells"]]


def page(start: str, end: str, **names: Any) -> dict[str, Any]:
    """Runs a part of the page's one cell that starts so, and returns the names that it leaves."""
    (cell,) = [cell for cell in CELLS if cell.startswith(start)]
    exec(cell[: cell.index(end)], names)
    return names


PAGE_IMPORTS = dict(decode_step=decode_step, fits=fits, ms=ms, tokens_per_second_per_chip=tokens_per_second_per_chip)
meets = page("def meets(", "\n\n\n", **PAGE_IMPORTS)["meets"]


def axes(batches: int, contexts: int) -> tuple[Any, Any]:
    """A column of batches and a row of contexts, over the ranges of the page."""
    return np.linspace(0, 500, batches + 1)[1:, None], np.linspace(0, 32_768, contexts + 1)[1:]


def with_share(share: Any) -> Deployment:
    return replace(NODE, efficiency=Efficiency(bandwidth=share))


def test_ten_thousand_points_are_the_same_one_at_a_time_and_as_arrays() -> None:
    B, S = axes(100, 100)
    table = tokens_per_second_per_chip(NODE, B, S)
    assert table.shape == (100, 100)
    alone = [[tokens_per_second_per_chip(NODE, b, s) for s in S.tolist()] for b in B[:, 0].tolist()]
    assert np.array_equal(table, alone)
    asked = [[meets(NODE, b, s) for s in S[::4].tolist()] for b in B[::4, 0].tolist()]
    assert np.array_equal(meets(NODE, B, S)[::4, ::4], asked)
    assert np.array_equal(fits(NODE, B, S), B <= max_batch(NODE, S))


def test_ten_million_points_in_bounded_memory() -> None:
    """In blocks of half a million: under 40 MB at any time, where one table of floats alone takes 80."""
    B, S = axes(500, 20_000)
    best = np.empty(S.size)
    tracemalloc.start()
    for at in range(0, S.size, 1000):
        block = slice(at, at + 1000)
        best[block] = tokens_per_second_per_chip(NODE, B, S[block]).max(axis=0)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert B.size * S.size == 10_000_000
    assert peak < 40e6
    some = [0, 1, 4999, 12_345, 19_999]
    assert best[some] == pytest.approx(
        [tokens_per_second_per_chip(NODE, 500.0, s) for s in S[some].tolist()], rel=1e-12
    )


class Plan(NamedTuple):
    """The page's plan of ten billion answers, and its three axes: shares of the bandwidth, batches, contexts."""

    many: Any
    share: Any
    B: Any
    S: Any


@pytest.fixture(scope="module")
def plan() -> Plan:
    pytest.importorskip("dask.array")
    names = {"meets": meets, "replace": replace, "Efficiency": Efficiency}
    from dask.callbacks import Callback

    def refuse(_: Any) -> None:
        raise AssertionError("something was computed while the plan was made")

    with Callback(start=refuse):
        found = page("import dask.array as da", "block = ", d=NODE, **names)
    return Plan(*(found[name] for name in ("many", "share", "lazy_batches", "lazy_contexts")))


def test_ten_billion_points_are_a_plan_until_a_block_is_asked_for(plan: Plan) -> None:
    many, share, B, S = plan
    assert many.size == 10_000_000_000 and many.shape == (1000, 500, 20_000)
    assert [share.blocks[i].compute().item() for i in (0, -1)] == [
        0.5005,
        1.0,
    ]  # a share above 1 would beat the roofline
    part = []
    for i in (0, -1):
        for k in (0, -1):
            block, one, b, s = (x.compute() for x in (many.blocks[i, 0, k], share.blocks[i], B, S.blocks[k]))
            assert block.size == 1_250_000
            assert np.array_equal(block[0], meets(with_share(one.item()), b, s))
            part.append(block.mean())
    assert part[2] > part[0] > 0 == part[1] == part[3], "more bandwidth, more points; none at the longest contexts"


def test_the_plan_is_numpys_own_so_workers_need_no_scaling(plan: Plan) -> None:
    import dask

    (block,) = dask.optimize(plan.many.blocks[0, 0, 0])
    packed = pytest.importorskip("cloudpickle").dumps(dict(block.__dask_graph__()))
    assert b"numpy" in packed and b"scaling" not in packed
    assert pickle.loads(packed)


@pytest.fixture(scope="module")
def client() -> Iterator[Any]:
    """A real scheduler with two workers, which talk over the loopback."""
    distributed = pytest.importorskip("distributed")
    options: dict[str, Any] = {"processes": False, "protocol": "tcp://", "host": "127.0.0.1", "dashboard_address": None}
    with (
        distributed.LocalCluster(n_workers=2, threads_per_worker=1, silence_logs=50, **options) as cluster,
        distributed.Client(cluster) as client,
    ):
        yield client


def test_a_cluster_gives_what_numpy_gives(client: Any, plan: Plan) -> None:
    """The page's request, over a thinned grid: by share of the bandwidth, the part of the points that meet it."""
    (asked,) = {found for cell in CELLS for found in re.findall(r"by_share = (.+?\.compute\(\))", cell)}
    share, B, S = plan.share[::125].rechunk(2), plan.B[::10], plan.S[::40].rechunk(125)
    many = meets(with_share(share), B, S)
    assert many.size == 8 * 50 * 500 and many.npartitions == 16
    before = client.cluster.scheduler.transition_counter
    by_share = eval(asked, {"many": many})
    assert client.cluster.scheduler.transition_counter > before + many.npartitions, "the cluster did the work"
    whole = meets(
        with_share(share.compute(scheduler="synchronous")), *(x.compute(scheduler="synchronous") for x in (B, S))
    )
    assert np.array_equal(by_share, whole.mean(axis=(1, 2)))
    assert np.all(np.diff(by_share) > 0)

"""The floors of the package, from the ground up. This is the one list of its modules: their order in the formula index
and in the reference, and what each may import (`tests/lint/test_layers.py`), are read here.
"""

# A module may import from the floors below its own and, within a floor, from a group further left.
FLOORS = (
    "_array < _checks < _records < units < layers < _hf_families _hf_stored < _hf_parts < _hf_config < chips models",
    "deployment",
    "memory roofline < sharding < latency",
    "throughput < pareto disaggregation prefix batching measurements < calibration",
    "engines course < cli < __main__",
)
GROUPS = [group.split() for floor in FLOORS for group in floor.split("<")]
MODULES = [module for group in GROUPS for module in group]

# In these each public function is a formula, and must say all that a formula says. In the others a function or method
# is one when its docstring has an equation.
FORMULAS = "memory roofline sharding latency throughput pareto disaggregation prefix".split()


def rank(module: str) -> int:
    """The place of a module, ``"memory"`` or ``"engines.vllm"``, in that order; what has no floor comes last."""
    first = module.partition(".")[0]
    return MODULES.index(first) if first in MODULES else len(MODULES)

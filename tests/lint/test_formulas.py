"""Every formula has its row in `tests/formulas.py`: there it is tried with arrays, in its units and a second time."""

from docstrings import formulas

from tests.formulas import ROWS

PATHS = {formula.path.removeprefix("scaling.") for formula in formulas()}


def test_every_formula_has_a_row() -> None:
    missing = PATHS - {row.path for row in ROWS}
    assert not missing, f"give each of these a row in tests/formulas.py; its first lines say how: {sorted(missing)}"
    assert len(PATHS) >= 55


def test_every_row_is_of_a_formula() -> None:
    paths = [row.path for row in ROWS]
    gone = set(paths) - PATHS
    assert not gone, f"tests/formulas.py has rows of what is no formula of the package any more: {sorted(gone)}"
    assert len(paths) == len(set(paths)), "tests/formulas.py has two rows of one formula"


def test_every_exemption_is_of_a_case() -> None:
    for row in ROWS:
        places = {place.partition(", ")[2] for place in row.unseen} - {""}
        assert places <= {case.label for case in row.cases}, f"{row.path}: `unseen` names no case of it"
        reasons = [row.no_arrays, *row.unseen.values(), *row.own_units.values()]
        assert all(len(reason.split()) > 3 for reason in reasons if reason), f"{row.path}: say why, in a few words"
